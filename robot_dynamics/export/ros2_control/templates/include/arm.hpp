// SPDX-License-Identifier: Apache-2.0
// Simulated arm: semi-implicit Euler with viscous friction, dry friction that sticks, and stops.
#ifndef @PACKAGE@__ARM_HPP_
#define @PACKAGE@__ARM_HPP_

#include "@package@/model.hpp"

namespace @package@
{
class Arm
{
public:
  World world;
  Joints q = start_posture(), qd = filled(0.0);
  Joints viscous = viscous_friction(), coulomb = coulomb_friction();
  Joints lower = lower_limits(), upper = upper_limits(), effort_limit = effort_limits();

  // Move for a time [s] under efforts [N m or N], which are limited as those of the drives.
  void move(const Joints & effort, double time)
  {
    if (!(time > 0.0) || !finite(effort)) {
      return;
    }
    Joints tau;
    for (std::size_t i = 0; i < N; ++i) {
      tau[i] = std::clamp(effort[i], -effort_limit[i], effort_limit[i]);
    }
    const double steps = std::ceil(std::min(time, LONGEST) / STEP);
    for (double k = 0.0; k < steps; ++k) {
      step(tau, std::min(time, LONGEST) / steps);
    }
  }

private:
  static constexpr double STEP = 1e-3, LONGEST = 0.1;  // s
  static constexpr int SWEEPS = 200;
  static constexpr double CONVERGED = 1e-12;  // rad/s or m/s

  // (M + h B) qd' + h f = M qd + h (tau - C qd - g),  |f| <= coulomb, f opposite to qd'
  void step(const Joints & tau, double h)
  {
    Joints bias, rhs;
    inverse_dynamics(world, q, qd, filled(0.0), bias);
    mass_matrix(world, q, A_);
    for (std::size_t i = 0; i < N; ++i) {
      rhs[i] = h * (tau[i] - bias[i]);
      for (std::size_t j = 0; j < N; ++j) {
        rhs[i] += A_[i * N + j] * qd[j];
      }
    }
    for (std::size_t i = 0; i < N; ++i) {
      A_[i * N + i] += h * viscous[i];
    }
    for (int sweep = 0; sweep < SWEEPS && relax(rhs, h) > CONVERGED; ++sweep) {
    }
    if (!finite(qd)) {
      qd = filled(0.0);  // too fast for the step, under a controller that is unstable
    }
    for (std::size_t i = 0; i < N; ++i) {
      const double next = q[i] + h * qd[i];
      q[i] = std::clamp(next, lower[i], upper[i]);
      // A stop takes the momentum of its joint.
      qd[i] = q[i] == next ? qd[i] : 0.0;
    }
  }

  // One sweep of Gauss-Seidel over the joints; return the largest change of a velocity.
  double relax(const Joints & rhs, double h)
  {
    double largest = 0.0;
    for (std::size_t i = 0; i < N; ++i) {
      double rest = rhs[i];
      for (std::size_t j = 0; j < N; ++j) {
        rest -= j == i ? 0.0 : A_[i * N + j] * qd[j];
      }
      // What dry friction can hold does not move.
      const double dry = std::clamp(rest, -h * coulomb[i], h * coulomb[i]);
      const double next = (rest - dry) / A_[i * N + i];
      largest = std::max(largest, std::abs(next - qd[i]));
      qd[i] = next;
    }
    return largest;
  }

  std::array<double, N * N> A_ = {};
};
}  // namespace @package@
#endif  // @PACKAGE@__ARM_HPP_
