// SPDX-License-Identifier: Apache-2.0
// The simulated arm, and the law that holds it, without ROS.
#include <gtest/gtest.h>

#include "@package@/arm.hpp"
#include "@package@/law.hpp"
#include "cases.hpp"

using namespace @package@;

namespace
{
constexpr double H = 1e-3;  // s
const Joints ZERO = filled(0.0);

Arm free_arm()
{
  Arm arm;
  arm.viscous = arm.coulomb = ZERO;
  arm.lower = filled(-1e9);
  arm.upper = arm.effort_limit = filled(1e9);
  return arm;
}
}  // namespace

TEST(Arm, FallsWithTheAccelerationOfItsModel)
{
  Arm arm = free_arm();
  const Joints q = arm.q;
  const double h = 1e-6;
  arm.move(filled(0.5), h);
  Joints qdd, tau;
  double largest = 0.0;
  for (std::size_t i = 0; i < N; ++i) {
    qdd[i] = arm.qd[i] / h;
    largest = std::max(largest, std::abs(qdd[i]));
  }
  inverse_dynamics(arm.world, q, ZERO, qdd, tau);
  for (std::size_t i = 0; i < N; ++i) {
    EXPECT_NEAR(tau[i], 0.5, 1e-6 * (1.0 + largest));
  }
  EXPECT_GT(largest, 0.0);
}

TEST(Arm, ViscousFrictionBrakes)
{
  Arm arm = free_arm();
  arm.world.gravity = {};
  arm.viscous = filled(1e6);
  arm.qd = filled(0.1);
  arm.move(ZERO, H);
  for (std::size_t i = 0; i < N; ++i) {
    EXPECT_NEAR(arm.qd[i], 0.0, 1e-2);
  }
}

TEST(Arm, DryFrictionSticks)
{
  Arm arm = free_arm();
  Joints tau;
  gravity_torque(arm.world, arm.q, tau);
  arm.coulomb = filled(5.0);
  for (double & x : tau) {
    x += 4.9;
  }
  const Joints q = arm.q;
  for (int k = 0; k < 100; ++k) {
    arm.move(tau, H);
  }
  for (std::size_t i = 0; i < N; ++i) {
    EXPECT_NEAR(arm.q[i], q[i], 1e-9);
  }
  for (double & x : tau) {
    x += 0.5;
  }
  arm.move(tau, H);
  double largest = 0.0;
  for (const double x : arm.qd) {
    largest = std::max(largest, std::abs(x));
  }
  EXPECT_GT(largest, 1e-6);
}

TEST(Arm, StopsAndDrivesLimit)
{
  Arm arm = free_arm();
  arm.world.gravity = {};
  arm.effort_limit = filled(10.0);
  Arm same = arm;
  arm.move(filled(1e6), H);
  same.move(filled(10.0), H);
  EXPECT_EQ(arm.qd[0], same.qd[0]);
  arm = free_arm();
  arm.world.gravity = {};
  arm.upper[0] = arm.q[0] + 1e-3;
  arm.lower[N - 1] = arm.q[N - 1] - 1e-3;
  arm.qd[0] = 0.5;
  arm.qd[N - 1] -= 0.5;
  for (int k = 0; k < 20; ++k) {
    arm.move(ZERO, H);
    EXPECT_LE(arm.q[0], arm.upper[0]);
    EXPECT_LE(arm.lower[N - 1], arm.q[N - 1]);
  }
  EXPECT_LE(std::abs(arm.qd[0]), 0.5);
}

TEST(Arm, MovesByTheTimeAndByNoneThatIsNot)
{
  Arm arm = free_arm();
  const Joints q = arm.q;
  for (const double time : {0.0, -1.0, NONE}) {
    arm.move(filled(1.0), time);
  }
  arm.move(filled(NONE), H);
  EXPECT_EQ(arm.q[0], q[0]);
  arm.world.gravity = {};
  arm.qd[0] = 0.01;
  arm.move(ZERO, 0.02);
  EXPECT_NEAR(arm.q[0] - q[0], 0.01 * 0.02, 1e-5);
}

TEST(Law, HoldsTheArmAndMovesIt)
{
  Arm arm;
  const Joints start = arm.q;
  Settings settings;
  settings.kp = cases::KP;
  settings.kd = cases::KD;
  settings.start_tolerance = ZERO;
  Controller law;
  Joints tau;
  gravity_torque(arm.world, arm.q, tau);
  law.activate(settings, tau);
  Reference reference;
  for (int k = 0; k < 1000; ++k) {
    EXPECT_EQ(
      law.step(settings, arm.world, reference, arm.q, arm.qd, Stop::none, H, tau),
      Cycle::followed);
    arm.move(tau, H);
  }
  for (std::size_t i = 0; i < N; ++i) {
    EXPECT_NEAR(arm.q[i], start[i], 1e-6);
  }
  for (int k = 0; k <= 6000; ++k) {
    // A quintic of 2 s, and rest
    const double x = std::min(k * H / 2.0, 1.0);
    for (std::size_t i = 0; i < N; ++i) {
      const double way = std::min(0.05, 0.25 * (arm.upper[i] - arm.lower[i]));
      const double towards = start[i] > 0.5 * (arm.lower[i] + arm.upper[i]) ? -way : way;
      reference.q[i] = start[i] + towards * x * x * x * (10.0 + x * (6.0 * x - 15.0));
      reference.qd[i] = towards * 30.0 * x * x * (1.0 + x * (x - 2.0)) / 2.0;
      reference.qdd[i] = towards * 60.0 * x * (1.0 + x * (2.0 * x - 3.0)) / 4.0;
    }
    law.step(settings, arm.world, reference, arm.q, arm.qd, Stop::none, H, tau);
    arm.move(tau, H);
  }
  for (std::size_t i = 0; i < N; ++i) {
    const double stuck = cases::KP[i] > 0.0 ? arm.coulomb[i] / cases::KP[i] : 1.0;
    EXPECT_NEAR(arm.q[i], reference.q[i], stuck + 1e-3);
    EXPECT_NEAR(arm.qd[i], 0.0, 1e-4);
  }
}
