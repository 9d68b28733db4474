// SPDX-License-Identifier: Apache-2.0
// The torque of each cycle, without ROS: control laws, soft start, limits, missing states, stops.
// Nothing here allocates, locks or throws.
#ifndef @PACKAGE@__LAW_HPP_
#define @PACKAGE@__LAW_HPP_

#include <type_traits>

#include "@package@/model.hpp"

namespace @package@
{
constexpr double LONGEST_STEP = 0.02;    // s; the rate limit counts no more time than this
constexpr double TO_FULL_EFFORT = 0.1;   // s, of the default rate limit
constexpr double STILL = 0.02;           // rad/s or m/s, below which a stopped joint is held
constexpr double LONGEST_BRAKING = 0.5;  // s, after which it is held in any case

enum class Law { feedforward, pd_plus, computed_torque, joint_impedance, gravity_only };
enum class OnCollision { none, hold, gravity_only };
enum class OnDeactivate { zero, gravity, none };

// Trivially copyable: it crosses threads by value.
struct Settings
{
  Law law = Law::feedforward;
  Joints kp = filled(0.0);             // N m/rad or N/m; 1/s^2 under computed_torque
  Joints kd = filled(0.0);             // N m s/rad or N s/m; 1/s under computed_torque
  Joints damping_ratio = filled(0.7);  // instead of kd under joint_impedance
  Joints effort_offset = filled(0.0);  // N m or N, added to every torque of the law
  Joints effort_limit = effort_limits();
  Joints rate_limit = filled(-1.0);  // N m/s or N/s; negative: full effort in 0.1 s; 0: none
  Joints start_tolerance = filled(0.1);  // rad or m; 0: none
  double ramp_time = 0.05;               // s
  double input_timeout = 0.05;           // s
  double reference_timeout = 0.1;        // s
  OnDeactivate on_deactivate = OnDeactivate::gravity;
  bool error_on_timeout = false;
  bool gravity = true, coriolis = true, inertia = true, friction = true;

  Joints effort_scale = filled(1.0);       // N m or N per unit of the drives
  Joints command_per_torque = filled(1.0);  // units of the drives per N m or N

  std::array<double, 2> poles = {150.0, 150.0};  // 1/s; the second along the momentum
  Joints noise = filled(0.0), noise_per_momentum = filled(0.0), noise_unsettled = filled(0.0);
  Joints level = filled(0.0);  // with its margin; 0: not learned
  double contact_factor = 1.5, collision_factor = 3.0;
  OnCollision on_collision = OnCollision::none;
  double contact_timeout = 0.5;  // s
  bool hold_when_contact_lost = false;
};
static_assert(std::is_trivially_copyable<Settings>::value, "it is copied between threads");

// NaN: not given.
struct Reference
{
  Joints q = filled(NONE), qd = filled(NONE), qdd = filled(NONE), effort = filled(NONE);
};

// What is asked of the law besides its reference.
enum class Stop { none, hold, gravity_only };

// What the torque of a cycle rests on.
enum class Cycle {
  followed,  // the reference
  held,      // the position where the arm is: stopped, or the reference is too far away
  repeated,  // the last state, as this one is missing
  gravity,   // the gravity torque of the last state
  invalid    // the last torque: there was no state yet, or the result was not finite
};

// Torque of a control law for a state and a complete reference.
inline void law_torque(
  const Settings & s, const World & world, const Joints & q, const Joints & qd,
  const Reference & r, Joints & tau)
{
  World acting = world;
  if (!s.gravity) {
    acting.gravity = {};
  }
  const Joints zero = filled(0.0);
  const bool led = s.law == Law::gravity_only;
  Joints feedback, acceleration;
  for (std::size_t i = 0; i < N; ++i) {
    // Kp (q_d - q) + Kd (qd_d - qd)
    feedback[i] = led ? -s.kd[i] * qd[i] : s.kp[i] * (r.q[i] - q[i]) + s.kd[i] * (r.qd[i] - qd[i]);
    acceleration[i] = s.inertia && !led ? r.qdd[i] : 0.0;
  }
  switch (s.law) {
    case Law::feedforward:
      // M(q) qdd_d + C(q, qd) qd + g(q) + Kp e + Kd e'
      inverse_dynamics(acting, q, s.coriolis ? qd : zero, acceleration, tau);
      break;
    case Law::pd_plus: {
      // M(q) qdd_d + C(q, qd) qd_d + g(q) + Kp e + Kd e'
      inverse_dynamics(acting, q, zero, acceleration, tau);
      if (s.coriolis) {
        // C(q, v) w is symmetric in v and w, with c(v) = C(q, v) v:
        // C(q, v) w = (c(v + w) - c(v - w)) / 4
        Joints sum, difference, of_sum, of_difference;
        for (std::size_t i = 0; i < N; ++i) {
          sum[i] = qd[i] + r.qd[i];
          difference[i] = qd[i] - r.qd[i];
        }
        coriolis_torque(acting, q, sum, of_sum);
        coriolis_torque(acting, q, difference, of_difference);
        for (std::size_t i = 0; i < N; ++i) {
          tau[i] += 0.25 * (of_sum[i] - of_difference[i]);
        }
      }
      break;
    }
    case Law::computed_torque:
      // M(q) (qdd_d + Kp e + Kd e') + C(q, qd) qd + g(q)
      for (std::size_t i = 0; i < N; ++i) {
        acceleration[i] += feedback[i];
      }
      feedback = zero;
      inverse_dynamics(acting, q, s.coriolis ? qd : zero, acceleration, tau);
      break;
    case Law::joint_impedance: {
      // as pd_plus, with Kp = K and Kd = D(q)
      Impedance parts;
      joint_impedance(acting, q, qd, r.q, r.qd, acceleration, s.kp, s.damping_ratio, parts);
      for (std::size_t i = 0; i < N; ++i) {
        tau[i] = parts.gravity[i] + parts.inertia[i] + (s.coriolis ? parts.coriolis[i] : 0.0);
      }
      feedback = parts.feedback;
      break;
    }
    case Law::gravity_only:
      // g(q) - Kd qd
      gravity_torque(acting, q, tau);
      break;
  }
  Joints friction = zero;
  if (s.friction && !led) {
    friction_torque(r.qd, friction);  // at the desired velocity: at the measured one it amplifies
  }
  for (std::size_t i = 0; i < N; ++i) {
    tau[i] += feedback[i] + friction[i] + r.effort[i] + s.effort_offset[i];
  }
}

// Torque that holds an arm without motion: gravity, unless the drives compensate it.
inline void resting_torque(
  const Settings & s, const World & world, const Joints & q, Joints & tau)
{
  tau = filled(0.0);
  if (s.gravity) {
    gravity_torque(world, q, tau);
  }
  for (std::size_t i = 0; i < N; ++i) {
    tau[i] += s.effort_offset[i];
  }
}

// Effort limit, soft start and rate limit; keeps the last torque.
class Gate
{
public:
  // Begin at a torque.
  void begin(const Joints & tau)
  {
    last_ = base_ = tau;
    elapsed_ = 0.0;
    soft_ = true;
  }

