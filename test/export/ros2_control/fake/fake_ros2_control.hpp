// SPDX-License-Identifier: Apache-2.0
// What an exported controller uses of ROS 2 and ros2_control, to test it without them.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// The last line of each severity, the first one since `first` was emptied, and their number.
struct Log
{
  std::string last, first;
  int lines = 0;
};
inline Log & fake_log()
{
  static Log log;
  return log;
}
inline std::string fake_text(const char * format) { return format; }
template <class... Values>
std::string fake_text(const char * format, const Values &... values)
{
  char text[500];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}
#define FAKE_LOG(logger, ...)                  \
  do {                                         \
    (void)(logger);                            \
    fake_log().last = fake_text(__VA_ARGS__);  \
    if (fake_log().first.empty()) {            \
      fake_log().first = fake_log().last;      \
    }                                          \
    ++fake_log().lines;                        \
  } while (false)
#define RCLCPP_INFO FAKE_LOG
#define RCLCPP_WARN FAKE_LOG
#define RCLCPP_ERROR FAKE_LOG
#define PLUGINLIB_EXPORT_CLASS(type, base) static_assert(std::is_base_of<base, type>::value, "");

// -- messages -------------------------------------------------------------------------------

namespace builtin_interfaces::msg
{
struct Time
{
  std::int64_t ns = 0;
};
}
namespace std_msgs::msg
{
struct Header
{
  builtin_interfaces::msg::Time stamp;
  std::string frame_id;
};
}
namespace geometry_msgs::msg
{
struct Vector3
{
  double x = 0.0, y = 0.0, z = 0.0;
};
struct Inertia
{
  double m = 0.0;
  Vector3 com;
  double ixx = 0.0, ixy = 0.0, ixz = 0.0, iyy = 0.0, iyz = 0.0, izz = 0.0;
};
struct InertiaStamped
{
  std_msgs::msg::Header header;
  Inertia inertia;
};
}
namespace sensor_msgs::msg
{
struct JointState
{
  std_msgs::msg::Header header;
  std::vector<std::string> name;
  std::vector<double> position, velocity, effort;
};
}
namespace trajectory_msgs::msg
{
struct JointTrajectoryPoint
{
  std::vector<double> positions, velocities, accelerations, effort;
};
struct JointTrajectory
{
  std_msgs::msg::Header header;
  std::vector<std::string> joint_names;
  std::vector<JointTrajectoryPoint> points;
};
}
namespace std_srvs::srv
{
struct Trigger
{
  struct Request
  {
  };
  struct Response
  {
    bool success = false;
    std::string message;
  };
};
}
namespace rcl_interfaces::msg
{
struct SetParametersResult
{
  bool successful = true;
  std::string reason;
};
}

// -- rclcpp ---------------------------------------------------------------------------------

namespace rclcpp
{
struct Logger
{
};
struct Time
{
  std::int64_t ns = 0;
  operator builtin_interfaces::msg::Time() const { return {ns}; }
};
struct Duration
{
  explicit Duration(double seconds) : seconds_(seconds) {}
  double seconds() const { return seconds_; }
  double seconds_;
};
struct QoS
{
  explicit QoS(int) {}
  QoS & best_effort() { return *this; }
};
using Value =
  std::variant<bool, double, std::string, std::vector<double>, std::vector<std::string>>;
class Parameter
{
public:
  Parameter() = default;
  Parameter(std::string name, Value value) : name_(std::move(name)), value_(std::move(value)) {}
  const std::string & get_name() const { return name_; }
  const Value & value() const { return value_; }
  bool operator==(const Parameter & o) const { return name_ == o.name_ && value_ == o.value_; }
  bool as_bool() const { return as<bool>(); }
  double as_double() const { return as<double>(); }
  std::string as_string() const { return as<std::string>(); }
  std::vector<double> as_double_array() const { return as<std::vector<double>>(); }
  std::vector<std::string> as_string_array() const { return as<std::vector<std::string>>(); }

private:
  template <class T>
  const T & as() const
  {
    if (!std::holds_alternative<T>(value_)) {
      throw std::runtime_error(name_ + " has another type");
    }
    return std::get<T>(value_);
  }
  std::string name_;
  Value value_;
};
template <class M>
struct Subscription
{
  using SharedPtr = std::shared_ptr<Subscription>;
  std::function<void(const M &)> call;
};
template <class M>
struct Publisher
{
  using SharedPtr = std::shared_ptr<Publisher>;
  std::size_t count = 0;
  M last;
};
template <class S>
struct Service
{
  using SharedPtr = std::shared_ptr<Service>;
  std::function<void(
    std::shared_ptr<typename S::Request>, std::shared_ptr<typename S::Response>)>
    call;
};
struct TimerBase
{
  using SharedPtr = std::shared_ptr<TimerBase>;
  std::function<void()> call;
};
namespace node_interfaces
{
struct OnSetParametersCallbackHandle
{
  using SharedPtr = std::shared_ptr<OnSetParametersCallbackHandle>;
  std::function<rcl_interfaces::msg::SetParametersResult(const std::vector<Parameter> &)> call;
};
}
}  // namespace rclcpp

