// SPDX-License-Identifier: Apache-2.0
// Exported functions in C beside Pinocchio in C++, in one process; see `exported.py`.
//
// arms.h, written by that, includes the headers, and defines MODEL_... and ARMS.
#include <pinocchio/multibody.hpp>

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <vector>

#include "arms.h"

namespace {

using Clock = std::chrono::steady_clock;
using pinocchio::Convention;
using Vector = Eigen::VectorXd;

constexpr int STATES = 64, CALLS = 2000, ROUNDS = 15, FLUSHES = 41;
volatile double sink;
std::vector<char> junk(64 << 20);

// All of a result is needed: its stores are kept.
void keep(const void *result) { asm volatile("" : : "r"(result) : "memory"); }

double since(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// Nanoseconds of a call after itself: the least of the rounds.
template <class Call> double hot(Call call) {
    const auto start = Clock::now();
    for (int i = 0; i < CALLS; ++i) call(i % STATES);
    return since(start) / CALLS;
}

// Nanoseconds of a call whose code and data are in memory only.
template <class Call> double cold(Call call, int i) {
    for (std::size_t k = 0; k < junk.size(); k += 64) ++junk[k];
    const auto start = Clock::now();
    call(i % STATES);
    return since(start);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// The sides alternate. Pinocchio's two conventions differ: the faster one counts.
template <class Ours, class World, class Local>
void compare(const char *arm, const char *name, Ours ours, World world, Local local) {
    double h[3] = {1e12, 1e12, 1e12}, c[3];
    for (int r = 0; r < ROUNDS; ++r) {
        h[0] = std::min(h[0], hot(ours));
        h[1] = std::min(h[1], hot(world));
        h[2] = std::min(h[2], hot(local));
    }
    std::vector<double> all[3];
    for (int r = 0; r < FLUSHES; ++r) {
        all[0].push_back(cold(ours, r));
        all[1].push_back(cold(world, r));
        all[2].push_back(cold(local, r));
    }
    for (int k = 0; k < 3; ++k) c[k] = median(all[k]);
    std::printf("%s %s %.1f %.1f %.1f %.1f\n", arm, name, h[0], std::min(h[1], h[2]), c[0],
                std::min(c[1], c[2]));
    std::fflush(stdout);
}

template <class Arm> double measure(const char *name) {
    const pinocchio::Model m = Arm::model();
    pinocchio::Data d(m);
    const int n = m.nv;
    std::mt19937 generator(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<Vector> q, v, a;
    for (int i = 0; i < STATES; ++i) {
        for (auto *list : {&q, &v, &a}) {
            Vector x(n);
            for (int k = 0; k < n; ++k) x[k] = uniform(generator);
            list->push_back(x);
        }
    }
    Vector o(n), g(n);
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> M(n, n), C(n, n);
    double error = 0;
    const auto agree = [&](const auto &ours, const auto &theirs) {
        error = std::max(error, (ours - theirs).cwiseAbs().maxCoeff() /
                                    theirs.cwiseAbs().maxCoeff());
    };
    for (int i = 0; i < STATES; ++i) {
        Arm::inverse_dynamics(q[i].data(), v[i].data(), a[i].data(), o.data());
        agree(o, pinocchio::rnea(m, d, q[i], v[i], a[i]));
        Arm::forward_dynamics(q[i].data(), v[i].data(), a[i].data(), o.data());
        agree(o, pinocchio::aba(m, d, q[i], v[i], a[i], Convention::WORLD));
        Arm::terms(q[i].data(), v[i].data(), M.data(), C.data(), g.data());
        agree((M * a[i] + C * v[i] + g).eval(), pinocchio::rnea(m, d, q[i], v[i], a[i]));
        agree(g, pinocchio::computeGeneralizedGravity(m, d, q[i]));
        Arm::mass_matrix(q[i].data(), M.data());
        agree((M * a[i] + C * v[i] + g).eval(), pinocchio::rnea(m, d, q[i], v[i], a[i]));
        Arm::gravity_torque(q[i].data(), o.data());
        agree(o, g);
    }
    const auto rnea = [&](int i) { sink = pinocchio::rnea(m, d, q[i], v[i], a[i])[0]; };
    const auto gravity = [&](int i) {
        sink = pinocchio::computeGeneralizedGravity(m, d, q[i])[0];
    };
    const auto crba = [&](auto convention) {
        return [&, convention](int i) { sink = pinocchio::crba(m, d, q[i], convention)(0, 0); };
    };
    const auto aba = [&](auto convention) {
        return [&, convention](int i) {
            sink = pinocchio::aba(m, d, q[i], v[i], a[i], convention)[0];
        };
    };
    const auto terms = [&](auto convention) {
        return [&, convention](int i) {
            crba(convention)(i);
            sink = pinocchio::computeCoriolisMatrix(m, d, q[i], v[i])(0, 0);
            gravity(i);
        };
    };
    const auto world = Convention::WORLD, local = Convention::LOCAL;
    compare(name, "inverse_dynamics", [&](int i) {
        Arm::inverse_dynamics(q[i].data(), v[i].data(), a[i].data(), o.data());
        keep(o.data());
    }, rnea, rnea);
    compare(name, "mass_matrix", [&](int i) {
        Arm::mass_matrix(q[i].data(), M.data());
        keep(M.data());
    }, crba(world), crba(local));
    compare(name, "gravity_torque", [&](int i) {
        Arm::gravity_torque(q[i].data(), o.data());
        keep(o.data());
    }, gravity, gravity);
    compare(name, "terms", [&](int i) {
        Arm::terms(q[i].data(), v[i].data(), M.data(), C.data(), g.data());
        for (const double *result : {M.data(), C.data(), g.data()}) keep(result);
    }, terms(world), terms(local));
    compare(name, "forward_dynamics", [&](int i) {
        Arm::forward_dynamics(q[i].data(), v[i].data(), a[i].data(), o.data());
        keep(o.data());
    }, aba(world), aba(local));
    return error;
}

#define DEFINE_ARM(arm)                                                                          \
    struct arm {                                                                                 \
        static pinocchio::Model model() { return model_##arm(); }                                \
        static constexpr auto inverse_dynamics = arm##_inverse_dynamics;                         \
        static constexpr auto mass_matrix = arm##_mass_matrix;                                   \
        static constexpr auto gravity_torque = arm##_gravity_torque;                             \
        static constexpr auto terms = arm##_terms;                                               \
        static constexpr auto forward_dynamics = arm##_forward_dynamics;                         \
    };
#define MEASURE_ARM(arm) error = std::max(error, measure<arm>(#arm));

ARMS(DEFINE_ARM)

}  // namespace

int main() {
    double error = 0;
    ARMS(MEASURE_ARM)
    std::printf("error %.2g\n", error);
    return !(error < 1e-9);
}
