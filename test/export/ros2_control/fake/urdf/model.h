// SPDX-License-Identifier: Apache-2.0
#include "fake_ros2_control.hpp"
