# SPDX-License-Identifier: Apache-2.0
"""The command line in process."""

import pytest

from robot_dynamics import cli


@pytest.fixture
def run(capsys):
    """Return (exit code, standard output, standard error) of a command."""

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run
