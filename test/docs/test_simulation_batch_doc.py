# SPDX-License-Identifier: Apache-2.0
"""docs/guides/simulation_batch.md: its example runs and gives the values in its comments."""

import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = ROOT / 'docs' / 'guides' / 'simulation_batch.md'


@pytest.mark.slow
def test_the_example_prints_the_values_of_the_page(monkeypatch):
    monkeypatch.chdir(ROOT)
    code = re.findall(r'```python\n(.*?)```', FILE.read_text(encoding='utf-8'), re.DOTALL)[0]
    *lines, last = code.strip().splitlines()
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        exec('\n'.join(lines), names)
    found, said = last.split('#')
    assert eval(found, names) == eval(said)
