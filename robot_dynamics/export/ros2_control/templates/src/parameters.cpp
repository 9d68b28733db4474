// SPDX-License-Identifier: Apache-2.0
#include "@package@/parameters.hpp"

#include <sstream>
#include <stdexcept>
#include <utility>

namespace @package@
{
namespace
{
constexpr double LARGEST = 1e9, LONGEST_TIME = 86400.0, SMALLEST_SCALE = 1e-3;

// A parameter is rejected, and why.
struct Rejected : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

std::string written(const std::vector<double> & values)
{
  std::ostringstream text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    text << (i == 0 ? "[" : ", ") << values[i];
  }
  text << (values.empty() ? "[]" : "]");
  return text.str();
}

struct Range
{
  double low, high;

  bool holds(double value) const { return value >= low && value <= high; }  // not for NaN
  std::string text() const
  {
    std::ostringstream text;
    text << low << " to " << high;
    return text.str();
  }
};

double number(const Parameters & given, const std::string & name, const Range & range)
{
  const double value = given.at(name).as_double();
  if (!range.holds(value)) {
    throw Rejected(name + " is " + written({value}) + "; expected " + range.text());
  }
  return value;
}

// One number for all joints, or one of each.
Joints per_joint(const Parameters & given, const std::string & name, const Range & range)
{
  const std::vector<double> values = given.at(name).as_double_array();
  if (values.size() != 1 && values.size() != N) {
    throw Rejected(
      name + " has " + std::to_string(values.size()) + " values; expected one, or one for each of " +
      std::to_string(N) + " joints");
  }
  Joints result;
  for (std::size_t i = 0; i < N; ++i) {
    result[i] = values[values.size() == 1 ? 0 : i];
    if (!range.holds(result[i])) {
      throw Rejected(name + " is " + written(values) + "; expected " + range.text());
    }
  }
  return result;
}

template <std::size_t K>
std::array<double, K> vector_of(
  const Parameters & given, const std::string & name, const Range & range)
{
  const std::vector<double> values = given.at(name).as_double_array();
  std::array<double, K> result;
  if (values.size() != K) {
    throw Rejected(name + " is " + written(values) + "; expected " + std::to_string(K) + " values");
  }
  for (std::size_t i = 0; i < K; ++i) {
    result[i] = values[i];
    if (!range.holds(values[i])) {
      throw Rejected(name + " is " + written(values) + "; expected " + range.text());
    }
  }
  return result;
}

template <class Choice>
Choice choice(
  const Parameters & given, const std::string & name, const std::map<std::string, Choice> & known)
{
  const std::string value = given.at(name).as_string();
  const auto found = known.find(value);
  if (found == known.end()) {
    std::string names;
    for (const auto & entry : known) {
      names += (names.empty() ? "" : ", ") + entry.first;
    }
    throw Rejected(name + " is '" + value + "'; expected " + names);
  }
  return found->second;
}

void read_law(const Parameters & given, Settings & s)
{
  const Range gain = {0.0, LARGEST}, time = {0.0, LONGEST_TIME};
  s.law = choice<Law>(
    given, "control_law",
    {{"feedforward", Law::feedforward},
     {"pd_plus", Law::pd_plus},
     {"computed_torque", Law::computed_torque},
     {"joint_impedance", Law::joint_impedance},
     {"gravity_only", Law::gravity_only}});
  s.kp = per_joint(given, "kp", gain);
  s.kd = per_joint(given, "kd", gain);
  s.damping_ratio = per_joint(given, "damping_ratio", {0.0, 10.0});
  s.effort_offset = per_joint(given, "effort_offset", {-LARGEST, LARGEST});
  s.rate_limit = per_joint(given, "max_torque_rate", {-1.0, LARGEST});
  s.start_tolerance = per_joint(given, "start_tolerance", {0.0, 1000.0});
  s.ramp_time = number(given, "ramp_time", time);
  s.input_timeout = number(given, "input_timeout", time);
  s.reference_timeout = number(given, "reference_timeout", time);
  s.gravity = given.at("compensate_gravity").as_bool();
  s.coriolis = given.at("compensate_coriolis").as_bool();
  s.inertia = given.at("compensate_inertia").as_bool();
  s.friction = given.at("compensate_friction").as_bool();
  s.on_deactivate = choice<OnDeactivate>(
    given, "on_deactivate",
    {{"zero", OnDeactivate::zero}, {"gravity", OnDeactivate::gravity},
     {"none", OnDeactivate::none}});
  s.error_on_timeout =
    choice<bool>(given, "on_timeout", {{"gravity", false}, {"error", true}});
}

// torque = effort_scale effort,   |command| <= max_command
void read_drives(const Parameters & given, Settings & s)
{
  s.effort_scale = per_joint(given, "effort_scale", {-1e6, 1e6});
  const bool in_torque =
    choice<bool>(given, "command_unit", {{"effort", false}, {"torque", true}});
  const Joints most = per_joint(given, "max_command", {0.0, LARGEST});
  const double scale = given.at("torque_limit_scale").as_double();
  if (!(scale > 0.0 && scale <= 1.0)) {
    throw Rejected("torque_limit_scale is " + written({scale}) + "; expected above 0, at most 1");
  }
  s.effort_limit = effort_limits();
  for (std::size_t i = 0; i < N; ++i) {
    const double size = std::abs(s.effort_scale[i]);
    if (size < SMALLEST_SCALE) {
      throw Rejected(
        "effort_scale is " + written(given.at("effort_scale").as_double_array()) +
        "; expected values of size 0.001 or more");
    }
    if (!in_torque && size != 1.0 && !(most[i] > 0.0)) {
      throw Rejected(
        "effort_scale is " + written(given.at("effort_scale").as_double_array()) +
        " and max_command is not positive; expected the largest command of each drive in its "
        "unit, or command_unit torque if the drives take N m and report another unit");
    }
    s.command_per_torque[i] = in_torque ? 1.0 : 1.0 / s.effort_scale[i];
    s.effort_limit[i] *= scale;
    if (most[i] > 0.0) {
      s.effort_limit[i] =
        std::min(s.effort_limit[i], most[i] / std::abs(s.command_per_torque[i]));
    }
  }
}

void read_contact(const Parameters & given, Settings & s)
{
  const Range poles = {0.1, 1e5}, factor = {1.0, 1e6};
  s.poles[0] = number(given, "observer.poles", poles);
  s.poles[1] = number(given, "observer.poles_along_momentum", poles);
  s.noise = per_joint(given, "thresholds.noise", {0.0, LARGEST});
  s.noise_per_momentum = per_joint(given, "thresholds.noise_per_momentum", {0.0, LARGEST});
  s.noise_unsettled = per_joint(given, "thresholds.noise_unsettled", {0.0, LARGEST});
  s.level = per_joint(given, "thresholds.level", {0.0, 1e6});
  const Joints margin = per_joint(given, "thresholds.margin", factor);
  for (std::size_t i = 0; i < N; ++i) {
    s.level[i] *= margin[i];
  }
  s.contact_factor = number(given, "detection.contact_factor", factor);
  s.collision_factor = number(given, "detection.collision_factor", factor);
  if (s.collision_factor < s.contact_factor) {
    throw Rejected("detection.collision_factor is below detection.contact_factor");
  }
  s.contact_timeout = number(given, "contact_timeout", {0.05, LONGEST_TIME});
  s.on_collision = choice<OnCollision>(
    given, "on_collision",
    {{"none", OnCollision::none}, {"hold", OnCollision::hold},
     {"gravity_only", OnCollision::gravity_only}});
  s.hold_when_contact_lost =
    choice<bool>(given, "on_contact_lost", {{"warn", false}, {"hold", true}});
  if (s.on_collision == OnCollision::none) {
    return;
  }
  if (!given.at("observer.enabled").as_bool()) {
    throw Rejected("on_collision needs observer.enabled: true");
  }
  if (std::none_of(s.level.begin(), s.level.end(), [](double x) { return x > 0.0; })) {
    throw Rejected(
      "on_collision is set and thresholds.level is 0 for every joint; expected thresholds of free "
      "motion, see robot-dynamics thresholds");
  }
}

// A tensor is that of a body exactly if its second moment, tr(I)/2 1 - I, has no negative
// principal minor.
bool is_inertia(const std::array<double, 6> & I, double mass)
{
  const double half = 0.5 * (I[0] + I[3] + I[5]);
  const double xx = half - I[0], yy = half - I[3], zz = half - I[5];
  const double xy = -I[1], xz = -I[2], yz = -I[4];
  const double slack = 1e-6 * std::abs(half) + 1e-12 * mass;
  const double minors = std::min({xx * yy - xy * xy, yy * zz - yz * yz, xx * zz - xz * xz});
  const double det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
  return std::min({xx, yy, zz}) >= -slack && minors >= -slack * half &&
         det >= -slack * half * half;
}

void read_world(const Parameters & given, World & world)
{
  world.gravity = vector_of<3>(given, "gravity", {-1000.0, 1000.0});
  const double m = number(given, "payload.mass", {0.0, 1e6});
  const auto c = vector_of<3>(given, "payload.com", {-1000.0, 1000.0});
  const auto I = vector_of<6>(given, "payload.inertia", {-LARGEST, LARGEST});
  const bool massless = m == 0.0;
  if (massless && std::any_of(I.begin(), I.end(), [](double x) { return x != 0.0; })) {
    throw Rejected("payload.inertia is " + written({I.begin(), I.end()}) + " without a mass");
  }
  if (!is_inertia(I, m)) {
    throw Rejected(
      "payload.inertia is " + written({I.begin(), I.end()}) +
      "; expected that of a body: principal moments that are not negative, none above the sum of "
      "the others");
  }
  const double x = c[0], y = c[1], z = c[2];
  // About the origin of the link: I - m [c][c]
  world.payload = {
    m, m * x, m * y, m * z,
    I[0] + m * (y * y + z * z), I[1] - m * x * y, I[2] - m * x * z,
    I[3] + m * (x * x + z * z), I[4] - m * y * z, I[5] + m * (x * x + y * y)};
}
}  // namespace

