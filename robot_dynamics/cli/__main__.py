# SPDX-License-Identifier: Apache-2.0
"""`python -m robot_dynamics.cli` is the command `robot-dynamics`."""

import sys

from robot_dynamics.cli import main

if __name__ == '__main__':
    sys.exit(main())
