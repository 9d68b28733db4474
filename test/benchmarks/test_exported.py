# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

pin = pytest.importorskip('pinocchio')

from benchmarks import exported  # noqa: E402


def test_missing_headers_are_named(monkeypatch, capsys):
    monkeypatch.setattr('sys.argv', ['exported'])
    monkeypatch.setattr(exported, 'COMPILERS', ('true',))
    monkeypatch.setattr(exported, 'EIGEN', ())
    monkeypatch.setattr(pin, '__file__', '/nowhere/pinocchio/__init__.py')
    assert exported.main() == 2
    assert capsys.readouterr().err.startswith(
        'not measured: no header pinocchio/multibody.hpp of Pinocchio'
    )
    monkeypatch.setattr(exported, 'COMPILERS', ('no-compiler',))
    assert exported.main() == 2
    assert 'none of no-compiler is installed' in capsys.readouterr().err


def test_each_ratio_has_its_bound():
    assert exported.verdict('terms', 4.0, 4.0) == ''
    assert exported.verdict('inverse_dynamics', 5.9, 3.9) == 'hot below 6, cold below 4'
    row = exported.Row('ur5', 'terms', 100.0, 2000.0, 3000.0, 15000.0)
    assert row.ratios == (20.0, 5.0)
    cells = exported.shown([row]).splitlines()[-1].split('|')
    assert [cell.strip() for cell in cells[3:9]] == ['100', '2000', '20.0', '3000', '15000', '5.0']


@pytest.mark.slow
def test_arms_are_written_for_both(tmp_path):
    """The model in C++ has the numbers that Pinocchio read."""
    exported.write(tmp_path, ['ur5'])
    text = (tmp_path / 'arms.h').read_text()
    assert text.startswith('#include "ur5.h"\n')
    assert text.endswith('#define ARMS(X) X(ur5)\n')
    assert text.count('m.addJoint(') == 6
    model = pin.buildModelFromXML(exported.find('ur5').urdf)
    for line in [line for line in text.splitlines() if line.startswith('R << ')]:
        values = np.array(line[5:].split(';')[0].split(', '), float).reshape(3, 3)
        assert any(np.array_equal(values, place.rotation) for place in model.jointPlacements)
    for function in exported.WANTED:
        assert f'ur5_{function}(' in (tmp_path / 'ur5.h').read_text()