  const Joints & last() const { return last_; }

  // Return the torque that is given a time dt [s], of at most LONGEST_STEP, after the last one.
  const Joints & step(const Settings & s, const Joints & tau, double elapsed)
  {
    const double part = soft_start(s.ramp_time, elapsed);
    const double dt = std::min(elapsed, LONGEST_STEP);
    for (std::size_t i = 0; i < N; ++i) {
      const double mixed = soft_ ? base_[i] + part * (tau[i] - base_[i]) : tau[i];
      const double aim = std::clamp(mixed, -s.effort_limit[i], s.effort_limit[i]);
      // |tau_k - tau_(k-1)| <= rate dt
      const double most = dt > 0.0 ? rate(s, i) * dt : 0.0;
      const double change = aim - last_[i];
      // The aim itself where no limit is active: last + (aim - last) rounds.
      last_[i] = std::abs(change) > most ? last_[i] + std::copysign(most, change) : aim;
    }
    return last_;
  }

private:
  double soft_start(double duration, double elapsed)
  {
    elapsed_ += soft_ ? elapsed : 0.0;
    const double x = duration > 0.0 ? std::min(elapsed_ / duration, 1.0) : 1.0;
    soft_ = soft_ && x < 1.0;
    return x * x * (3.0 - 2.0 * x);
  }

  static double rate(const Settings & s, std::size_t i)
  {
    if (s.rate_limit[i] < 0.0) {
      return s.effort_limit[i] / TO_FULL_EFFORT;
    }
    return s.rate_limit[i] > 0.0 ? s.rate_limit[i] : std::numeric_limits<double>::infinity();
  }

  Joints last_ = filled(0.0), base_ = filled(0.0);
  double elapsed_ = 0.0;  // s, of the soft start
  bool soft_ = true;
};

// The torque of each cycle.
class Controller
{
public:
  // Begin with the torque that the drives have now (NaN: zero), and hold the arm where it is.
  void activate(const Settings & s, const Joints & present)
  {
    Joints tau;
    for (std::size_t i = 0; i < N; ++i) {
      const double given = std::isfinite(present[i]) ? present[i] : 0.0;
      tau[i] = std::clamp(given, -s.effort_limit[i], s.effort_limit[i]);
    }
    gate_.begin(tau);
    q_ = qd_ = last_reference_ = filled(NONE);
    missing_ = 0.0;
    release();
  }

  const Joints & last() const { return gate_.last(); }
  const Joints & target() const { return target_; }   // NaN where there is none
  const Joints & position() const { return q_; }      // last one that was measured

