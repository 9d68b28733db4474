# SPDX-License-Identifier: Apache-2.0
"""The demonstration of touch: its motion and pushes, its verdict, and its files."""

import json
import re
import time
import urllib.request

import numpy as np
import pytest

from robot_dynamics.cli import main
from robot_dynamics.cli.demo_touch import (
    APPROACH,
    CENTRE,
    END,
    GRASP,
    LEARNING,
    PUSHES,
    RETREAT,
    STEP,
    TOOL,
    TOUCHES,
    Demonstration,
    Row,
    pushes_at,
    summarize,
)
from robot_dynamics.cli.demo_touch_view import TouchSource, shown
from robot_dynamics.common.reporting.json_files import write_json
from robot_dynamics.common.resources import share_file
from robot_dynamics.control.joint_reading import JointReading

Q = np.full(7, 0.3)


@pytest.fixture(scope='module')
def demonstration():
    return Demonstration(share_file('config/realistic_panda.yaml'))


def test_the_velocity_of_the_path_is_the_rate_of_its_pose(demonstration):
    d = 1e-5
    for t in (0.7, 1.9, 11.0, LEARNING + APPROACH + 0.8, LEARNING + RETREAT + 1.3):
        before, now, after = (demonstration.target(t + s) for s in (-d, 0, d))
        R = now.pose[:3, :3]
        rate = (after.pose - before.pose) / (2 * d)
        np.testing.assert_allclose(now.velocity[3:], rate[:3, 3], atol=1e-8)
        # dR/dt R^T = [w]
        W = rate[:3, :3] @ R.T
        np.testing.assert_allclose(now.velocity[:3], [W[2, 1], W[0, 2], W[1, 0]], atol=1e-8)


def test_pushes_are_half_sines_of_the_stated_force():
    for start, length, link, force in PUSHES.values():
        assert np.linalg.norm(force) == pytest.approx(
            20.0 if link == 'panda_link4' else 15.0, 0.01
        )
        F = np.array([pushes_at(start + s * length)[link] for s in (0.0, 0.25, 0.5)])
        np.testing.assert_allclose(F[:, 3:], np.outer([0, np.sqrt(0.5), 1], force), atol=1e-9)
        assert not F[:, :3].any()
        assert pushes_at(start - STEP) == pushes_at(start + length + STEP) == {}


def felt(change=lambda t, kind: kind):
    """Return the samples of an arm that feels every contact 20 ms late."""
    rows = []
    for t in np.arange(0, END, 0.01):
        touch = next((one for one in TOUCHES if one.start <= t < one.end), None)
        force = np.zeros(3) if touch is None else np.array([0.0, 0.0, -9.0])
        late = touch is not None and t >= touch.start + 0.02
        kind = 'none'
        if late:
            kind = 'payload' if touch.start == GRASP else 'contact'
        mass = 1.02 if kind == 'payload' else np.nan
        torque = np.append(force, np.zeros(4))
        wrench, reading = np.append(np.zeros(3), force), JointReading(0, Q, None, None)
        rows.append(
            Row(
                *(t, change(t, kind), mass, torque, torque),
                *(force, force, np.zeros(3), wrench, reading),
            )
        )
    return rows


def test_an_arm_that_feels_everything_passes():
    figures = summarize(felt())
    assert (figures['verdict'], figures['false_contacts']) == ('PASS', 0)
    assert all(abs(one['found_after_s'] - 0.02) < 1e-6 for one in figures['touches'])


@pytest.mark.parametrize(
    ('change', 'failed'),
    [
        (lambda t, kind: 'contact' if 1 < t < 1.1 else kind, ['free motion']),
        (lambda t, kind: 'none' if t < 3.2 else kind, ['push at link 4']),
        (lambda _, kind: kind.replace('payload', 'contact'), ['payload']),
        (lambda t, kind: 'payload' if 6.1 < t < 6.3 else kind, ['push at link 6']),
        (lambda t, kind: 'none' if t > 15 else kind, ['wall']),
    ],
    ids=['false contact', 'late', 'payload not named', 'push named payload', 'wall not felt'],
)
def test_an_arm_that_feels_something_else_fails(change, failed, tmp_path):
    figures = summarize(felt(change))
    assert (figures['verdict'], figures['failed']) == ('FAIL', failed)
    # A contact that was not found has no delay; JSON has null there.
    write_json(tmp_path / 'figures.json', figures)


