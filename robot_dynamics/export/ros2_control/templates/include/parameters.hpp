// SPDX-License-Identifier: Apache-2.0
// Parameters of the controller: their defaults, their checks, and what follows from them.
#ifndef @PACKAGE@__PARAMETERS_HPP_
#define @PACKAGE@__PARAMETERS_HPP_

#include <map>
#include <string>
#include <vector>

#include "@package@/contact.hpp"
#include "rclcpp/rclcpp.hpp"

namespace @package@
{
using Parameters = std::map<std::string, rclcpp::Parameter>;

// Defaults by type, in which the parameters are declared.
extern const std::map<std::string, std::vector<double>> LISTS;  // one number, or one per joint
extern const std::map<std::string, double> NUMBERS;
extern const std::map<std::string, bool> SWITCHES;
extern const std::map<std::string, std::string> CHOICES;
std::map<std::string, std::vector<double>> vectors();  // of a fixed size

// Position, velocity, acceleration, effort: the order of the references.
extern const std::vector<std::string> REFERENCE_TYPES;

// Read all parameters; return why they are rejected, or "".
std::string read_parameters(const Parameters & given, Settings & settings, World & world);

// Read the parameters that stay until the controller is configured again; likewise.
std::string read_interfaces(
  const Parameters & given, std::vector<std::size_t> & reference_types, bool & observe);
}  // namespace @package@
#endif  // @PACKAGE@__PARAMETERS_HPP_
