// SPDX-License-Identifier: Apache-2.0
// External torques by the momentum observer, and the level of collision, without ROS.
// Nothing here allocates, locks or throws.
#ifndef @PACKAGE@__CONTACT_HPP_
#define @PACKAGE@__CONTACT_HPP_

#include "@package@/law.hpp"

namespace @package@
{
constexpr double LONGEST_GAP = 0.05;  // s between samples; after a longer one it begins anew
constexpr double DEBOUNCE = 2.5e-3;   // s, without single peaks
constexpr double SETTLED = 0.1;       // s without collision after which it is over
constexpr double RISE = 1.5;          // of the excess: an acknowledged collision counts again
constexpr double SMALLEST = 1e-12;    // N m or N, of a threshold
constexpr double WAY = @settled@;        // rad or m, after which a joint slides on
constexpr double SLIDING = @sliding@;    // rad/s or m/s

// External torque of the arm: efforts that the model, its gravity and its payload do not explain.
class Observer
{
public:
  void restart()
  {
    begun_ = false;
    torque_ = filled(NONE);
    slid_ = filled(0.0);
  }

  const Joints & torque() const { return torque_; }  // NaN: unknown
  Joints momentum() const { return joints(state_.p); }
  // How little each joint has slid in the direction of its velocity: 1 right after a reversal,
  // 1/2 at rest, 0 while it slides on.
  const Joints & unsettled() const { return unsettled_; }

  // Take a sample; return whether it gave an external torque. Samples with NaN are left out.
  bool step(
    const World & world, const Joints & q, const Joints & qd, const Joints & effort,
    double elapsed, const std::array<double, 2> & poles)
  {
    since_ += elapsed;
    if (!finite(q) || !finite(qd) || !finite(effort) || !(since_ > 0.0)) {
      if (since_ > LONGEST_GAP) {
        restart();
      }
      return false;
    }
    const bool anew = !begun_ || since_ > LONGEST_GAP;
    if (anew) {
      begin_observer(world, q, qd, effort, state_);
      torque_ = filled(NONE);
      slid_ = filled(0.0);
    } else {
      settle(q, qd);
      balance_anew(world);
      step_observer(world, q, qd, effort, since_, poles, state_, torque_);
    }
    world_ = world;
    q_ = q;
    qd_ = qd;
    effort_ = effort;
    since_ = 0.0;
    begun_ = anew || finite(torque_);
    return !anew && begun_;
  }

private:
  // z <- z e^(-|dq| / WAY) + sign(dq) (1 - e^(-|dq| / WAY))
  // unsettled = (1 - tanh(qd / SLIDING) z) / 2
  void settle(const Joints & q, const Joints & qd)
  {
    for (std::size_t i = 0; i < N; ++i) {
      const double dq = q[i] - q_[i], kept = std::exp(-std::abs(dq) / WAY);
      slid_[i] = slid_[i] * kept + std::copysign(1.0 - kept, dq);
      unsettled_[i] = 0.5 * (1.0 - std::tanh(qd[i] / SLIDING) * slid_[i]);
    }
  }

  // The momentum of the last sample, as the model with another payload or gravity has it.
  void balance_anew(const World & world)
  {
    if (world.gravity == world_.gravity && world.payload == world_.payload) {
      return;
    }
    ObserverState same;
    begin_observer(world, q_, qd_, effort_, same);
    std::copy(same.p, same.p + N, state_.p);
    std::copy(same.u, same.u + N, state_.u);
  }

  ObserverState state_ = {};
  World world_;
  Joints q_ = {}, qd_ = {}, effort_ = {}, torque_ = filled(NONE);
  Joints slid_ = {}, unsettled_ = filled(0.5);
  double since_ = 0.0;  // s since the last sample
  bool begun_ = false;
};

// The smallest of the last values |x| of DEBOUNCE.
class Debounced
{
public:
  void restart() { count_ = 0; }

