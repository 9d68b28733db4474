// SPDX-License-Identifier: Apache-2.0
// Hardware component: the arm of arm.hpp behind effort interfaces.
#include <cmath>
#include <string>

#include "@package@/arm.hpp"
#include "hardware_interface/system_interface.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"

namespace @package@
{
using hardware_interface::CallbackReturn;
using hardware_interface::return_type;

class SimulatedArm : public hardware_interface::SystemInterface
{
public:
  CallbackReturn on_init(
    const hardware_interface::HardwareComponentInterfaceParams & params) override
  {
    if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) {
      return CallbackReturn::ERROR;
    }
    for (std::size_t i = 0; i < N; ++i) {
      const auto & given = get_hardware_info().joints;
      const bool found = std::any_of(given.begin(), given.end(), [i](const auto & joint) {
        return joint.name == joint_name(i);
      });
      if (!found) {
        RCLCPP_ERROR(get_logger(), "joint %s is missing from ros2_control", joint_name(i));
        return CallbackReturn::ERROR;
      }
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    arm_ = Arm();
    for (std::size_t i = 0; i < N; ++i) {
      const std::string joint = joint_name(i);
      position_[i] = get_state_interface_handle(joint + "/position");
      velocity_[i] = get_state_interface_handle(joint + "/velocity");
      effort_[i] = get_state_interface_handle(joint + "/effort");
      command_[i] = get_command_interface_handle(joint + "/effort");
      const double start = position_[i]->get_optional().value_or(NONE);  // initial_value
      if (std::isfinite(start)) {
        arm_.q[i] = std::clamp(start, arm_.lower[i], arm_.upper[i]);
      }
    }
    // An arm without brakes falls until a controller is active: it starts carried.
    gravity_torque(arm_.world, arm_.q, tau_);
    for (std::size_t i = 0; i < N; ++i) {
      (void)command_[i]->set_value(tau_[i]);
    }
    return CallbackReturn::SUCCESS;
  }

  return_type read(const rclcpp::Time &, const rclcpp::Duration & period) override
  {
    arm_.move(tau_, period.seconds());
    for (std::size_t i = 0; i < N; ++i) {
      (void)position_[i]->set_value(arm_.q[i]);
      (void)velocity_[i]->set_value(arm_.qd[i]);
      (void)effort_[i]->set_value(tau_[i]);
    }
    return return_type::OK;
  }

  return_type write(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    for (std::size_t i = 0; i < N; ++i) {
      const double command = command_[i]->get_optional().value_or(tau_[i]);
      const double tau = std::isfinite(command) ? command : 0.0;
      tau_[i] = std::clamp(tau, -arm_.effort_limit[i], arm_.effort_limit[i]);
    }
    return return_type::OK;
  }

private:
  Arm arm_;
  Joints tau_ = filled(0.0);
  std::array<hardware_interface::StateInterface::SharedPtr, N> position_, velocity_, effort_;
  std::array<hardware_interface::CommandInterface::SharedPtr, N> command_;
};
}  // namespace @package@

PLUGINLIB_EXPORT_CLASS(@package@::SimulatedArm, hardware_interface::SystemInterface)
