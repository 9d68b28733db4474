// SPDX-License-Identifier: Apache-2.0
// The model of @robot@ in the types of this package: joints, limits, and functions of @name@.h.
#ifndef @PACKAGE@__MODEL_HPP_
#define @PACKAGE@__MODEL_HPP_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "@package@/@name@.h"

namespace @package@
{
constexpr std::size_t N = @NAME@_N;
constexpr double NONE = std::numeric_limits<double>::quiet_NaN();
constexpr char PAYLOAD_LINK[] = @payload_link@;
using Joints = std::array<double, N>;

// What may change while the arm moves.
struct World
{
  std::array<double, 3> gravity = {@gravity@};  // m/s^2, in the base frame
  // Of what PAYLOAD_LINK carries: mass, mass times centre of mass, inertia about the origin of
  // the link (xx xy xz yy yz zz), in its frame.
  std::array<double, 10> payload = {};
};

inline Joints filled(double value)
{
  Joints x = {};
  x.fill(value);
  return x;
}

inline Joints joints(const double (&values)[N])
{
  Joints x = {};
  std::copy(values, values + N, x.begin());
  return x;
}

template <std::size_t K>
bool finite(const std::array<double, K> & x)
{
  return std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
}

inline const char * joint_name(std::size_t i) { return @name@_joint_names[i]; }
inline Joints effort_limits() { return joints(@name@_effort_limit); }  // infinite: none
inline Joints lower_limits() { return joints(@name@_lower); }
inline Joints upper_limits() { return joints(@name@_upper); }
inline Joints viscous_friction() { return joints(@name@_viscous); }
inline Joints coulomb_friction() { return joints(@name@_coulomb); }
// A posture within the limits.
inline Joints start_posture() { return {@start@}; }

// Each moving link with the links that are fixed to it.
struct Body
{
  const char * link;
  double mass;  // kg
};
constexpr std::size_t BODIES = @body_count@;
inline std::array<Body, BODIES> bodies() { return {{@bodies@}}; }

// tau = M(q) qdd + C(q, qd) qd + g(q)
inline void inverse_dynamics(
  const World & world, const Joints & q, const Joints & qd, const Joints & qdd, Joints & tau)
{
  @name@_inverse_dynamics(
    q.data(), qd.data(), qdd.data(), world.gravity.data(), world.payload.data(), tau.data());
}

// g(q)
inline void gravity_torque(const World & world, const Joints & q, Joints & tau)
{
  @name@_gravity_torque(q.data(), world.gravity.data(), world.payload.data(), tau.data());
}

// C(q, qd) qd
inline void coriolis_torque(const World & world, const Joints & q, const Joints & qd, Joints & tau)
{
  @name@_coriolis_torque(q.data(), qd.data(), world.payload.data(), tau.data());
}

// Viscous and Coulomb friction of the model.
inline void friction_torque(const Joints & qd, Joints & tau)
{
  @name@_friction_torque(qd.data(), tau.data());
}

// M(q), row by row
inline void mass_matrix(const World & world, const Joints & q, std::array<double, N * N> & M)
{
  @name@_mass_matrix(q.data(), world.payload.data(), M.data());
}

struct Impedance
{
  Joints gravity, coriolis, inertia, feedback;
};

// Springs and dampers of the joints; the damping ratios are those of the natural modes.
inline void joint_impedance(
  const World & world, const Joints & q, const Joints & qd, const Joints & q_d,
  const Joints & qd_d, const Joints & qdd_d, const Joints & stiffness, const Joints & ratio,
  Impedance & parts)
{
  @name@_joint_impedance(
    q.data(), qd.data(), q_d.data(), qd_d.data(), qdd_d.data(), stiffness.data(), ratio.data(),
    world.gravity.data(), world.payload.data(), parts.gravity.data(), parts.coriolis.data(),
    parts.inertia.data(), parts.feedback.data());
}

using ObserverState = @name@_momentum_observer_state;

inline void begin_observer(
  const World & world, const Joints & q, const Joints & qd, const Joints & effort,
  ObserverState & state)
{
  @name@_momentum_observer_begin(
    &state, q.data(), qd.data(), effort.data(), world.gravity.data(), world.payload.data());
}

inline void step_observer(
  const World & world, const Joints & q, const Joints & qd, const Joints & effort, double dt,
  const std::array<double, 2> & poles, ObserverState & state, Joints & torque)
{
  @name@_momentum_observer_step(
    &state, q.data(), qd.data(), effort.data(), &dt, poles.data(), world.gravity.data(),
    world.payload.data(), torque.data());
}
}  // namespace @package@
#endif  // @PACKAGE@__MODEL_HPP_
