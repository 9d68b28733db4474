# SPDX-License-Identifier: Apache-2.0
"""Choice of friction by residuals held out: the law of the recording, never one without need."""

import argparse
import time

import numpy as np
import pytest
from arms_to_identify import load_memory, recorded, wrong
from tiers import slow, soak

from robot_dynamics.cli.identify import add_identify_options
from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.estimation.estimation import identify
from robot_dynamics.identification.estimation.friction_choice import AUTO, CHOICES
from robot_dynamics.identification.estimation.identification_report import remarks
from robot_dynamics.urdf.loading import load_urdf

ELBOW = load_urdf(share_file('urdf/planar_2r.urdf'))


def mirrored(one, side):
    """Return the recording with all positions, velocities and efforts times a sign."""
    from dataclasses import replace

    return replace(one, q=side * one.q, qd=side * one.qd, effort=side * one.effort)


def test_the_law_is_chosen_unless_it_is_given():
    friction = load_memory([0.4, 0.4], [0.5, 0.5], [0.2, 0.2])
    one = recorded(wrong(ELBOW), duration=16.0, rate=200.0, friction=friction, noise=0.003)
    found, given = (
        identify(Dynamics(ELBOW), one, cutoff=8.0, **options).friction
        for options in ({}, {'friction': 'coulomb'})
    )
    assert found.law.name == 'load_memory'
    assert [*found.held_out] == [*CHOICES]
    assert given.law.name == 'coulomb'
    parser = argparse.ArgumentParser()
    add_identify_options(parser)
    assert parser.parse_args(['run']).friction == AUTO


@pytest.mark.slow
def test_the_choice_takes_at_most_three_times_as_long():
    panda = load_urdf(share_file('urdf/panda.urdf'), tip_link='panda_link8')
    friction = load_memory([2.0] * 7, [1.5] * 7, [0.05] * 7)
    arm, one = Dynamics(panda), recorded(wrong(panda), rate=1000.0, friction=friction)
    identify(arm, one, friction='coulomb')  # compiles

    def seconds(law):
        start = time.process_time()
        identify(arm, one, friction=law)
        return time.process_time() - start

    assert seconds(AUTO) < 3 * seconds('coulomb')


@pytest.mark.slow
@pytest.mark.parametrize('efforts', ['torques', 'currents'])
@pytest.mark.parametrize('seed', [1, *soak([2, 3])])
def test_coulomb_friction_is_not_taken_for_another_law(seed, efforts):
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3), seed)
    found = identify(Dynamics(ELBOW), one, friction='auto', efforts=efforts)
    assert found.friction.law.name == 'coulomb'
    assert found.friction.held_out['coulomb'] == 1.0
    assert min(found.friction.held_out.values()) > 0.97


@pytest.mark.slow
@pytest.mark.parametrize('side', [1.0, *soak([-1.0])])
@pytest.mark.parametrize('lengths', [(3e-4, 3e-3), *soak([(3e-3, 3e-4)])])
def test_law_and_lengths_are_those_of_the_recording(lengths, side):
    friction = load_memory([0.4, 0.4], [0.5, 0.5], [0.2, 0.2], lengths)
    weightless = Dynamics(ELBOW).with_gravity(np.zeros(3))  # the same arm, mirrored
    true = wrong(ELBOW)
    one = recorded(true.with_gravity(np.zeros(3)), friction=friction, noise=0.003)
    found = identify(weightless, mirrored(one, side), friction='auto')
    assert found.friction.law.name == 'load_memory'
    assert found.friction.presliding == pytest.approx(lengths)
    z = (found.friction.coefficients - np.array([[0.4, 0.5, 0.2]] * 2)) / found.friction.error
    assert np.abs(z).max() < 4


def with_stops(period, number, rate=200.0):
    """Return t, q, qd, qdd of a motion that rests for a quarter of each of its periods [s]."""
    t = np.arange(round(number * period * rate)) / rate
    moving = np.minimum(t % period, 0.75 * period)
    w = 2 * np.pi / (0.75 * period)
    # The way along the path begins and ends each time at rest.
    s = 0.75 * period * (t // period) + moving - np.sin(w * moving) / w
    q = np.column_stack([np.sin(0.9 * s), np.cos(1.3 * s)])
    qd = np.gradient(q, t, axis=0)
    return t, q, qd, np.gradient(qd, t, axis=0)


@pytest.mark.parametrize('law', ['coulomb_memory', *slow(['coulomb'])])
def test_friction_at_standstill_is_hardly_tested_without_stops(law):
    friction = load_memory([0.4, 0.4], [0.5, 0.5], [0.0, 0.0])
    seen = []
    for motion in (with_stops(4.0, 4), None):
        one = recorded(
            wrong(ELBOW), duration=16.0, rate=200.0, motion=motion, friction=friction, noise=0.003
        )
        found = identify(Dynamics(ELBOW), one, friction=law, cutoff=8.0, delay=0.0)
        seen.append(any('friction at standstill' in line for line in remarks(found)))
    assert seen == [False, law == 'coulomb_memory']
