# SPDX-License-Identifier: Apache-2.0
"""What all tests of compiling share."""

from compiling import *  # noqa: F403  (fixtures)