const std::map<std::string, std::vector<double>> LISTS = {
  {"kp", {0.0}},
  {"kd", {0.0}},
  {"damping_ratio", {0.7}},
  {"effort_offset", {0.0}},
  {"max_torque_rate", {-1.0}},
  {"start_tolerance", {0.1}},
  {"effort_scale", {1.0}},
  {"max_command", {0.0}},
  {"thresholds.noise", {0.0}},
  {"thresholds.noise_per_momentum", {0.0}},
  {"thresholds.noise_unsettled", {0.0}},
  {"thresholds.level", {0.0}},
  {"thresholds.margin", {1.0}}};

const std::map<std::string, double> NUMBERS = {
  {"ramp_time", 0.05},
  {"input_timeout", 0.05},
  {"reference_timeout", 0.1},
  {"torque_limit_scale", 1.0},
  {"payload.mass", 0.0},
  {"observer.poles", 150.0},
  {"observer.poles_along_momentum", 150.0},
  {"detection.contact_factor", 1.5},
  {"detection.collision_factor", 3.0},
  {"contact_timeout", 0.5}};

const std::map<std::string, bool> SWITCHES = {
  {"compensate_gravity", true},
  {"compensate_coriolis", true},
  {"compensate_inertia", true},
  {"compensate_friction", true},
  {"observer.enabled", false},
  {"thresholds.forced", false}};