@pytest.mark.parametrize('option', [('--robot', 'planar_2r'), ('--duration', '3')])
def test_options_of_the_other_demonstration_are_rejected(option, capsys):
    assert main(['demo', '--touch', *option]) != 0
    assert '--touch takes no --robot, --duration, ' in capsys.readouterr().err


def test_a_view_of_another_demonstration_is_rejected(capsys):
    assert main(['demo', '--view']) != 0
    assert '--view shows --touch only' in capsys.readouterr().err


def test_samples_are_shown_at_their_times_with_the_true_force_beside(demonstration, monkeypatch):
    now, slept = [100.0], []

    def sleep(seconds):
        now[0] += seconds
        slept.append(seconds)

    monkeypatch.setattr(time, 'monotonic', lambda: now[0])
    monkeypatch.setattr(time, 'sleep', sleep)
    source, seen, calls = TouchSource(demonstration.model), {}, []
    assert source.external() == (None, None)
    assert source.newest() is source.payload() is None
    source.follow((), lambda: calls.append(1), print)
    for row in felt():
        source.show(row)
        assert source.newest() is row.reading
        seen[row.t] = source.external()
        now[0] += 1.0 * (row.t == 5.0)  # the computer is late once, and does not hurry after it
    assert now[0] == pytest.approx(100.0 + END + 1.0, abs=0.05)
    assert max(slept) < 0.05
    assert len(calls) == len(seen)
    for start, length, link, force in PUSHES.values():
        estimated, true = seen[min(seen, key=lambda t: abs(t - start - length / 2))]
        R = demonstration.model.forward_kinematics(Q, link)[:3, :3]
        np.testing.assert_allclose(R @ true.wrench[3:], force, rtol=0.01, atol=1e-9)
        assert (true.frame, true.text.split()[0]) == (link, 'push')
        assert (estimated.frame, estimated.text) == (TOOL, 'contact')
    estimated, true = seen[min(seen, key=lambda t: abs(t - GRASP - 1.0))]
    assert (estimated.text, true.text, true.frame) == ('payload, 1.02 kg', 'payload', TOOL)
    # The wrench at the flange exerts the torques of the weight at the payload's centre.
    T = demonstration.model.forward_kinematics(Q, TOOL)
    lever = T[:3, :3] @ CENTRE
    np.testing.assert_allclose(
        T[:3, :3] @ true.wrench[:3], np.cross(lever, [0.0, 0.0, -9.0]), atol=1e-12
    )
    estimated, true = seen[0.0]
    assert (estimated.text, true.text) == ('none', 'none')
    # From the beginning again
    source.show(felt()[0])
    assert source.external()[1].text == 'none'
    assert max(slept) < 0.05


def test_the_page_is_served_as_long_as_the_demonstration_runs(demonstration, capsys):
    pytest.importorskip('viser')
    with shown(demonstration.model, 0) as source:
        url = re.search(r'http://\S+', capsys.readouterr().out).group()
        source.show(felt()[0])
        with urllib.request.urlopen(url, timeout=10) as answer:
            assert answer.status == 200
    with pytest.raises(OSError):
        urllib.request.urlopen(url, timeout=10)


@pytest.mark.slow
def test_the_demonstration_passes_and_writes_what_it_felt(tmp_path, capsys):
    files = tmp_path / 'figures.json', tmp_path / 'touch.png'
    assert main(['demo', '--touch', '--json', str(files[0]), '--picture', str(files[1])]) == 0
    figures = json.loads(files[0].read_text())
    assert set(figures) == {
        *('robot', 'learned_s', 'simulated_s', 'false_contacts', 'free_motion_s'),
        *('rms_error_free_m', 'touches', 'failed', 'verdict'),
    }
    assert figures['verdict'] == 'PASS'
    assert figures['free_motion_s'] > 10
    assert figures['rms_error_free_m'] < 1.5e-3
    touches = {one['name']: one for one in figures['touches']}
    assert [*touches] == [*PUSHES, 'payload', 'wall']
    for one in touches.values():
        wanted = max(0.5, 0.3 * abs(one['true_torque_nm']))
        assert one['estimated_torque_nm'] == pytest.approx(one['true_torque_nm'], abs=wanted)
    wall = touches['wall']
    assert np.linalg.norm(wall['true_force_n']) > 5
    assert np.linalg.norm(np.subtract(wall['true_force_n'], wall['estimated_force_n'])) < 3
    assert touches['payload']['mass_kg'] == pytest.approx(1.0, abs=0.15)
    assert files[1].stat().st_size > 10_000
    assert 'PASS' in capsys.readouterr().out
