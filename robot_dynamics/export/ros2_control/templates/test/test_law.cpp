// SPDX-License-Identifier: Apache-2.0
// The law without ROS: torques of the library, limits, transitions, missing states, contact.
#include <gtest/gtest.h>

#include "@package@/contact.hpp"
#include "cases.hpp"

using namespace @package@;

namespace
{
constexpr double H = 1e-3;  // s
constexpr double EXACT = 1e-12;
const Joints ZERO = filled(0.0), Q = start_posture();
const World WORLD;

double distance(const Joints & a, const Joints & b)
{
  double largest = 0.0;
  for (std::size_t i = 0; i < N; ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

Joints shifted(Joints x, double by)
{
  for (double & value : x) {
    value += by;
  }
  return x;
}

Joints gravity_at(const Joints & q)
{
  Joints tau;
  gravity_torque(WORLD, q, tau);
  return tau;
}

// Without soft start and limits.
Settings direct()
{
  Settings s;
  s.ramp_time = 0.0;
  s.rate_limit = ZERO;
  s.effort_limit = filled(1e9);
  s.start_tolerance = ZERO;
  s.kp = cases::KP;
  s.kd = cases::KD;
  return s;
}

// A controller that is active, and its torque.
struct Active
{
  Settings s;
  Controller law;
  Reference r;
  Joints q = Q, qd = ZERO, tau = ZERO;
  World world;
  Stop stop = Stop::none;

  explicit Active(const Settings & settings, const Joints & present = ZERO) : s(settings)
  {
    law.activate(s, present);
  }

  Cycle step(double period = H) { return law.step(s, world, r, q, qd, stop, period, tau); }
  void steps(int count)
  {
    for (int k = 0; k < count; ++k) {
      step();
    }
  }
};
}  // namespace

TEST(Laws, AreThoseOfTheLibrary)
{
  const Law laws[] = {
    Law::feedforward, Law::pd_plus, Law::computed_torque, Law::joint_impedance, Law::gravity_only};
  for (const cases::Case & given : cases::CASES) {
    Active arm(direct());
    arm.s.law = laws[given.law];
    arm.s.kp = given.kp;
    arm.s.kd = arm.s.damping_ratio = given.kd;
    arm.s.gravity = given.parts[0];
    arm.s.coriolis = given.parts[1];
    arm.s.inertia = given.parts[2];
    arm.s.friction = given.parts[3];
    arm.world = {given.gravity, given.payload};
    arm.q = given.q;
    arm.qd = given.qd;
    arm.r.q = given.q_d;
    arm.r.qd = given.qd_d;
    arm.r.qdd = given.qdd_d;
    EXPECT_EQ(arm.step(), Cycle::followed);
    const double largest = distance(given.tau, ZERO);
    EXPECT_LE(distance(arm.tau, given.tau), EXACT * std::max(largest / 10.0, 1.0));
  }
}

TEST(Laws, EffortsAndOffsetsAreAdded)
{
  for (const Law law : {Law::feedforward, Law::gravity_only}) {
    Active arm(direct());
    arm.s.law = law;
    arm.s.effort_offset = filled(0.25);
    arm.r.effort = filled(2.0);
    arm.step();
    EXPECT_LE(distance(arm.tau, shifted(gravity_at(Q), 2.25)), EXACT);
  }
}

TEST(Gate, StartsSoftly)
{
  Settings s = direct();
  s.ramp_time = 0.1;
  Gate gate;
  gate.begin(filled(-1.0));
  for (int k = 1; k <= 110; ++k) {
    const double x = std::min(k * H / 0.1, 1.0), part = x * x * (3.0 - 2.0 * x);
    EXPECT_NEAR(gate.step(s, filled(3.0), H)[0], -1.0 + 4.0 * part, EXACT);
  }
}

TEST(Gate, LimitsRateAndSize)
{
  Settings s = direct();
  s.effort_limit = filled(10.0);
  s.rate_limit = filled(50.0);
  Gate gate;
  gate.begin(ZERO);
  EXPECT_NEAR(gate.step(s, filled(100.0), H)[0], 0.05, EXACT);
  EXPECT_NEAR(gate.step(s, filled(-100.0), 2.0 * H)[N - 1], -0.05, EXACT);
  EXPECT_NEAR(gate.step(s, filled(100.0), 5.0)[0], 0.95, EXACT);  // late: 20 ms
  EXPECT_EQ(gate.step(s, filled(100.0), 0.0)[0], gate.last()[0]);
  for (int k = 0; k < 500; ++k) {
    gate.step(s, filled(100.0), H);
  }
  EXPECT_EQ(gate.last()[0], 10.0);
  s.rate_limit = filled(-1.0);  // full effort in 0.1 s
  EXPECT_NEAR(gate.step(s, filled(-100.0), H)[0], 9.9, EXACT);
  s.rate_limit = ZERO;  // none
  EXPECT_EQ(gate.step(s, filled(-100.0), H)[0], -10.0);
  EXPECT_EQ(gate.step(s, filled(100.0), 0.0)[0], -10.0);  // no time: no change
}

TEST(Law, PeriodsThatAreNone)
{
  Active arm(direct());
  arm.s.rate_limit = filled(1.0);
  arm.r.effort = filled(50.0);
  arm.step();
  const Joints before = arm.tau;
  for (const double period : {0.0, -1.0, NONE, std::numeric_limits<double>::infinity()}) {
    arm.step(period);
    EXPECT_EQ(distance(arm.tau, before), 0.0);
  }
}

TEST(Law, BeginsAtThePresentTorqueWithinItsLimits)
{
  Settings s = direct();
  s.effort_limit = filled(10.0);
  Joints present = filled(3.0);
  EXPECT_EQ(distance(Active(s, present).law.last(), present), 0.0);
  EXPECT_EQ(Active(s, filled(30.0)).law.last()[0], 10.0);
  EXPECT_EQ(Active(s, filled(NONE)).law.last()[0], 0.0);
  s.ramp_time = 1.0;
  Active arm(s, present);
  arm.step(1e-6);
  EXPECT_LE(distance(arm.tau, present), 1e-6);
}

TEST(Law, HoldsTheArmWithoutAReference)
{
  Active arm(direct());
  arm.step();
  EXPECT_LE(distance(arm.tau, gravity_at(Q)), EXACT);
  EXPECT_EQ(distance(arm.law.target(), Q), 0.0);
  arm.q = shifted(Q, 0.01);
  arm.step();  // pulled back to where it was
  Joints expected = gravity_at(arm.q);
  for (std::size_t i = 0; i < N; ++i) {
    expected[i] -= 0.01 * arm.s.kp[i];
  }
  EXPECT_LE(distance(arm.tau, expected), 1e-9);
}

TEST(Law, PartsOfAReferenceThatAreMissingAreZero)
{
  Active arm(direct());
  arm.r.q = Q;
  arm.r.qd = filled(std::numeric_limits<double>::infinity());
  EXPECT_EQ(arm.step(), Cycle::followed);
  EXPECT_LE(distance(arm.tau, gravity_at(Q)), EXACT);
  arm.r.q = filled(NONE);  // held where it was; its velocity belongs to no position
  arm.r.qd = filled(1.0);
  arm.step();
  EXPECT_LE(distance(arm.tau, gravity_at(Q)), EXACT);
}

TEST(Law, TheAccelerationOfTheLastPointIsNotRepeatedAtRest)
{
  Active arm(direct());
  arm.r.q = Q;
  arm.r.qd = ZERO;
  arm.r.qdd = filled(2.0);
  arm.step();
  EXPECT_GT(distance(arm.tau, gravity_at(Q)), 1e-3);  // the first time it may begin a motion
  arm.step();
  EXPECT_LE(distance(arm.tau, gravity_at(Q)), EXACT);
  arm.r.qd = filled(1e-6);  // a motion
  arm.step();
  EXPECT_GT(distance(arm.tau, gravity_at(Q)), 1e-3);
}

TEST(Law, AReferenceThatIsFarAwayIsNotFollowed)
{
  Active arm(direct());
  arm.s.start_tolerance = filled(0.1);
  arm.r.q = shifted(Q, 0.2);
  arm.r.effort = filled(5.0);
  EXPECT_EQ(arm.step(), Cycle::held);
  EXPECT_LE(distance(arm.tau, gravity_at(Q)), EXACT);
  arm.r.q = shifted(Q, 0.05);
  EXPECT_EQ(arm.step(), Cycle::followed);
  arm.r.q = shifted(Q, 0.5);  // later it may move as it likes
  EXPECT_EQ(arm.step(), Cycle::followed);
  EXPECT_EQ(distance(arm.law.target(), arm.r.q), 0.0);
}

TEST(Law, APositionThatBeginsFarAwayIsNotFollowed)
{
  for (const std::size_t joints : {N, std::size_t{1}}) {  // of all joints, or of one
    Active arm(direct());
    arm.s.start_tolerance = filled(0.1);
    arm.steps(3);  // nothing is given yet
    for (std::size_t i = 0; i < joints; ++i) {
      arm.r.q[i] = Q[i] + 0.5;
    }
    EXPECT_EQ(arm.step(), Cycle::held);
    EXPECT_LE(distance(arm.tau, gravity_at(Q)), EXACT);
    EXPECT_EQ(arm.step(), Cycle::held);
    arm.r.q = shifted(Q, 0.05);
    EXPECT_EQ(arm.step(), Cycle::followed);
    arm.r.q = filled(NONE);  // it ends, and begins again elsewhere
    EXPECT_EQ(arm.step(), Cycle::followed);
    const Joints held = arm.tau;
    arm.r.q = shifted(Q, -0.5);
    EXPECT_EQ(arm.step(), Cycle::held);
    EXPECT_EQ(distance(arm.tau, held), 0.0);
  }
}

TEST(Law, MissingStates)
{
  Active arm(direct());
  arm.s.start_tolerance = filled(0.1);
  arm.s.effort_offset = filled(0.5);
  arm.r.q = shifted(Q, 0.01);
  arm.step();
  const Joints normal = arm.tau, at_rest = shifted(gravity_at(Q), 0.5);
  arm.q[N - 1] = NONE;
  for (int k = 0; k < 49; ++k) {
    EXPECT_EQ(arm.step(), Cycle::repeated);
    EXPECT_EQ(distance(arm.tau, normal), 0.0);
  }
  arm.steps(2);
  EXPECT_EQ(arm.step(), Cycle::gravity);
  EXPECT_LE(distance(arm.tau, at_rest), EXACT);
  arm.s.gravity = false;  // no g in any path
  arm.step();
  EXPECT_EQ(distance(arm.tau, filled(0.5)), 0.0);
  arm.s.gravity = true;
  arm.q = shifted(Q, -0.3);  // sagged: held there until the reference is near
  EXPECT_EQ(arm.step(), Cycle::held);
  EXPECT_LE(distance(arm.tau, shifted(gravity_at(arm.q), 0.5)), EXACT);
  arm.r.q = arm.q;
  EXPECT_EQ(arm.step(), Cycle::followed);
  arm.qd[0] = NONE;
  EXPECT_EQ(arm.step(), Cycle::repeated);
}

TEST(Law, NothingButFiniteTorques)
{
  Active blind(direct(), filled(0.125));
  blind.q = filled(NONE);
  for (int k = 0; k < 1000; ++k) {
    EXPECT_EQ(blind.step(), Cycle::invalid);
  }
  EXPECT_EQ(distance(blind.tau, filled(0.125)), 0.0);
  Active arm(direct());
  arm.step();
  const Joints before = arm.tau;
  arm.s.kp = filled(1e9);
  arm.q = filled(1e300);
  EXPECT_EQ(arm.step(), Cycle::invalid);
  EXPECT_EQ(distance(arm.tau, before), 0.0);
}

TEST(Law, AnArmThatIsLedIsHeldWhereItIsLeft)
{
  Active arm(direct());
  arm.s.law = Law::gravity_only;
  arm.step();
  arm.q = shifted(Q, 0.05);
  arm.step();
  EXPECT_LE(distance(arm.tau, gravity_at(arm.q)), EXACT);
  arm.s.law = Law::feedforward;
  arm.step();
  EXPECT_LE(distance(arm.tau, gravity_at(arm.q)), EXACT);
}

TEST(Stop, BrakesAndHoldsWhereTheArmIs)
{
  Active arm(direct());
  arm.s.start_tolerance = filled(0.1);
  arm.s.coriolis = arm.s.friction = false;
  arm.r.q = shifted(Q, 0.05);
  arm.step();
  arm.stop = Stop::hold;
  arm.qd = filled(0.1);
  EXPECT_EQ(arm.step(), Cycle::held);
  Joints braking = gravity_at(arm.q);
  for (std::size_t i = 0; i < N; ++i) {
    braking[i] -= 0.1 * arm.s.kd[i];
  }
  EXPECT_LE(distance(arm.tau, braking), EXACT);  // no spring
  arm.q = shifted(Q, 0.02);
  arm.qd = ZERO;
  arm.step();
  EXPECT_EQ(distance(arm.law.target(), arm.q), 0.0);
  const Joints at = arm.q;
  arm.q = shifted(Q, 0.5);
  arm.qd = filled(1.0);
  arm.step();  // held there, also if something pushes it
  EXPECT_EQ(distance(arm.law.target(), at), 0.0);
  arm.stop = Stop::none;
  arm.qd = ZERO;
  EXPECT_EQ(arm.step(), Cycle::held);  // the reference is far away
  arm.q = shifted(Q, 0.04);
  EXPECT_EQ(arm.step(), Cycle::followed);
}

TEST(Stop, AJointThatDoesNotComeToRestIsHeldAllTheSame)
{
  Active arm(direct());
  arm.stop = Stop::hold;
  arm.qd = filled(1.0);
  arm.steps(510);
  const Joints at = arm.law.target();
  arm.q = shifted(Q, 0.5);
  arm.step();
  EXPECT_EQ(distance(arm.law.target(), at), 0.0);
}

TEST(Stop, GravityOnlyLetsTheArmBeMoved)
{
  Active arm(direct());
  arm.step();
  arm.stop = Stop::gravity_only;
  arm.steps(3);
  arm.q = shifted(Q, 0.3);
  arm.step();
  EXPECT_LE(distance(arm.tau, gravity_at(arm.q)), EXACT);
  arm.stop = Stop::none;
  arm.step();
  EXPECT_LE(distance(arm.tau, gravity_at(arm.q)), EXACT);
  // kd is in 1/s under computed_torque: N m s/rad of that size would shake a light joint.
  Active other(direct());
  other.s.law = Law::computed_torque;
  other.s.kd = filled(100.0);
  other.qd = filled(0.1);
  other.stop = Stop::gravity_only;
  other.step();
  EXPECT_LE(distance(other.tau, gravity_at(Q)), EXACT);
}

TEST(Observer, FindsTheTorqueAndNotThePayload)
{
  const std::array<double, 2> poles = {150.0, 150.0};
  World loaded;
  loaded.payload[0] = 2.0;
  loaded.payload[3] = 0.2;
  loaded.gravity = {1.0, -2.0, -9.0};
  Observer observer;
  Joints effort = gravity_at(Q);
  EXPECT_FALSE(observer.step(WORLD, Q, ZERO, effort, H, poles));
  EXPECT_TRUE(observer.step(WORLD, Q, ZERO, effort, H, poles));
  gravity_torque(loaded, Q, effort);
  double largest = 0.0;
  for (int k = 0; k < 100; ++k) {  // no jump where the payload changes
    EXPECT_TRUE(observer.step(loaded, Q, ZERO, effort, H, poles));
    largest = std::max(largest, distance(observer.torque(), ZERO));
  }
  EXPECT_LE(largest, 1e-9);
  effort[0] -= 3.0;  // the environment adds 3
  for (int k = 0; k < 1000; ++k) {
    observer.step(loaded, Q, ZERO, effort, H, poles);
  }
  EXPECT_NEAR(observer.torque()[0], 3.0, 1e-9);
  // One sample without efforts changes nothing; a gap begins anew.
  EXPECT_FALSE(observer.step(loaded, Q, ZERO, filled(NONE), H, poles));
  EXPECT_TRUE(observer.step(loaded, Q, ZERO, effort, H, poles));
  EXPECT_NEAR(observer.torque()[0], 3.0, 1e-9);
  for (int k = 0; k < 60; ++k) {
    EXPECT_FALSE(observer.step(loaded, Q, ZERO, filled(NONE), H, poles));
  }
  EXPECT_TRUE(std::isnan(observer.torque()[0]));
  EXPECT_FALSE(observer.step(loaded, Q, ZERO, effort, H, poles));
  EXPECT_FALSE(observer.step(loaded, Q, ZERO, effort, 0.0, poles));
  EXPECT_TRUE(observer.step(loaded, Q, ZERO, effort, H, poles));
  EXPECT_FALSE(observer.step(loaded, Q, ZERO, effort, 2.0 * LONGEST_GAP, poles));
}

namespace
{
// Contact of an arm at rest, on whose first joint the environment acts.
struct Touched
{
  Settings s;
  Observer observer;
  Contact contact;

  Touched()
  {
    s.noise = filled(0.5);
    s.level = filled(4.0);
    s.poles = {5000.0, 5000.0};
    s.on_collision = OnCollision::hold;
  }

  void steps(double torque, int count)
  {
    Joints effort = gravity_at(Q);
    effort[0] -= torque;
    for (int k = 0; k < count; ++k) {
      const bool known = observer.step(WORLD, Q, ZERO, effort, H, s.poles);
      contact.step(s, observer, known, H);
    }
  }
};
}  // namespace

TEST(Contact, ThresholdsOfFreeMotion)
{
  Touched arm;
  arm.steps(0.0, 5);
  arm.steps(3.0, 20);  // 1.5 times 4 times 0.5 is contact, 3 times is a collision
  EXPECT_NEAR(arm.contact.excess(), 1.0, 1e-6);
  EXPECT_FALSE(arm.contact.collides());
  arm.steps(-6.1, 20);
  EXPECT_TRUE(arm.contact.collides());
  EXPECT_EQ(arm.contact.joint(), 0u);
  EXPECT_EQ(stop_of(arm.s, arm.contact), Stop::hold);
  arm.s.on_collision = OnCollision::gravity_only;
  EXPECT_EQ(stop_of(arm.s, arm.contact), Stop::gravity_only);
  arm.s.on_collision = OnCollision::none;
  EXPECT_EQ(stop_of(arm.s, arm.contact), Stop::none);
}

TEST(Contact, ThresholdsGrowWithTheMomentum)
{
  Touched arm;
  arm.s.noise = ZERO;
  arm.s.noise_per_momentum = filled(1.0);
  arm.s.poles = {1e5, 1e5};  // the last interval alone
  const Joints qd = filled(0.5), effort = shifted(gravity_at(Q), -1.0);
  for (int k = 0; k < 6; ++k) {
    const bool known = arm.observer.step(WORLD, Q, qd, effort, H, arm.s.poles);
    arm.contact.step(arm.s, arm.observer, known, H);
  }
  double expected = 0.0;
  for (std::size_t i = 0; i < N; ++i) {
    const double p = std::abs(arm.observer.momentum()[i]);
    const double threshold = std::max(1.5 * 4.0 * p, SMALLEST);
    expected = std::max(expected, std::abs(arm.observer.torque()[i]) / threshold);
  }
  EXPECT_NEAR(arm.contact.excess() / expected, 1.0, 1e-9);
}

TEST(Contact, ThresholdsAreHigherWhileFrictionIsUnsettled)
{
  // A joint that slides on, turns back, and stands, as the library has it: e^(-x / WAY).
  Observer observer;
  const std::array<double, 2> poles = {1e5, 1e5};
  Joints q = Q, qd = filled(1.0);
  for (int k = 0; k < 300; ++k, q = shifted(q, H)) {
    observer.step(WORLD, q, qd, ZERO, H, poles);
  }
  EXPECT_LE(observer.unsettled()[0], std::exp(-290.0 * H / WAY));
  qd = filled(-1.0);
  for (int k = 1; k < 50; ++k) {
    q = shifted(q, -H);
    observer.step(WORLD, q, qd, ZERO, H, poles);
    EXPECT_NEAR(observer.unsettled()[0], std::exp(-(k - 1) * H / WAY), 1e-3);
  }
  observer.step(WORLD, q, ZERO, ZERO, H, poles);
  EXPECT_EQ(observer.unsettled()[0], 0.5);
  Touched arm;  // at rest: sigma^2 = 0.5^2 + 1 / 2
  arm.s.noise_unsettled = filled(1.0);
  arm.steps(0.0, 5);
  arm.steps(3.0, 20);
  EXPECT_NEAR(arm.contact.excess(), 3.0 / (1.5 * 4.0 * std::sqrt(0.75)), 1e-6);
}

TEST(Contact, APeakIsNoCollision)
{
  Touched arm;
  arm.steps(0.0, 5);
  arm.steps(50.0, 2);
  EXPECT_FALSE(arm.contact.collides());
  for (int k = 0; k < 6; ++k) {  // nor are some
    arm.steps(0.0, 1);
    arm.steps(50.0, 1);
    EXPECT_FALSE(arm.contact.collides());
  }
  arm.steps(0.0, 5);
  arm.steps(50.0, 4);
  EXPECT_TRUE(arm.contact.collides());
}

TEST(Contact, ACollisionIsALevel)
{
  Touched arm;
  arm.steps(0.0, 5);
  arm.steps(20.0, 20);
  arm.steps(0.0, 60);  // shorter than 0.1 s
  EXPECT_TRUE(arm.contact.collides());
  arm.steps(0.0, 60);
  EXPECT_FALSE(arm.contact.collides());
  arm.steps(20.0, 20);
  arm.contact.acknowledge(arm.s.contact_timeout);
  arm.steps(25.0, 20);
  EXPECT_FALSE(arm.contact.collides());
  arm.steps(35.0, 20);  // by more than half
  EXPECT_TRUE(arm.contact.collides());
  arm.contact.acknowledge(arm.s.contact_timeout);
  arm.steps(0.0, 20);
  arm.steps(20.0, 20);  // another one
  EXPECT_TRUE(arm.contact.collides());
}

TEST(Contact, IsLostWithoutEfforts)
{
  Touched arm;
  arm.s.contact_timeout = 0.1;
  arm.s.hold_when_contact_lost = true;
  arm.steps(0.0, 50);
  EXPECT_FALSE(arm.contact.lost());
  arm.contact.step(arm.s, arm.observer, false, 5.0);  // one late cycle, after which it begins anew
  arm.steps(0.0, 50);
  EXPECT_FALSE(arm.contact.lost());
  arm.steps(NONE, 150);
  EXPECT_TRUE(arm.contact.lost());
  EXPECT_EQ(stop_of(arm.s, arm.contact), Stop::hold);
  arm.contact.acknowledge(arm.s.contact_timeout);
  EXPECT_TRUE(arm.contact.lost());  // it still is
  arm.steps(0.0, 50);
  EXPECT_TRUE(arm.contact.lost());
  arm.contact.acknowledge(arm.s.contact_timeout);
  EXPECT_EQ(stop_of(arm.s, arm.contact), Stop::none);
  arm.steps(NONE, 150);
  arm.s.hold_when_contact_lost = false;  // a warning alone: the motion goes on
  EXPECT_EQ(stop_of(arm.s, arm.contact), Stop::none);
}

TEST(Contact, ACollisionStaysWhileEffortsAreMissing)
{
  Touched arm;
  arm.steps(0.0, 5);
  arm.steps(20.0, 20);
  arm.steps(NONE, 300);
  EXPECT_TRUE(arm.contact.collides());
}