namespace rclcpp_lifecycle
{
struct State
{
};
struct Names
{
  std::vector<std::string> names;
};
// A node whose topics, services and timers the test calls.
class LifecycleNode
{
public:
  std::string name;
  std::map<std::string, rclcpp::Value> parameters;
  std::map<std::string, std::weak_ptr<void>> topics;
  std::weak_ptr<rclcpp::node_interfaces::OnSetParametersCallbackHandle> callback;
  std::weak_ptr<rclcpp::TimerBase> timer;

  const char * get_name() const { return name.c_str(); }
  rclcpp::Logger get_logger() const { return {}; }
  Names list_parameters(const std::vector<std::string> &, int) const
  {
    Names found;
    for (const auto & entry : parameters) {
      found.names.push_back(entry.first);
    }
    return found;
  }
  std::vector<rclcpp::Parameter> get_parameters(const std::vector<std::string> & names) const
  {
    std::vector<rclcpp::Parameter> found;
    for (const auto & own : names) {
      found.emplace_back(own, parameters.at(own));
    }
    return found;
  }
  rcl_interfaces::msg::SetParametersResult set_parameters_atomically(
    const std::vector<rclcpp::Parameter> & given)
  {
    const auto result = callback.lock()->call(given);
    for (const auto & parameter : given) {
      if (result.successful) {
        parameters[parameter.get_name()] = parameter.value();
      }
    }
    return result;
  }
  template <class F>
  auto add_on_set_parameters_callback(F call)
  {
    auto handle = std::make_shared<rclcpp::node_interfaces::OnSetParametersCallbackHandle>();
    handle->call = call;
    callback = handle;
    return handle;
  }
  template <class M, class F>
  auto create_subscription(const std::string & topic, rclcpp::QoS, F call)
  {
    auto made = std::make_shared<rclcpp::Subscription<M>>();
    made->call = call;
    topics[topic] = made;
    return made;
  }
  template <class M>
  auto create_publisher(const std::string & topic, rclcpp::QoS)
  {
    auto made = std::make_shared<rclcpp::Publisher<M>>();
    topics[topic] = made;
    return made;
  }
  template <class S, class F>
  auto create_service(const std::string & topic, F call)
  {
    auto made = std::make_shared<rclcpp::Service<S>>();
    made->call = call;
    topics[topic] = made;
    return made;
  }
  template <class F>
  auto create_wall_timer(std::chrono::milliseconds, F call)
  {
    auto made = std::make_shared<rclcpp::TimerBase>();
    made->call = call;
    timer = made;
    return made;
  }
  template <class Entity>
  std::shared_ptr<Entity> at(const std::string & topic)
  {
    return std::static_pointer_cast<Entity>(topics.at(topic).lock());
  }
  template <class M>
  void receive(const std::string & topic, const M & message)
  {
    at<rclcpp::Subscription<M>>(topic)->call(message);
  }
};
}  // namespace rclcpp_lifecycle

// -- ros2_control ---------------------------------------------------------------------------

namespace hardware_interface
{
constexpr char HW_IF_EFFORT[] = "effort";
// `locked`: as if another thread held the value.
class Handle
{
public:
  Handle(const std::string & prefix, const std::string & type) : name(prefix + "/" + type) {}
  template <class T = double>
  std::optional<T> get_optional() const
  {
    return locked ? std::nullopt : std::optional<T>(value);
  }
  [[nodiscard]] bool set_value(double given)
  {
    value = locked ? value : given;
    return !locked;
  }
  std::string name;
  double value = 0.0;  // ros2_control: NaN; what is not written shall be found
  bool locked = false;
};
struct CommandInterface : Handle
{
  using SharedPtr = std::shared_ptr<CommandInterface>;
  using Handle::Handle;
};
struct StateInterface : Handle
{
  using SharedPtr = std::shared_ptr<StateInterface>;
  using Handle::Handle;
};
template <class H>
struct Loaned
{
  std::shared_ptr<H> handle;
  std::optional<double> get_optional() const { return handle->get_optional(); }
  [[nodiscard]] bool set_value(double value) { return handle->set_value(value); }
};
using LoanedCommandInterface = Loaned<CommandInterface>;
using LoanedStateInterface = Loaned<StateInterface>;
enum class CallbackReturn { SUCCESS, FAILURE, ERROR };
enum class return_type { OK, ERROR };

struct ComponentInfo
{
  std::string name;
};
struct HardwareInfo
{
  std::vector<ComponentInfo> joints;
};
struct HardwareComponentInterfaceParams
{
  HardwareInfo hardware_info;
};
class SystemInterface
{
public:
  virtual ~SystemInterface() = default;
  virtual CallbackReturn on_init(const HardwareComponentInterfaceParams & params)
  {
    info_ = params.hardware_info;
    return CallbackReturn::SUCCESS;
  }
  virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) = 0;
  virtual return_type read(const rclcpp::Time &, const rclcpp::Duration &) = 0;
  virtual return_type write(const rclcpp::Time &, const rclcpp::Duration &) = 0;
  const HardwareInfo & get_hardware_info() const { return info_; }
  rclcpp::Logger get_logger() const { return {}; }
  const StateInterface::SharedPtr & get_state_interface_handle(const std::string & name)
  {
    return states.at(name);
  }
  const CommandInterface::SharedPtr & get_command_interface_handle(const std::string & name)
  {
    return commands.at(name);
  }
  std::map<std::string, StateInterface::SharedPtr> states;
  std::map<std::string, CommandInterface::SharedPtr> commands;

private:
  HardwareInfo info_;
};
}  // namespace hardware_interface

