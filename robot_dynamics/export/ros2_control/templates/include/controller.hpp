// SPDX-License-Identifier: Apache-2.0
// Chainable controller: torques of the model on effort interfaces.
#ifndef @PACKAGE@__CONTROLLER_HPP_
#define @PACKAGE@__CONTROLLER_HPP_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "@package@/parameters.hpp"
#include "controller_interface/chainable_controller_interface.hpp"
#include "geometry_msgs/msg/inertia_stamped.hpp"
#include "geometry_msgs/msg/vector3.hpp"
#include "rclcpp/rclcpp.hpp"
#include "realtime_tools/realtime_buffer.hpp"
#include "realtime_tools/realtime_publisher.hpp"
#include "sensor_msgs/msg/joint_state.hpp"
#include "std_srvs/srv/trigger.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

namespace @package@
{
using controller_interface::CallbackReturn;

struct StreamedReference
{
  Reference value;
  std::size_t count = 0;  // of messages
};

// What the loop reports to the log, which another thread writes.
enum class Status { ok, held, missing, invalid, collision, contact_lost };

class DynamicsController : public controller_interface::ChainableControllerInterface
{
public:
  CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  CallbackReturn on_configure(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_cleanup(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State & previous) override;

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr>
  on_export_reference_interfaces_list() override;
  std::vector<hardware_interface::StateInterface::SharedPtr>
  on_export_state_interfaces_list() override;
  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  // Of the threads of parameters and topics
  void create_topics();
  rcl_interfaces::msg::SetParametersResult change(const std::vector<rclcpp::Parameter> & changed);
  void receive(const trajectory_msgs::msg::JointTrajectory & message);
  void receive(const geometry_msgs::msg::InertiaStamped & message);
  void receive(const geometry_msgs::msg::Vector3 & message);
  void set(const std::vector<rclcpp::Parameter> & parameters);
  void compare_with_description() const;
  void report();

  // Of the control loop
  void forget_references();
  void read_state(const Settings & settings);
  Reference reference() const;
  Stop observe(const Settings & settings, const World & world, double elapsed);
  void publish(const rclcpp::Time & time);
  bool write(const Settings & settings, const Joints & tau);
  Status status(Cycle cycle, const Settings & settings) const;

  Controller law_;
  Observer observer_;
  Contact contact_;
  Joints q_ = filled(NONE), qd_ = filled(NONE), effort_ = filled(NONE);
  Joints tau_ = filled(0.0);
  double unwritten_ = 0.0;                    // s without all commands written
  std::vector<std::size_t> reference_types_;  // indices of REFERENCE_TYPES
  bool observe_ = false;
  std::size_t seen_ = 0;  // count of the reference that was used last
  double silence_ = 0.0;  // s without another one
  unsigned acknowledged_seen_ = 0;
  std::chrono::steady_clock::time_point stopped_{};
  bool was_active_ = false;

  realtime_tools::RealtimeBuffer<Settings> settings_;
  realtime_tools::RealtimeBuffer<World> world_;
  realtime_tools::RealtimeBuffer<StreamedReference> streamed_;
  std::atomic<Status> status_{Status::ok};
  std::atomic<std::size_t> collided_{0};  // joint
  std::atomic<unsigned> acknowledged_{0};

  Parameters parameters_;
  std::size_t messages_ = 0;
  Status reported_ = Status::ok;
  rclcpp::Subscription<trajectory_msgs::msg::JointTrajectory>::SharedPtr reference_input_;
  rclcpp::Subscription<geometry_msgs::msg::InertiaStamped>::SharedPtr payload_input_;
  rclcpp::Subscription<geometry_msgs::msg::Vector3>::SharedPtr gravity_input_;
  rclcpp::Service<std_srvs::srv::Trigger>::SharedPtr acknowledgement_;
  rclcpp::TimerBase::SharedPtr report_timer_;
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr parameters_changed_;
  rclcpp::Publisher<sensor_msgs::msg::JointState>::SharedPtr external_output_;
  std::unique_ptr<realtime_tools::RealtimePublisher<sensor_msgs::msg::JointState>> publisher_;
  sensor_msgs::msg::JointState external_message_;
};
}  // namespace @package@
#endif  // @PACKAGE@__CONTROLLER_HPP_