  Joints add(const Joints & x, double elapsed)
  {
    now_ += elapsed;
    if (count_ > 0 && !(elapsed > 0.0 && elapsed <= DEBOUNCE)) {
      count_ = 0;
    }
    newest_ = (newest_ + 1) % SIZE;
    values_[newest_] = x;
    times_[newest_] = now_;
    count_ = std::min(count_ + 1, SIZE);
    Joints smallest = filled(std::numeric_limits<double>::infinity());
    for (std::size_t k = 0; k < count_; ++k) {
      const std::size_t at = (newest_ + SIZE - k) % SIZE;
      if (times_[at] < now_ - DEBOUNCE) {
        break;
      }
      for (std::size_t i = 0; i < N; ++i) {
        smallest[i] = std::min(smallest[i], std::abs(values_[at][i]));
      }
    }
    return smallest;
  }

private:
  static constexpr std::size_t SIZE = 32;
  std::array<Joints, SIZE> values_ = {};
  std::array<double, SIZE> times_ = {};
  std::size_t newest_ = 0, count_ = 0;
  double now_ = 0.0;
};

// Whether a collision counts, and whether contact is known at all.
class Contact
{
public:
  void restart()
  {
    debounced_.restart();
    collides_ = lost_ = false;
    acknowledged_ = NONE;
    waited_ = silence_ = quiet_ = excess_ = 0.0;
  }

  bool collides() const { return collides_ && std::isnan(acknowledged_); }
  bool lost() const { return lost_; }
  std::size_t joint() const { return joint_; }  // of the largest excess
  double excess() const { return excess_; }     // in multiples of the threshold of contact

  // Release a collision, and a loss of contact that is over.
  void acknowledge(double timeout)
  {
    if (collides_) {
      acknowledged_ = excess_;
    }
    lost_ = lost_ && silence_ > timeout;
  }

  // Take the next cycle.
  void step(const Settings & s, const Observer & observer, bool known, double elapsed)
  {
    waited_ += elapsed;
    if (!known || !learned(s)) {
      silence_ += std::min(elapsed, 0.5 * s.contact_timeout);  // a late cycle alone is no loss
      lost_ = lost_ || silence_ > s.contact_timeout;
      return;
    }
    silence_ = 0.0;
    take_excess(s, observer);
    if (excess_ < s.collision_factor / s.contact_factor) {
      quiet_ += waited_;
      collides_ = collides_ && quiet_ < SETTLED;
    } else {
      if (quiet_ > 0.0 || excess_ > RISE * acknowledged_) {
        acknowledged_ = NONE;
      }
      collides_ = true;
      quiet_ = 0.0;
    }
    waited_ = 0.0;
  }

private:
  static bool learned(const Settings & s)
  {
    return std::any_of(s.level.begin(), s.level.end(), [](double x) { return x > 0.0; });
  }

  // excess = |r| / (factor level sigma)
  // sigma^2 = noise^2 + (noise_per_momentum p)^2 + noise_unsettled^2 unsettled
  void take_excess(const Settings & s, const Observer & observer)
  {
    const Joints torque = debounced_.add(observer.torque(), waited_), p = observer.momentum();
    excess_ = 0.0;
    for (std::size_t i = 0; i < N; ++i) {
      if (s.level[i] > 0.0) {
        const double sigma = std::hypot(
          s.noise[i], s.noise_per_momentum[i] * p[i],
          s.noise_unsettled[i] * std::sqrt(observer.unsettled()[i]));
        const double threshold = std::max(s.contact_factor * s.level[i] * sigma, SMALLEST);
        const double ratio = torque[i] / threshold;
        joint_ = ratio > excess_ ? i : joint_;
        excess_ = std::max(excess_, ratio);
      }
    }
  }

  Debounced debounced_;
  std::size_t joint_ = 0;
  double excess_ = 0.0, acknowledged_ = NONE;
  double waited_ = 0.0, silence_ = 0.0, quiet_ = 0.0;  // s
  bool collides_ = false, lost_ = false;
};

// What collision and lost contact ask of the law.
inline Stop stop_of(const Settings & s, const Contact & contact)
{
  if (s.on_collision == OnCollision::none) {
    return Stop::none;
  }
  if (contact.collides()) {
    return s.on_collision == OnCollision::hold ? Stop::hold : Stop::gravity_only;
  }
  return contact.lost() && s.hold_when_contact_lost ? Stop::hold : Stop::none;
}
}  // namespace @package@
#endif  // @PACKAGE@__CONTACT_HPP_