namespace controller_interface
{
using hardware_interface::CallbackReturn;
using hardware_interface::return_type;
enum class interface_configuration_type { ALL, INDIVIDUAL, NONE };
struct InterfaceConfiguration
{
  interface_configuration_type type;
  std::vector<std::string> names;
};
class ChainableControllerInterface
{
public:
  virtual ~ChainableControllerInterface() = default;
  virtual CallbackReturn on_init() = 0;
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_configure(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) = 0;
  auto get_node() const { return node; }
  const std::string & get_robot_description() const { return description; }
  void set_chained_mode(bool chained) { chained_ = chained; }
  return_type update(const rclcpp::Time & time, const rclcpp::Duration & period)
  {
    if (!chained_ && update_reference_from_subscribers(time, period) != return_type::OK) {
      return return_type::ERROR;
    }
    return update_and_write_commands(time, period);
  }
  void export_interfaces()
  {
    ordered_exported_reference_interfaces_ = on_export_reference_interfaces_list();
    ordered_exported_state_interfaces_ = on_export_state_interfaces_list();
  }
  template <class T>
  T auto_declare(const std::string & name, const T & value)
  {
    node->parameters.emplace(name, value);
    return std::get<T>(node->parameters[name]);
  }
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node =
    std::make_shared<rclcpp_lifecycle::LifecycleNode>();
  std::string description;
  std::vector<hardware_interface::LoanedCommandInterface> command_interfaces_;
  std::vector<hardware_interface::LoanedStateInterface> state_interfaces_;
  std::vector<hardware_interface::CommandInterface::SharedPtr>
    ordered_exported_reference_interfaces_;
  std::vector<hardware_interface::StateInterface::SharedPtr> ordered_exported_state_interfaces_;

protected:
  virtual std::vector<hardware_interface::CommandInterface::SharedPtr>
  on_export_reference_interfaces_list() = 0;
  virtual std::vector<hardware_interface::StateInterface::SharedPtr>
  on_export_state_interfaces_list() = 0;
  virtual return_type update_reference_from_subscribers(
    const rclcpp::Time &, const rclcpp::Duration &) = 0;
  virtual return_type update_and_write_commands(
    const rclcpp::Time &, const rclcpp::Duration &) = 0;

private:
  bool chained_ = false;
};
}  // namespace controller_interface

namespace realtime_tools
{
template <class T>
class RealtimeBuffer
{
public:
  void initRT(const T & value) { value_ = value; }
  void writeFromNonRT(const T & value) { value_ = value; }
  T * readFromRT() { return &value_; }

private:
  T value_{};
};
template <class M>
class RealtimePublisher
{
public:
  explicit RealtimePublisher(std::shared_ptr<rclcpp::Publisher<M>> publisher)
  : publisher_(publisher)
  {
  }
  bool try_publish(const M & message)
  {
    publisher_->last = message;
    ++publisher_->count;
    return true;
  }

private:
  std::shared_ptr<rclcpp::Publisher<M>> publisher_;
};
}  // namespace realtime_tools

// -- urdf: the test writes the links and joints that a text stands for ------------------------

namespace urdf
{
struct Inertial
{
  double mass = 0.0;
};
struct Link
{
  std::string name;
  std::shared_ptr<Inertial> inertial;
  std::vector<std::shared_ptr<Link>> child_links;
};
struct Joint
{
};
struct Model
{
  static inline std::map<std::string, std::shared_ptr<Link>> links;
  static inline std::map<std::string, std::shared_ptr<Joint>> joints;
  bool initString(const std::string & text) { return text == "robot"; }
  std::shared_ptr<const Link> getLink(const std::string & name) const
  {
    return links.count(name) > 0 ? links.at(name) : nullptr;
  }
  std::shared_ptr<const Joint> getJoint(const std::string & name) const
  {
    return joints.count(name) > 0 ? joints.at(name) : nullptr;
  }
};
}  // namespace urdf
