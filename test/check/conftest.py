# SPDX-License-Identifier: Apache-2.0
"""The robots and faults of these tests are importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
