# SPDX-License-Identifier: Apache-2.0
"""Files of tests of MJCF."""

import pytest


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write(text, name='robot.xml'):
        file = tmp_path / name
        file.write_text(text)
        return file

    return write
