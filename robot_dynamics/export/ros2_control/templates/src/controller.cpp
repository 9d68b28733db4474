// SPDX-License-Identifier: Apache-2.0
#include "@package@/controller.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "urdf/model.h"

namespace @package@
{
namespace
{
using controller_interface::interface_configuration_type;
using controller_interface::return_type;
using std::chrono::steady_clock;

// Parameters that stay until then: interfaces, and what the drives take, which would step.
constexpr const char * CONFIGURED[] = {
  "reference_interfaces", "observer.enabled", "effort_scale", "command_unit"};
constexpr std::chrono::milliseconds REPORT_PERIOD{200};
// A change of chained mode deactivates and activates a controller within a cycle or a few.
constexpr std::chrono::milliseconds RESTART{100};

template <class Interface>
void read(const std::vector<Interface> & interfaces, std::size_t first, Joints & values)
{
  for (std::size_t i = 0; i < N; ++i) {
    values[i] = interfaces[first + i].get_optional().value_or(NONE);  // NaN: locked by another
  }
}

std::vector<std::string> interface_names(const std::string & type)
{
  std::vector<std::string> names;
  for (std::size_t i = 0; i < N; ++i) {
    names.push_back(std::string(joint_name(i)) + "/" + type);
  }
  return names;
}

double seconds(const rclcpp::Duration & period)
{
  const double value = period.seconds();
  return std::isfinite(value) ? std::max(value, 0.0) : 0.0;
}

// Mass of a link and of what is fixed to it: links beyond the joints of other bodies are theirs.
double mass_of(const urdf::Link & link)
{
  double mass = link.inertial ? link.inertial->mass : 0.0;
  for (const auto & child : link.child_links) {
    const auto known = bodies();
    const bool moves = std::any_of(known.begin(), known.end(), [&child](const Body & body) {
      return child->name == body.link;
    });
    mass += moves ? 0.0 : mass_of(*child);
  }
  return mass;
}
}  // namespace

CallbackReturn DynamicsController::on_init()
{
  try {
    for (const auto & [name, value] : LISTS) {
      auto_declare<std::vector<double>>(name, value);
    }
    for (const auto & [name, value] : vectors()) {
      auto_declare<std::vector<double>>(name, value);
    }
    for (const auto & [name, value] : NUMBERS) {
      auto_declare<double>(name, value);
    }
    for (const auto & [name, value] : SWITCHES) {
      auto_declare<bool>(name, value);
    }
    for (const auto & [name, value] : CHOICES) {
      auto_declare<std::string>(name, value);
    }
    auto_declare<std::vector<std::string>>(
      "reference_interfaces", {"position", "velocity", "acceleration"});
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

CallbackReturn DynamicsController::on_configure(const rclcpp_lifecycle::State &)
{
  auto node = get_node();
  parameters_.clear();
  for (const auto & parameter : node->get_parameters(node->list_parameters({}, 0).names)) {
    parameters_[parameter.get_name()] = parameter;
  }
  Settings settings;
  World world;
  std::string problem = read_parameters(parameters_, settings, world);
  if (problem.empty()) {
    problem = read_interfaces(parameters_, reference_types_, observe_);
  }
  if (!problem.empty()) {
    RCLCPP_ERROR(node->get_logger(), "%s", problem.c_str());
    return CallbackReturn::FAILURE;
  }
  if (settings.on_collision != OnCollision::none && parameters_.at("thresholds.forced").as_bool()) {
    RCLCPP_WARN(
      node->get_logger(),
      "the thresholds of contact are from a recording that was rejected (thresholds.forced)");
  }
  for (std::size_t i = 0; i < N; ++i) {
    if (!std::isfinite(settings.effort_limit[i])) {
      RCLCPP_WARN(
        node->get_logger(), "joint %s has no effort limit in the model; expected max_command",
        joint_name(i));
    }
  }
  settings_.initRT(settings);
  world_.initRT(world);
  streamed_.initRT(StreamedReference{});
  was_active_ = false;
  compare_with_description();
  create_topics();
  return CallbackReturn::SUCCESS;
}

void DynamicsController::create_topics()
{
  auto node = get_node();
  parameters_changed_ = node->add_on_set_parameters_callback(
    [this](const std::vector<rclcpp::Parameter> & changed) { return change(changed); });
  reference_input_ = node->create_subscription<trajectory_msgs::msg::JointTrajectory>(
    "~/reference", rclcpp::QoS(1).best_effort(),
    [this](const trajectory_msgs::msg::JointTrajectory & message) { receive(message); });
  payload_input_ = node->create_subscription<geometry_msgs::msg::InertiaStamped>(
    "~/set_payload", rclcpp::QoS(1),
    [this](const geometry_msgs::msg::InertiaStamped & message) { receive(message); });
  gravity_input_ = node->create_subscription<geometry_msgs::msg::Vector3>(
    "~/set_gravity", rclcpp::QoS(1),
    [this](const geometry_msgs::msg::Vector3 & message) { receive(message); });
  acknowledgement_ = node->create_service<std_srvs::srv::Trigger>(
    "~/acknowledge_collision",
    [this](
      const std::shared_ptr<std_srvs::srv::Trigger::Request>,
      const std::shared_ptr<std_srvs::srv::Trigger::Response> response) {
      ++acknowledged_;
      response->success = true;
    });
  report_timer_ = node->create_wall_timer(REPORT_PERIOD, [this]() { report(); });
  if (observe_) {
    external_output_ = node->create_publisher<sensor_msgs::msg::JointState>(
      "~/external_torque", rclcpp::QoS(1));
    publisher_ = std::make_unique<
      realtime_tools::RealtimePublisher<sensor_msgs::msg::JointState>>(external_output_);
    external_message_.name.clear();
    for (std::size_t i = 0; i < N; ++i) {
      external_message_.name.push_back(joint_name(i));
    }
    external_message_.effort.assign(N, NONE);
    // Its copy of the message gets its memory here, not in the loop.
    while (!publisher_->try_publish(external_message_)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

CallbackReturn DynamicsController::on_cleanup(const rclcpp_lifecycle::State &)
{
  parameters_changed_.reset();
  reference_input_.reset();
  payload_input_.reset();
  gravity_input_.reset();
  acknowledgement_.reset();
  report_timer_.reset();
  publisher_.reset();
  external_output_.reset();
  return CallbackReturn::SUCCESS;
}

// -- parameters and topics -------------------------------------------------------------------

rcl_interfaces::msg::SetParametersResult DynamicsController::change(
  const std::vector<rclcpp::Parameter> & changed)
{
  rcl_interfaces::msg::SetParametersResult result;
  Parameters parameters = parameters_;
  for (const auto & parameter : changed) {
    parameters[parameter.get_name()] = parameter;
  }
  Settings settings;
  World world;
  result.reason = read_parameters(parameters, settings, world);
  for (const char * name : CONFIGURED) {
    if (result.reason.empty() && !(parameters.at(name) == parameters_.at(name))) {
      result.reason = std::string(name) + " is read when the controller is configured";
    }
  }
  result.successful = result.reason.empty();
  if (result.successful) {
    parameters_ = parameters;
    settings_.writeFromNonRT(settings);
    world_.writeFromNonRT(world);
  }
  return result;
}

void DynamicsController::set(const std::vector<rclcpp::Parameter> & parameters)
{
  const auto result = get_node()->set_parameters_atomically(parameters);
  if (!result.successful) {
    RCLCPP_WARN(get_node()->get_logger(), "rejected: %s", result.reason.c_str());
  }
}

void DynamicsController::receive(const geometry_msgs::msg::InertiaStamped & message)
{
  const std::string & frame = message.header.frame_id;
  if (!frame.empty() && frame != PAYLOAD_LINK) {
    RCLCPP_WARN(
      get_node()->get_logger(), "payload of '%s' rejected; expected that of '%s'", frame.c_str(),
      PAYLOAD_LINK);
    return;
  }
  const auto & I = message.inertia;
  set(
    {rclcpp::Parameter("payload.mass", I.m),
     rclcpp::Parameter("payload.com", std::vector<double>{I.com.x, I.com.y, I.com.z}),
     rclcpp::Parameter(
       "payload.inertia", std::vector<double>{I.ixx, I.ixy, I.ixz, I.iyy, I.iyz, I.izz})});
}

void DynamicsController::receive(const geometry_msgs::msg::Vector3 & message)
{
  set({rclcpp::Parameter("gravity", std::vector<double>{message.x, message.y, message.z})});
}

void DynamicsController::receive(const trajectory_msgs::msg::JointTrajectory & message)
{
  StreamedReference next;
  if (message.points.size() != 1 || message.joint_names.size() != N) {
    RCLCPP_WARN(
      get_node()->get_logger(),
      "reference rejected: %zu points of %zu joints; expected one point of all joints",
      message.points.size(), message.joint_names.size());
    return;
  }
  const auto & point = message.points[0];
  const std::array<std::pair<const std::vector<double> *, Joints *>, 4> fields = {
    {{&point.positions, &next.value.q},
     {&point.velocities, &next.value.qd},
     {&point.accelerations, &next.value.qdd},
     {&point.effort, &next.value.effort}}};
  for (const auto & [values, into] : fields) {
    if (!values->empty() && values->size() != N) {
      RCLCPP_WARN(
        get_node()->get_logger(), "reference rejected: %zu values of %zu joints", values->size(), N);
      return;
    }
  }
  for (std::size_t i = 0; i < N; ++i) {
    const auto found =
      std::find(message.joint_names.begin(), message.joint_names.end(), joint_name(i));
    if (found == message.joint_names.end()) {
      RCLCPP_WARN(get_node()->get_logger(), "reference rejected: no joint %s", joint_name(i));
      return;
    }
    const auto from = static_cast<std::size_t>(found - message.joint_names.begin());
    for (const auto & [values, into] : fields) {
      if (!values->empty()) {
        (*into)[i] = (*values)[from];
      }
    }
  }
  next.count = ++messages_;
  streamed_.writeFromNonRT(next);
}

void DynamicsController::compare_with_description() const
{
  const auto logger = get_node()->get_logger();
  urdf::Model description;
  if (get_robot_description().empty() || !description.initString(get_robot_description())) {
    RCLCPP_WARN(logger, "no robot_description: the model is not compared with it");
    return;
  }
  for (std::size_t i = 0; i < N; ++i) {
    if (!description.getJoint(joint_name(i))) {
      RCLCPP_WARN(logger, "robot_description has no joint %s", joint_name(i));
    }
  }
  for (const Body & body : bodies()) {
    const auto link = description.getLink(body.link);
    const double mass = link ? mass_of(*link) : NONE;
    if (!(std::abs(mass - body.mass) <= 1e-6 * std::max(body.mass, 1e-3))) {
      RCLCPP_WARN(
        logger, "robot_description has %g kg at link %s and what is fixed to it, the model %g kg",
        mass, body.link, body.mass);
    }
  }
}

// The loop writes no log.
void DynamicsController::report()
{
  const Status now = status_;
  if (now == reported_) {
    return;
  }
  reported_ = now;
  const auto logger = get_node()->get_logger();
  switch (now) {
    case Status::ok:
      RCLCPP_INFO(logger, "the reference is followed");
      break;
    case Status::held:
      RCLCPP_WARN(
        logger, "the arm is held: the reference is more than start_tolerance away from it");
      break;
    case Status::missing:
      RCLCPP_WARN(logger, "joint states are missing for longer than input_timeout");
      break;
    case Status::invalid:
      RCLCPP_WARN(logger, "the torque stays: no joint states, or a result that is not finite");
      break;
    case Status::collision:
      RCLCPP_WARN(
        logger, "collision, most in joint %s; ~/acknowledge_collision releases the arm",
        joint_name(collided_));
      break;
    case Status::contact_lost:
      RCLCPP_WARN(logger, "contact is unknown for longer than contact_timeout");
      break;
  }
}

// -- interfaces ------------------------------------------------------------------------------

controller_interface::InterfaceConfiguration
DynamicsController::command_interface_configuration() const
{
  return {interface_configuration_type::INDIVIDUAL, interface_names("effort")};
}

controller_interface::InterfaceConfiguration
DynamicsController::state_interface_configuration() const
{
  std::vector<std::string> names;
  for (const char * type : {"position", "velocity", "effort"}) {
    if (type != std::string("effort") || observe_) {
      for (const std::string & name : interface_names(type)) {
        names.push_back(name);
      }
    }
  }
  return {interface_configuration_type::INDIVIDUAL, names};
}

std::vector<hardware_interface::CommandInterface::SharedPtr>
DynamicsController::on_export_reference_interfaces_list()
{
  std::vector<hardware_interface::CommandInterface::SharedPtr> interfaces;
  for (const std::size_t type : reference_types_) {
    for (std::size_t i = 0; i < N; ++i) {
      // The prefix is CONTROLLER/JOINT: a preceding controller finds it by command_joints.
      interfaces.push_back(std::make_shared<hardware_interface::CommandInterface>(
        std::string(get_node()->get_name()) + "/" + joint_name(i), REFERENCE_TYPES[type]));
      (void)interfaces.back()->set_value(NONE);
    }
  }
  return interfaces;
}

std::vector<hardware_interface::StateInterface::SharedPtr>
DynamicsController::on_export_state_interfaces_list()
{
  std::vector<hardware_interface::StateInterface::SharedPtr> interfaces;
  for (std::size_t i = 0; observe_ && i < N; ++i) {
    interfaces.push_back(std::make_shared<hardware_interface::StateInterface>(
      std::string(get_node()->get_name()) + "/" + joint_name(i), "external_torque"));
    (void)interfaces.back()->set_value(NONE);
  }
  return interfaces;
}

void DynamicsController::forget_references()
{
  // A trajectory controller starts from these values unless they are NaN.
  for (const auto & interface : ordered_exported_reference_interfaces_) {
    (void)interface->set_value(NONE);
  }
  seen_ = streamed_.readFromRT()->count;
  silence_ = std::numeric_limits<double>::infinity();
}

// -- the control loop ------------------------------------------------------------------------

CallbackReturn DynamicsController::on_activate(const rclcpp_lifecycle::State &)
{
  forget_references();
  const Settings & settings = *settings_.readFromRT();
  Joints present;
  read(command_interfaces_, 0, present);
  for (std::size_t i = 0; i < N; ++i) {
    present[i] /= settings.command_per_torque[i];
  }
  const bool restarted = was_active_ && steady_clock::now() - stopped_ < RESTART;
  if (restarted) {
    present = law_.last();  // written below, before the drives receive that of on_deactivate
  } else {
    contact_.restart();
    acknowledged_seen_ = acknowledged_;
  }
  law_.activate(settings, present);
  observer_.restart();
  unwritten_ = 0.0;
  return write(settings, law_.last()) ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
}

CallbackReturn DynamicsController::on_deactivate(const rclcpp_lifecycle::State &)
{
  forget_references();
  stopped_ = steady_clock::now();
  was_active_ = true;
  status_ = Status::ok;
  const Settings & settings = *settings_.readFromRT();
  if (settings.on_deactivate == OnDeactivate::zero) {
    (void)write(settings, filled(0.0));
  } else if (settings.on_deactivate == OnDeactivate::gravity && finite(law_.position())) {
    Joints tau;
    resting_torque(settings, *world_.readFromRT(), law_.position(), tau);
    for (std::size_t i = 0; i < N; ++i) {
      tau[i] = std::clamp(tau[i], -settings.effort_limit[i], settings.effort_limit[i]);
    }
    (void)write(settings, tau);
  }
  return CallbackReturn::SUCCESS;
}

return_type DynamicsController::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration & period)
{
  const StreamedReference & newest = *streamed_.readFromRT();
  silence_ = newest.count != seen_ ? 0.0 : silence_ + seconds(period);
  seen_ = newest.count;
  const bool stale = silence_ > settings_.readFromRT()->reference_timeout;
  // After the timeout none is given: the law holds the last position at rest.
  const Reference given = stale ? Reference{} : newest.value;
  const std::array<const Joints *, 4> fields = {&given.q, &given.qd, &given.qdd, &given.effort};
  for (std::size_t k = 0; k < reference_types_.size(); ++k) {
    for (std::size_t i = 0; i < N; ++i) {
      (void)ordered_exported_reference_interfaces_[k * N + i]->set_value(
        (*fields[reference_types_[k]])[i]);
    }
  }
  return return_type::OK;
}

return_type DynamicsController::update_and_write_commands(
  const rclcpp::Time & time, const rclcpp::Duration & period)
{
  const Settings & settings = *settings_.readFromRT();
  const World & world = *world_.readFromRT();
  const double elapsed = seconds(period);
  read_state(settings);
  const Stop stop = observe_ ? observe(settings, world, elapsed) : Stop::none;
  const Cycle cycle =
    law_.step(settings, world, reference(), q_, qd_, stop, elapsed, tau_);
  // A lock of an interface for a cycle is no error: an error stops the whole chain.
  unwritten_ = write(settings, tau_) ? 0.0 : unwritten_ + elapsed;
  if (observe_) {
    publish(time);
  }
  status_ = status(cycle, settings);
  const bool lost = cycle == Cycle::gravity && settings.error_on_timeout;
  return lost || unwritten_ > settings.input_timeout ? return_type::ERROR : return_type::OK;
}

void DynamicsController::read_state(const Settings & settings)
{
  read(state_interfaces_, 0, q_);
  read(state_interfaces_, N, qd_);
  if (observe_) {
    read(state_interfaces_, 2 * N, effort_);
    for (std::size_t i = 0; i < N; ++i) {
      effort_[i] = settings.effort_scale[i] * effort_[i] - settings.effort_offset[i];
    }
  }
}

Reference DynamicsController::reference() const
{
  Reference reference;
  const std::array<Joints *, 4> fields = {
    &reference.q, &reference.qd, &reference.qdd, &reference.effort};
  for (std::size_t k = 0; k < reference_types_.size(); ++k) {
    for (std::size_t i = 0; i < N; ++i) {
      (*fields[reference_types_[k]])[i] =
        ordered_exported_reference_interfaces_[k * N + i]->get_optional().value_or(NONE);
    }
  }
  return reference;
}

Stop DynamicsController::observe(const Settings & settings, const World & world, double elapsed)
{
  const bool known = observer_.step(world, q_, qd_, effort_, elapsed, settings.poles);
  contact_.step(settings, observer_, known, elapsed);
  const unsigned acknowledged = acknowledged_;
  if (acknowledged != acknowledged_seen_) {
    acknowledged_seen_ = acknowledged;
    contact_.acknowledge(settings.contact_timeout);
  }
  collided_ = contact_.joint();
  return stop_of(settings, contact_);
}

void DynamicsController::publish(const rclcpp::Time & time)
{
  for (std::size_t i = 0; i < N; ++i) {
    (void)ordered_exported_state_interfaces_[i]->set_value(observer_.torque()[i]);
    external_message_.effort[i] = observer_.torque()[i];
  }
  external_message_.header.stamp = time;
  (void)publisher_->try_publish(external_message_);
}

bool DynamicsController::write(const Settings & settings, const Joints & tau)
{
  bool written = true;
  for (std::size_t i = 0; i < N; ++i) {
    const double command = settings.command_per_torque[i] * tau[i];
    written = command_interfaces_[i].set_value(command) && written;
  }
  return written;
}

Status DynamicsController::status(Cycle cycle, const Settings & settings) const
{
  if (cycle == Cycle::invalid) {
    return Status::invalid;
  }
  if (cycle == Cycle::gravity) {
    return Status::missing;
  }
  if (settings.on_collision != OnCollision::none && contact_.collides()) {
    return Status::collision;
  }
  if (settings.on_collision != OnCollision::none && contact_.lost()) {
    return Status::contact_lost;
  }
  return cycle == Cycle::held ? Status::held : Status::ok;
}
}  // namespace @package@

PLUGINLIB_EXPORT_CLASS(
  @package@::DynamicsController, controller_interface::ChainableControllerInterface)
