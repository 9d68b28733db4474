// SPDX-License-Identifier: Apache-2.0
// The exported controller and the simulated arm behind the fake of ros2_control.
// @package@ is replaced by the name of the package under test.
#include <chrono>
#include <cstring>

#include "@package@/controller.hpp"
#include "cases.hpp"
#include "gtest/gtest.h"
#include "simulated_arm.cpp"

extern std::size_t allocations;  // counted_new.cpp

using namespace @package@;
using Success = controller_interface::CallbackReturn;
using controller_interface::return_type;
using Values = std::map<std::string, rclcpp::Value>;
using List = std::vector<double>;

namespace
{
constexpr double EXACT = 1e-12, H = 1e-3;
const Joints ZERO = filled(0.0), Q = start_posture();

// Joints that the model limits in no way.
int unlimited()
{
  int count = 0;
  for (const double limit : effort_limits()) {
    count += std::isfinite(limit) ? 0 : 1;
  }
  return count;
}

double distance(const Joints & a, const Joints & b)
{
  double largest = 0.0;
  for (std::size_t i = 0; i < N; ++i) {
    largest = std::isnan(a[i]) ? 1e300 : std::max(largest, std::abs(a[i] - b[i]));
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

Joints gravity_at(const Joints & q, const World & world = {})
{
  Joints tau;
  gravity_torque(world, q, tau);
  return tau;
}

List list(const Joints & x) { return {x.begin(), x.end()}; }

// Without soft start and limits of rate, and with gains.
Values hard(const Values & others = {})
{
  Values values = {
    {"ramp_time", 0.0},         {"max_torque_rate", List{0.0}},
    {"start_tolerance", List{0.0}}, {"kp", list(cases::KP)},
    {"kd", list(cases::KD)}};
  for (const auto & entry : others) {
    values[entry.first] = entry.second;
  }
  return values;
}

Values with_observer(const Values & others = {})
{
  Values values = hard({{"observer.enabled", true}, {"thresholds.noise", List{0.5}},
                        {"thresholds.level", List{2.0}}, {"thresholds.margin", List{2.0}},
                        {"observer.poles", 5000.0},
                        {"observer.poles_along_momentum", 5000.0}});
  for (const auto & entry : others) {
    values[entry.first] = entry.second;
  }
  return values;
}

// A controller with its interfaces.
struct Rig
{
  DynamicsController c;
  std::vector<std::shared_ptr<hardware_interface::CommandInterface>> command;
  std::vector<std::shared_ptr<hardware_interface::StateInterface>> state;
  bool configured = false;

  explicit Rig(const Values & values = {}, const std::string & description = "")
  {
    c.node->name = "dynamics";
    c.node->parameters = values;
    c.description = description;
    EXPECT_TRUE(c.on_init() == Success::SUCCESS);
    configured = c.on_configure({}) == Success::SUCCESS;
    if (!configured) {
      return;
    }
    c.export_interfaces();
    for (const auto & name : c.command_interface_configuration().names) {
      command.push_back(std::make_shared<hardware_interface::CommandInterface>("", name));
      c.command_interfaces_.push_back({command.back()});
    }
    for (const auto & name : c.state_interface_configuration().names) {
      state.push_back(std::make_shared<hardware_interface::StateInterface>("", name));
      c.state_interfaces_.push_back({state.back()});
    }
    states(Q, ZERO);
  }

  void set(std::size_t kind, const Joints & values)
  {
    for (std::size_t i = 0; i < N && kind * N < state.size(); ++i) {
      state[kind * N + i]->value = values[i];
    }
  }
  void states(const Joints & q, const Joints & qd)
  {
    set(0, q);
    set(1, qd);
    set(2, gravity_at(q));
  }
  void activate(bool chained = true)
  {
    c.set_chained_mode(chained);
    EXPECT_TRUE(c.on_activate({}) == Success::SUCCESS);
  }
  auto & references() { return c.ordered_exported_reference_interfaces_; }
  void reference(std::size_t kind, const Joints & values)
  {
    for (std::size_t i = 0; i < N; ++i) {
      references()[kind * N + i]->value = values[i];
    }
  }
  bool references_are_nan()
  {
    bool all = true;
    for (const auto & one : references()) {
      all = all && std::isnan(one->value);
    }
    return all;
  }
  Joints commands() const
  {
    Joints values;
    for (std::size_t i = 0; i < N; ++i) {
      values[i] = command[i]->value;
    }
    return values;
  }
  return_type cycle(double period = H) { return c.update({}, rclcpp::Duration(period)); }
  return_type cycles(int count)
  {
    return_type last = return_type::OK;
    for (int k = 0; k < count; ++k) {
      last = cycle();
    }
    return last;
  }
  rcl_interfaces::msg::SetParametersResult change(const std::string & name, rclcpp::Value value)
  {
    return c.node->set_parameters_atomically({rclcpp::Parameter(name, value)});
  }
  std::string rejected(const std::string & name, rclcpp::Value value)
  {
    const auto result = change(name, value);
    return result.successful ? "" : result.reason;
  }
  std::string report()
  {
    fake_log().last = "";
    c.node->timer.lock()->call();
    return fake_log().last;
  }
  void acknowledge()
  {
    auto response = std::make_shared<std_srvs::srv::Trigger::Response>();
    c.node->at<rclcpp::Service<std_srvs::srv::Trigger>>("~/acknowledge_collision")
      ->call(std::make_shared<std_srvs::srv::Trigger::Request>(), response);
    EXPECT_TRUE(response->success);
  }
};

geometry_msgs::msg::InertiaStamped payload_message(const std::array<double, 10> & p)
{
  // About the centre of mass, as messages are.
  const double m = p[0], x = p[1] / m, y = p[2] / m, z = p[3] / m;
  geometry_msgs::msg::InertiaStamped message;
  message.header.frame_id = PAYLOAD_LINK;
  message.inertia.m = m;
  message.inertia.com = {x, y, z};
  message.inertia.ixx = p[4] - m * (y * y + z * z);
  message.inertia.ixy = p[5] + m * x * y;
  message.inertia.ixz = p[6] + m * x * z;
  message.inertia.iyy = p[7] - m * (x * x + z * z);
  message.inertia.iyz = p[8] + m * y * z;
  message.inertia.izz = p[9] - m * (x * x + y * y);
  return message;
}

trajectory_msgs::msg::JointTrajectory point(const Joints & q, double velocity)
{
  trajectory_msgs::msg::JointTrajectory message;
  message.points.resize(1);
  for (std::size_t i = N; i-- > 0;) {  // in another order
    message.joint_names.push_back(joint_name(i));
    message.points[0].positions.push_back(q[i]);
    message.points[0].velocities.push_back(velocity);
  }
  return message;
}
}  // namespace

TEST(Controller, TorquesOfTheLibraryWithGravityAndPayloadByTopic)
{
  const char * laws[] = {
    "feedforward", "pd_plus", "computed_torque", "joint_impedance", "gravity_only"};
  const char * parts[] = {
    "compensate_gravity", "compensate_coriolis", "compensate_inertia", "compensate_friction"};
  double worst = 0.0;
  for (const cases::Case & given : cases::CASES) {
    Values values = hard({{"control_law", std::string(laws[given.law])},
                          {"kp", list(given.kp)},
                          {"kd", list(given.kd)}});
    if (given.law == 3) {
      values["damping_ratio"] = list(given.kd);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      values[parts[k]] = given.parts[k];
    }
    Rig rig(values);
    rig.states(given.q, given.qd);
    rig.activate();
    const auto & g = given.gravity;
    rig.c.node->receive("~/set_gravity", geometry_msgs::msg::Vector3{g[0], g[1], g[2]});
    rig.c.node->receive("~/set_payload", payload_message(given.payload));
    rig.reference(0, given.q_d);
    rig.reference(1, given.qd_d);
    rig.reference(2, given.qdd_d);
    EXPECT_TRUE(rig.cycle() == return_type::OK);
    double largest = 0.0, error = 0.0;
    for (std::size_t i = 0; i < N; ++i) {
      const double limit = effort_limits()[i];
      const double expected = std::clamp(given.tau[i], -limit, limit);
      largest = std::max(largest, std::abs(given.tau[i]));
      error = std::max(error, std::abs(rig.commands()[i] - expected));
    }
    EXPECT_LE(error, EXACT * std::max(1.0, largest / 10.0));
    worst = std::max(worst, error);
  }
  std::cout << "largest error: " << worst << " N m\n";
}

TEST(Controller, AllocatesNothing)
{
  for (const char * law : {"feedforward", "pd_plus", "computed_torque", "joint_impedance"}) {
    Rig rig(with_observer({{"control_law", std::string(law)}, {"on_collision", std::string("hold")}}));
    rig.activate();
    rig.reference(0, Q);
    std::size_t before = allocations;  // from the first cycle on
    rig.cycles(1000);
    EXPECT_EQ(allocations, before);
    rig.c.set_chained_mode(false);
    before = allocations;
    rig.cycles(1000);
    rig.state[0]->value = NONE;  // and without states
    rig.cycles(200);
    rig.c.on_deactivate({});  // in the loop as well with --switch-asap
    rig.c.on_activate({});
    EXPECT_EQ(allocations, before);
    EXPECT_GT(rig.c.node->at<rclcpp::Publisher<sensor_msgs::msg::JointState>>("~/external_torque")
                ->count, 2000u);
  }
}

TEST(Controller, SoftStartAndRate)
{
  Rig rig({{"kp", list(cases::KP)}, {"kd", list(cases::KD)}, {"max_torque_rate", List{2.0}}});
  rig.activate();
  EXPECT_EQ(distance(rig.commands(), ZERO), 0.0);
  double fastest = 0.0;
  for (int k = 0; k < 100; ++k) {
    const Joints before = rig.commands();
    rig.cycle();
    fastest = std::max(fastest, distance(rig.commands(), before));
  }
  EXPECT_LE(fastest, 2.0 * H + EXACT);
  for (const double period : {0.0, -1.0, NONE}) {
    const Joints before = rig.commands();
    rig.cycle(period);
    EXPECT_EQ(distance(rig.commands(), before), 0.0);
  }
  const Joints before = rig.commands();
  rig.reference(0, shifted(Q, 0.09));
  rig.cycle(5.0);  // late: 20 ms
  EXPECT_LE(distance(rig.commands(), before), 0.04 + EXACT);
}

TEST(Controller, RestartsAtTheLastTorque)
{
  Rig rig(hard({{"on_deactivate", std::string("zero")}}));
  for (std::size_t i = 0; i < N; ++i) {
    rig.command[i]->value = 0.5;
  }
  rig.activate(false);
  EXPECT_EQ(distance(rig.commands(), filled(0.5)), 0.0);
  rig.cycles(10);
  const Joints last = rig.commands();
  EXPECT_LE(distance(last, gravity_at(Q)), EXACT);
  rig.c.on_deactivate({});
  EXPECT_EQ(distance(rig.commands(), ZERO), 0.0);
  rig.activate(true);  // a change of the chain, before the hardware writes
  EXPECT_EQ(distance(rig.commands(), last), 0.0);
  rig.c.on_deactivate({});
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(120);
  while (std::chrono::steady_clock::now() < end) {
  }
  rig.activate(true);  // later it begins at the torque of the drives
  EXPECT_EQ(distance(rig.commands(), ZERO), 0.0);
}

TEST(Controller, LastTorques)
{
  for (const std::string what : {"zero", "gravity", "none"}) {
    Rig rig(hard({{"on_deactivate", what}}));
    rig.activate();
    rig.cycle();
    rig.states(shifted(Q, 0.01), ZERO);
    rig.cycle();
    const Joints last = rig.commands();
    rig.c.on_deactivate({});
    const Joints expected =
      what == "zero" ? ZERO : what == "gravity" ? gravity_at(shifted(Q, 0.01)) : last;
    EXPECT_LE(distance(rig.commands(), expected), EXACT);
  }
  Rig blind(hard());
  blind.activate();
  blind.c.on_deactivate({});  // no state yet: the torque stays
  EXPECT_EQ(distance(blind.commands(), ZERO), 0.0);
}

TEST(Controller, ReferencesAreForgotten)
{
  Rig rig(hard());
  EXPECT_EQ(rig.references().size(), 3 * N);
  EXPECT_EQ(rig.references()[0]->name, std::string("dynamics/") + joint_name(0) + "/position");
  EXPECT_TRUE(rig.references_are_nan());
  for (std::size_t kind = 0; kind < 3; ++kind) {
    rig.reference(kind, Q);
  }
  rig.activate();
  EXPECT_TRUE(rig.references_are_nan());
  rig.reference(0, Q);
  rig.cycle();
  rig.c.on_deactivate({});
  EXPECT_TRUE(rig.references_are_nan());
}

TEST(Controller, InterfacesOfTheTrajectoryController)
{
  // position, velocity, acceleration: the acceleration of the last point is repeated at rest
  Rig full(hard());
  full.activate();
  full.reference(0, Q);
  full.reference(1, ZERO);
  full.reference(2, filled(2.0));
  full.cycles(2);
  EXPECT_LE(distance(full.commands(), gravity_at(Q)), EXACT);
  // position and effort
  Rig offset(hard({{"reference_interfaces", std::vector<std::string>{"position", "effort"}}}));
  offset.activate();
  offset.reference(0, Q);
  offset.reference(1, filled(0.5));
  offset.cycle();
  EXPECT_LE(distance(offset.commands(), shifted(gravity_at(Q), 0.5)), EXACT);
  // effort alone
  Rig effort(hard({{"reference_interfaces", std::vector<std::string>{"effort"}},
                   {"control_law", std::string("gravity_only")}}));
  EXPECT_EQ(effort.references()[0]->name, std::string("dynamics/") + joint_name(0) + "/effort");
  effort.activate();
  effort.reference(0, filled(0.5));
  effort.cycle();
  EXPECT_LE(distance(effort.commands(), shifted(gravity_at(Q), 0.5)), EXACT);
  EXPECT_FALSE(Rig({{"reference_interfaces", std::vector<std::string>{"jerk"}}}).configured);
  EXPECT_FALSE(Rig({{"reference_interfaces", std::vector<std::string>{}}}).configured);
  const std::vector<std::string> twice = {"effort", "effort"};
  EXPECT_FALSE(Rig({{"reference_interfaces", twice}}).configured);
}

TEST(Controller, MissingStates)
{
  Rig rig(hard());
  rig.activate();
  rig.reference(0, shifted(Q, 0.002));
  rig.cycle();
  const Joints normal = rig.commands();
  rig.state[N - 1]->locked = true;
  rig.cycles(45);
  EXPECT_EQ(distance(rig.commands(), normal), 0.0);
  rig.cycles(10);
  EXPECT_LE(distance(rig.commands(), gravity_at(Q)), EXACT);
  EXPECT_TRUE(rig.report().find("missing") != std::string::npos);
  EXPECT_TRUE(rig.report().empty());  // once
  rig.state[N - 1]->locked = false;
  rig.state[2 * N - 1]->value = NONE;
  EXPECT_TRUE(rig.cycles(1000) == return_type::OK);
  EXPECT_LE(distance(rig.commands(), gravity_at(Q)), EXACT);
  rig.states(Q, ZERO);
  rig.cycle();
  EXPECT_EQ(distance(rig.commands(), normal), 0.0);
  EXPECT_TRUE(rig.report().find("followed") != std::string::npos);
  Rig strict(hard({{"on_timeout", std::string("error")}}));
  strict.activate();
  strict.cycle();
  strict.state[0]->value = NONE;
  EXPECT_TRUE(strict.cycles(45) == return_type::OK);
  EXPECT_TRUE(strict.cycles(10) == return_type::ERROR);
}

TEST(Controller, ALockedCommandIsNoErrorAtOnce)
{
  Rig rig(hard());
  rig.activate();
  rig.command[0]->locked = true;
  EXPECT_TRUE(rig.cycles(45) == return_type::OK);
  EXPECT_TRUE(rig.cycles(10) == return_type::ERROR);
  rig.command[0]->locked = false;
  EXPECT_TRUE(rig.cycle() == return_type::OK);
}

TEST(Controller, NoGravityWhereTheDrivesCompensateIt)
{
  for (const char * law : {"feedforward", "pd_plus", "computed_torque", "joint_impedance",
                           "gravity_only"}) {
    Rig rig(hard({{"compensate_gravity", false}, {"control_law", std::string(law)}}));
    rig.activate();
    rig.cycle();
    EXPECT_LE(distance(rig.commands(), ZERO), EXACT);
    rig.state[0]->value = NONE;
    rig.cycles(100);
    EXPECT_EQ(distance(rig.commands(), ZERO), 0.0);
    rig.c.on_deactivate({});
    EXPECT_EQ(distance(rig.commands(), ZERO), 0.0);
  }
}

TEST(Controller, SignAndUnitOfEfforts)
{
  Rig rig(with_observer({{"effort_scale", List{-0.5}}, {"max_command", List{1000.0}}}));
  for (std::size_t i = 0; i < N; ++i) {
    rig.command[i]->value = -2.0 * gravity_at(Q)[i];  // as the drives have them
    rig.state[2 * N + i]->value = rig.command[i]->value;
  }
  rig.activate();
  for (std::size_t i = 0; i < N; ++i) {
    EXPECT_NEAR(rig.commands()[i], -2.0 * gravity_at(Q)[i], 1e-10);
  }
  rig.cycles(20);
  for (std::size_t i = 0; i < N; ++i) {
    EXPECT_NEAR(rig.commands()[i], -2.0 * gravity_at(Q)[i], 1e-10);
    EXPECT_NEAR(rig.c.ordered_exported_state_interfaces_[i]->value, 0.0, 1e-9);
  }
  // Drives that take N m and report another unit
  Rig other(with_observer({{"effort_scale", List{-0.5}}, {"command_unit", std::string("torque")}}));
  other.activate();
  other.cycle();
  EXPECT_LE(distance(other.commands(), gravity_at(Q)), EXACT);
  // The largest command bounds a wrong scale.
  Rig bounded(hard({{"effort_scale", List{0.01}}, {"max_command", List{3.0}}}));
  bounded.activate();
  bounded.cycle();
  for (const double command : bounded.commands()) {
    EXPECT_LE(std::abs(command), 3.0 + EXACT);
  }
  EXPECT_FALSE(Rig({{"effort_scale", List{2.0}}}).configured);  // max_command is needed
  EXPECT_FALSE(Rig({{"effort_scale", List{0.0}}, {"max_command", List{3.0}}}).configured);
}

TEST(Controller, PayloadByTopicIsNoExternalTorque)
{
  Rig rig(with_observer());
  rig.activate();
  rig.cycles(10);
  double largest = 0.0;
  World loaded;
  loaded.payload = cases::CASES[1].payload;
  rig.c.node->receive("~/set_payload", payload_message(loaded.payload));
  rig.set(2, gravity_at(Q, loaded));
  for (int k = 0; k < 200; ++k) {
    rig.cycle();
    for (const auto & torque : rig.c.ordered_exported_state_interfaces_) {
      largest = std::isnan(torque->value) ? 1e300 : std::max(largest, std::abs(torque->value));
    }
  }
  EXPECT_LE(largest, 1e-9);
  const auto topic =
    rig.c.node->at<rclcpp::Publisher<sensor_msgs::msg::JointState>>("~/external_torque");
  EXPECT_EQ(topic->last.name[N - 1], joint_name(N - 1));
  EXPECT_EQ(topic->last.effort[0], rig.c.ordered_exported_state_interfaces_[0]->value);
  rig.cycle();
  EXPECT_LE(distance(rig.commands(), gravity_at(Q, loaded)), EXACT);
}

TEST(Controller, ACollisionStopsUntilItIsAcknowledged)
{
  Rig rig(with_observer({{"on_collision", std::string("hold")}, {"start_tolerance", List{0.1}}}));
  rig.activate();
  rig.reference(0, Q);
  rig.cycles(20);
  Joints effort = gravity_at(Q);
  effort[0] -= 5.0;  // 6 are a collision
  rig.set(2, effort);
  rig.cycles(20);
  EXPECT_TRUE(rig.report().empty());
  effort[0] -= 15.0;
  rig.set(2, effort);
  rig.cycles(20);
  EXPECT_TRUE(rig.report().find(std::string("collision, most in joint ") + joint_name(0)) == 0);
  rig.reference(0, shifted(Q, 0.05));
  rig.cycles(5);
  EXPECT_LE(distance(rig.commands(), gravity_at(Q)), EXACT);  // not followed
  rig.set(2, gravity_at(Q));
  rig.c.on_deactivate({});  // a change of the chain is no release
  rig.activate();
  rig.reference(0, shifted(Q, 0.05));
  rig.cycles(3);
  EXPECT_LE(distance(rig.commands(), gravity_at(Q)), EXACT);
  rig.acknowledge();
  rig.cycles(2);
  EXPECT_GT(distance(rig.commands(), gravity_at(Q)), 1e-3);
}

TEST(Controller, ContactThatIsLost)
{
  Rig rig(with_observer({{"on_collision", std::string("gravity_only")},
                         {"on_contact_lost", std::string("hold")},
                         {"contact_timeout", 0.1}}));
  rig.activate();
  rig.cycles(20);
  rig.set(2, filled(NONE));
  rig.reference(0, shifted(Q, 0.05));
  rig.cycles(50);
  EXPECT_GT(distance(rig.commands(), gravity_at(Q)), 1e-3);
  rig.cycles(100);
  EXPECT_LE(distance(rig.commands(), gravity_at(Q)), EXACT);
  EXPECT_TRUE(rig.report().find("contact is unknown") == 0);
}

TEST(Controller, StreamedReferences)
{
  Rig rig(hard({{"compensate_friction", false}}));
  rig.activate(false);
  rig.cycle();
  EXPECT_LE(distance(rig.commands(), gravity_at(Q)), EXACT);
  const Joints goal = shifted(Q, 0.002);
  rig.c.node->receive("~/reference", point(goal, 0.01));
  rig.cycle();
  Joints moving = gravity_at(Q), held = moving;
  for (std::size_t i = 0; i < N; ++i) {
    held[i] += 0.002 * cases::KP[i];
    moving[i] = held[i] + 0.01 * cases::KD[i];
  }
  EXPECT_LE(distance(rig.commands(), moving), 1e-9);
  rig.cycles(95);
  EXPECT_LE(distance(rig.commands(), moving), 1e-9);
  rig.cycles(20);  // after reference_timeout: held at the last position, at rest
  EXPECT_LE(distance(rig.commands(), held), 1e-9);
  rig.change("start_tolerance", List{0.1});  // for a stream that begins anew
  rig.c.node->receive("~/reference", point(shifted(Q, 0.2), 0.0));
  rig.cycles(50);
  EXPECT_LE(distance(rig.commands(), held), 1e-9);
  EXPECT_TRUE(rig.report().find("start_tolerance") != std::string::npos);
  rig.cycles(200);
  auto wrong = point(Q, 0.0);
  wrong.joint_names[0] = "other";
  rig.c.node->receive("~/reference", wrong);
  rig.cycle();
  EXPECT_LE(distance(rig.commands(), held), 1e-9);
  wrong.points.resize(2);
  rig.c.node->receive("~/reference", wrong);
  EXPECT_TRUE(fake_log().last.find("reference rejected: 2 points") == 0);
  auto partial = point(shifted(Q, 0.003), 0.0);
  partial.points[0].velocities.pop_back();
  rig.c.node->receive("~/reference", partial);
  rig.cycle();
  EXPECT_LE(distance(rig.commands(), held), 1e-9);
  EXPECT_TRUE(fake_log().last.find("reference rejected: " + std::to_string(N - 1)) == 0);
  rig.c.on_deactivate({});  // a reference of before is not followed
  rig.activate(false);
  rig.states(shifted(Q, 0.001), ZERO);
  rig.cycle();
  EXPECT_LE(distance(rig.commands(), gravity_at(shifted(Q, 0.001))), EXACT);
}

TEST(Controller, ParametersWhileItRuns)
{
  Rig rig(hard());
  rig.activate();
  rig.cycle();
  const auto has = [&rig](const char * name, rclcpp::Value value, const char * reason) {
    const std::string found = rig.rejected(name, value);
    EXPECT_TRUE(found.find(name) != std::string::npos);
    testing::expect(found.find(reason) != std::string::npos, __FILE__, __LINE__, name, found);
  };
  has("kp", List(N + 1, 1.0), "values; expected one, or one for each");
  has("kp", List{-1.0}, "is [-1]; expected 0 to 1e+09");
  has("kd", List{NONE}, "expected 0 to 1e+09");
  has("kp", List{}, "has 0 values");
  has("control_law", std::string("other"), "'other'; expected computed_torque, feedforward");
  has("ramp_time", -0.5, "is [-0.5]; expected 0 to 86400");
  has("torque_limit_scale", 0.0, "expected above 0, at most 1");
  has("torque_limit_scale", 1.5, "expected above 0, at most 1");
  has("gravity", List{0.0, NONE, 0.0}, "expected -1000 to 1000");
  has("gravity", List{0.0, -9.81}, "expected 3 values");
  has("payload.mass", -1.0, "expected 0 to 1e+06");
  has("payload.inertia", List{1.0, 0.0, 0.0, 1.0, 0.0, 1.0}, "without a mass");
  has("on_collision", std::string("hold"), "observer.enabled");
  has("detection.collision_factor", 1.0, "below detection.contact_factor");
  has("observer.enabled", true, "read when the controller is configured");
  has("reference_interfaces", std::vector<std::string>{"effort"}, "read when the controller");
  // The command would step with them, past the rate limit.
  has("effort_scale", List{-1.0}, "read when the controller");
  has("command_unit", std::string("torque"), "read when the controller");
  has("kp", std::string("100"), "another type");
  EXPECT_LE(distance(rig.commands(), gravity_at(Q)), EXACT);
  rig.cycle();
  EXPECT_LE(distance(rig.commands(), gravity_at(Q)), EXACT);
  EXPECT_TRUE(rig.change("compensate_gravity", false).successful);
  EXPECT_TRUE(rig.change("effort_offset", List{0.25}).successful);
  rig.cycle();
  EXPECT_LE(distance(rig.commands(), filled(0.25)), EXACT);
  Rig observing(with_observer({{"thresholds.level", List{0.0}}}));
  EXPECT_TRUE(observing.rejected("on_collision", std::string("hold")).find("thresholds.level") !=
              std::string::npos);
}

TEST(Controller, ThresholdsOfARejectedRecording)
{
  for (const bool forced : {false, true}) {
    fake_log().first.clear();
    Rig rig(with_observer({{"on_collision", std::string("hold")}, {"thresholds.forced", forced}}));
    EXPECT_TRUE(rig.configured);
    EXPECT_EQ(fake_log().first.find("(thresholds.forced)") != std::string::npos, forced);
  }
}

TEST(Controller, Payloads)
{
  Rig rig(hard());
  rig.activate();
  auto message = payload_message(cases::CASES[0].payload);
  auto wrong = message;
  wrong.inertia.izz = 10.0;  // above the sum of the others
  rig.c.node->receive("~/set_payload", wrong);
  EXPECT_TRUE(fake_log().last.find("expected that of a body") != std::string::npos);
  wrong = message;
  wrong.inertia.ixy = 10.0;
  rig.c.node->receive("~/set_payload", wrong);
  wrong = message;
  wrong.inertia.ixx = wrong.inertia.iyy = 4.0;
  wrong.inertia.izz = -2.0;
  rig.c.node->receive("~/set_payload", wrong);
  wrong = message;
  wrong.header.frame_id = "other";
  rig.c.node->receive("~/set_payload", wrong);
  EXPECT_TRUE(fake_log().last.find("payload of 'other' rejected") == 0);
  wrong = message;
  wrong.inertia.com.x = NONE;
  rig.c.node->receive("~/set_payload", wrong);
  rig.c.node->receive("~/set_gravity", geometry_msgs::msg::Vector3{0.0, NONE, 0.0});
  rig.cycle();
  EXPECT_LE(distance(rig.commands(), gravity_at(Q)), EXACT);
  rig.c.node->receive("~/set_payload", message);
  EXPECT_TRUE(rig.change("kp", List{1.0}).successful);  // the payload stays
  World loaded;
  loaded.payload = cases::CASES[0].payload;
  rig.cycle();
  EXPECT_LE(distance(rig.commands(), gravity_at(Q, loaded)), 1e-11);
}

TEST(Controller, ComparesTheDescription)
{
  for (const Body & body : bodies()) {
    auto link = std::make_shared<urdf::Link>();
    auto flange = std::make_shared<urdf::Link>();
    link->name = body.link;
    flange->inertial = std::make_shared<urdf::Inertial>();
    flange->inertial->mass = body.mass;
    link->child_links.push_back(flange);
    urdf::Model::links[body.link] = link;
  }
  for (std::size_t i = 0; i < N; ++i) {
    urdf::Model::joints[joint_name(i)] = std::make_shared<urdf::Joint>();
  }
  const auto lines = []() {
    const int before = fake_log().lines;
    Rig rig({}, "robot");
    return fake_log().lines - before - unlimited();
  };
  EXPECT_EQ(lines(), 0);
  const std::string last = bodies()[BODIES - 1].link;
  urdf::Model::links[last]->child_links[0]->inertial->mass += 0.5;
  EXPECT_EQ(lines(), 1);
  EXPECT_TRUE(fake_log().last.find(last) != std::string::npos);
  // What another moving link weighs is its own.
  urdf::Model::links[last]->child_links[0]->inertial->mass -= 0.5;
  urdf::Model::links[bodies()[0].link]->child_links.push_back(urdf::Model::links[last]);
  EXPECT_EQ(lines(), BODIES > 1 ? 0 : 1);
  urdf::Model::joints.erase(joint_name(0));
  EXPECT_EQ(lines(), 1);
  const int before = fake_log().lines;
  Rig rig({}, "");
  EXPECT_EQ(fake_log().lines - before, 1 + unlimited());
}

TEST(Controller, JointsWithoutALimitAreNamed)
{
  for (const double most : {0.0, 5.0}) {
    fake_log().first.clear();
    Rig rig({{"max_command", List{most}}});
    EXPECT_EQ(fake_log().first.find("has no effort limit") != std::string::npos,
              most == 0.0 && unlimited() > 0);
  }
}

namespace
{
// The simulated arm with its interfaces.
struct Hardware
{
  SimulatedArm arm;
  hardware_interface::HardwareComponentInterfaceParams params;

  Hardware()
  {
    for (std::size_t i = 0; i < N; ++i) {
      params.hardware_info.joints.push_back({joint_name(i)});
      for (const char * kind : {"/position", "/velocity", "/effort"}) {
        const std::string name = joint_name(i);
        arm.states[name + kind] =
          std::make_shared<hardware_interface::StateInterface>(name, kind + 1);
        arm.states[name + kind]->value = NONE;
      }
      arm.commands[std::string(joint_name(i)) + "/effort"] =
        std::make_shared<hardware_interface::CommandInterface>(joint_name(i), "effort");
    }
  }
};
}  // namespace

TEST(Hardware, ATrajectoryThroughControllerAndArm)
{
  Hardware hardware;
  EXPECT_TRUE(hardware.arm.on_init(hardware.params) == hardware_interface::CallbackReturn::SUCCESS);
  EXPECT_TRUE(hardware.arm.on_activate({}) == hardware_interface::CallbackReturn::SUCCESS);
  Rig rig({{"kp", list(cases::KP)}, {"kd", list(cases::KD)}, {"observer.enabled", true}});
  for (std::size_t i = 0; i < N; ++i) {
    const std::string name = joint_name(i);
    rig.command[i] = hardware.arm.commands[name + "/effort"];
    rig.c.command_interfaces_[i] = {rig.command[i]};
    for (std::size_t k = 0; k < 3; ++k) {
      const char * kinds[] = {"/position", "/velocity", "/effort"};
      rig.state[k * N + i] = hardware.arm.states[name + kinds[k]];
      rig.c.state_interfaces_[k * N + i] = {rig.state[k * N + i]};
    }
  }
  const auto cycle = [&]() {
    EXPECT_TRUE(hardware.arm.read({}, rclcpp::Duration(H)) == hardware_interface::return_type::OK);
    rig.cycle();
    hardware.arm.write({}, rclcpp::Duration(H));
  };
  hardware.arm.read({}, rclcpp::Duration(H));
  rig.activate();
  for (int k = 0; k < 3000; ++k) {
    const double x = std::min(k * H, 1.0);
    const double s = x * x * x * (10.0 + x * (6.0 * x - 15.0));
    const double v = 30.0 * x * x * (1.0 + x * (x - 2.0));
    const double a = 60.0 * x * (1.0 + x * (2.0 * x - 3.0));
    Joints q = Q, qd = ZERO, qdd = ZERO;
    const double way = Q[0] > 0.5 * (lower_limits()[0] + upper_limits()[0]) ? -0.1 : 0.1;
    q[0] += way * s;
    qd[0] = way * v;
    qdd[0] = way * a;
    rig.reference(0, q);
    rig.reference(1, qd);
    rig.reference(2, qdd);
    cycle();
  }
  const double stuck = coulomb_friction()[0] / cases::KP[0];
  EXPECT_NEAR(std::abs(rig.state[0]->value - Q[0]), 0.1, stuck + 1e-3);
  for (std::size_t i = 0; i < N; ++i) {
    const double own = coulomb_friction()[i];
    EXPECT_NEAR(rig.c.ordered_exported_state_interfaces_[i]->value, 0.0, own + 1e-3);
  }
}

TEST(Hardware, StartsWhereTheDescriptionSays)
{
  Hardware hardware;
  auto & start = hardware.arm.states[std::string(joint_name(0)) + "/position"];
  start->value = Q[0] + 0.01;
  hardware.arm.on_init(hardware.params);
  hardware.arm.on_activate({});
  hardware.arm.read({}, rclcpp::Duration(0.0));
  EXPECT_EQ(start->value, Q[0] + 0.01);
  hardware.arm.commands[std::string(joint_name(0)) + "/effort"]->value = 1e12;
  hardware.arm.write({}, rclcpp::Duration(H));
  hardware.arm.read({}, rclcpp::Duration(0.0));
  const double effort = hardware.arm.states[std::string(joint_name(0)) + "/effort"]->value;
  EXPECT_EQ(effort, std::min(effort_limits()[0], 1e12));
  hardware.params.hardware_info.joints.pop_back();
  EXPECT_TRUE(hardware.arm.on_init(hardware.params) == hardware_interface::CallbackReturn::ERROR);
}

// Print microseconds per update, the fastest of batches of a thousand.
void measure()
{
  for (const bool observing : {false, true}) {
    for (const char * law :
         {"feedforward", "pd_plus", "computed_torque", "joint_impedance", "gravity_only"}) {
      Values values = observing ? with_observer() : hard();
      values["control_law"] = std::string(law);
      Rig rig(values);
      rig.activate();
      rig.reference(0, Q);
      double best = 1e9;
      for (int batch = 0; batch < 50; ++batch) {
        const auto begin = std::chrono::steady_clock::now();
        rig.cycles(1000);
        const std::chrono::duration<double, std::milli> time =
          std::chrono::steady_clock::now() - begin;
        best = std::min(best, time.count());
      }
      std::cout << law << (observing ? ", observer: " : ": ") << best << " us\n";
    }
  }
}

int main(int argc, char ** argv)
{
  if (argc > 1 && std::strcmp(argv[1], "measure") == 0) {
    measure();
    return 0;
  }
  return testing::run();
}
