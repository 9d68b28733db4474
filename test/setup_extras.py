# SPDX-License-Identifier: Apache-2.0
"""The extras of setup.py: their names and requirements, as setup() receives them."""

import functools
import os
import runpy
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
# Extras of those who develop the package.
INTERNAL = {'docs', 'test', 'ros-test', 'ros-kilted-test', 'bench', 'mutate'}


@functools.cache
def extras():
    """Return the requirements of each extra by its name."""
    before = os.getcwd()
    os.chdir(ROOT)  # setup.py lists files below the working directory
    try:
        with mock.patch('setuptools.setup') as setup:
            runpy.run_path('setup.py')
    finally:
        os.chdir(before)
    return setup.call_args.kwargs['extras_require']