const std::map<std::string, std::string> CHOICES = {
  {"control_law", "feedforward"},
  {"command_unit", "effort"},
  {"on_deactivate", "gravity"},
  {"on_timeout", "gravity"},
  {"on_collision", "none"},
  {"on_contact_lost", "warn"}};

std::map<std::string, std::vector<double>> vectors()
{
  const World world;
  return {
    {"gravity", {world.gravity.begin(), world.gravity.end()}},
    {"payload.com", std::vector<double>(3, 0.0)},
    {"payload.inertia", std::vector<double>(6, 0.0)}};
}

const std::vector<std::string> REFERENCE_TYPES = {
  "position", "velocity", "acceleration", "effort"};

std::string read_parameters(const Parameters & given, Settings & settings, World & world)
{
  try {
    read_law(given, settings);
    read_drives(given, settings);
    read_contact(given, settings);
    read_world(given, world);
  } catch (const std::runtime_error & reason) {  // also of another type
    return reason.what();
  }
  return "";
}

std::string read_interfaces(
  const Parameters & given, std::vector<std::size_t> & reference_types, bool & observe)
{
  observe = given.at("observer.enabled").as_bool();
  reference_types.clear();
  for (const std::string & type : given.at("reference_interfaces").as_string_array()) {
    const auto found = std::find(REFERENCE_TYPES.begin(), REFERENCE_TYPES.end(), type);
    const auto index = static_cast<std::size_t>(found - REFERENCE_TYPES.begin());
    const auto before = std::find(reference_types.begin(), reference_types.end(), index);
    if (found == REFERENCE_TYPES.end() || before != reference_types.end()) {
      return "reference_interfaces has '" + type +
             "'; expected position, velocity, acceleration and effort, each once at most";
    }
    reference_types.push_back(index);
  }
  return reference_types.empty() ? "reference_interfaces is empty; expected one or more" : "";
}
}  // namespace @package@