  // Return what the torque rests on. States with NaN count as missing, references with NaN as not
  // given; a period that is not positive and finite counts as no time.
  Cycle step(
    const Settings & s, const World & world, const Reference & r, const Joints & q,
    const Joints & qd, Stop stop, double period, Joints & tau)
  {
    const double elapsed = std::isfinite(period) ? std::max(period, 0.0) : 0.0;
    Cycle cycle = take(s, q, qd, elapsed);
    Joints wanted = gate_.last();
    if (cycle == Cycle::gravity) {
      resting_torque(s, world, q_, wanted);
      release();  // held where the arm then is
    } else if (cycle != Cycle::invalid) {
      const Reference complete = desired(s, r, stop, elapsed);
      if (cycle == Cycle::followed && !following_) {
        cycle = Cycle::held;
      }
      if (stop == Stop::gravity_only) {
        resting_torque(s, world, q_, wanted);  // undamped: the unit of kd is that of the law
      } else {
        law_torque(s, world, q_, qd_, complete, wanted);
      }
    }
    if (!finite(wanted)) {
      wanted = gate_.last();
      cycle = Cycle::invalid;
    }
    tau = gate_.step(s, wanted, elapsed);
    return cycle;
  }

private:
  Cycle take(const Settings & s, const Joints & q, const Joints & qd, double elapsed)
  {
    if (finite(q) && finite(qd)) {
      q_ = q;
      qd_ = qd;
      missing_ = 0.0;
      return Cycle::followed;
    }
    missing_ += elapsed;
    if (!finite(q_)) {
      return Cycle::invalid;
    }
    return missing_ <= s.input_timeout ? Cycle::repeated : Cycle::gravity;
  }

  void release()
  {
    target_ = filled(NONE);
    following_ = stopping_ = false;
  }

  // The reference without NaN: joints without a position are held where they were first measured.
  Reference desired(const Settings & s, const Reference & r, Stop stop, double elapsed)
  {
    const bool led = s.law == Law::gravity_only;
    if (stop != Stop::none) {
      brake(stop, elapsed);
    } else {
      stopping_ = false;
      following_ = (following_ && !led && !begins(r)) || near(s, r);
    }
    Reference complete;
    for (std::size_t i = 0; i < N; ++i) {
      const bool given = following_ && std::isfinite(r.q[i]);
      if (given) {
        target_[i] = r.q[i];
      } else if (led || !std::isfinite(target_[i])) {
        target_[i] = q_[i];
      }
      complete.q[i] = target_[i];
      complete.qd[i] = given && std::isfinite(r.qd[i]) ? r.qd[i] : 0.0;
      // joint_trajectory_controller repeats the acceleration of the last point after the end.
      const bool ended = complete.qd[i] == 0.0 && r.q[i] == last_reference_[i];
      complete.qdd[i] = given && !ended && std::isfinite(r.qdd[i]) ? r.qdd[i] : 0.0;
      complete.effort[i] = following_ && std::isfinite(r.effort[i]) ? r.effort[i] : 0.0;
      last_reference_[i] = r.q[i];
    }
    return complete;
  }

  // Stop at an obstacle: no joint is pulled back to where it was, but held once it is at rest.
  void brake(Stop stop, double elapsed)
  {
    if (!stopping_) {
      braking_ = 0.0;
      held_.fill(false);
    }
    stopping_ = true;
    following_ = false;
    braking_ += elapsed;
    for (std::size_t i = 0; i < N; ++i) {
      if (!held_[i] || stop == Stop::gravity_only) {
        target_[i] = q_[i];
        held_[i] = std::abs(qd_[i]) < STILL || braking_ >= LONGEST_BRAKING;
      }
    }
  }

  // Whether a joint has a position that was not given before: it may be far away.
  bool begins(const Reference & r) const
  {
    for (std::size_t i = 0; i < N; ++i) {
      if (std::isfinite(r.q[i]) && !std::isfinite(last_reference_[i])) {
        return true;
      }
    }
    return false;
  }

  // Whether the reference may be followed from here without a jump.
  bool near(const Settings & s, const Reference & r) const
  {
    for (std::size_t i = 0; i < N; ++i) {
      if (s.start_tolerance[i] > 0.0 && std::abs(r.q[i] - q_[i]) > s.start_tolerance[i]) {
        return false;
      }
    }
    return true;
  }

  Gate gate_;
  Joints q_ = filled(NONE), qd_ = filled(NONE), target_ = filled(NONE);
  Joints last_reference_ = filled(NONE);
  double missing_ = 0.0;  // s without a state
  double braking_ = 0.0;  // s of a stop
  std::array<bool, N> held_ = {};  // joints of a stop that are at rest
  bool following_ = false, stopping_ = false;
};
}  // namespace @package@
#endif  // @PACKAGE@__LAW_HPP_
