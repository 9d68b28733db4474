# SPDX-License-Identifier: Apache-2.0
"""Diagnosis of differing torques: each mistake is made on purpose and must be named."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import robots
from tiers import slow, soak

from robot_dynamics.core.model.states import States, position_range, random_states
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.validation.diagnosis import likely_cause
from robot_dynamics.validation.kinematic_mistakes import joint_of
from robot_dynamics.validation.mistakes import independent, torques

# The least share of the single mistakes that is certain from distinct states.
CERTAIN = {'double_pendulum': 0.8, 'ur5': 0.8, 'talos_left_arm': 0.9, 'arm': 0.5}
ARM = (Path(__file__).parent / 'arm.urdf').read_text()


@pytest.fixture(scope='module')
def panda():
    return robots.load('panda')


@pytest.fixture(scope='module')
def arm():
    return parse_urdf(ARM)


def states_of(model, count=12, seed=0):
    return random_states(model, count, np.random.default_rng(seed))


def cause(model, reporting, count=12):
    """Return the cause found if the torques are those of another robot."""
    states = states_of(model, count)
    return found_in(model, states, torques(reporting, states))


def found_in(model, states, reported):
    """Return the text of the cause, after 'ambiguous: ' if it is not certain."""
    found = likely_cause(model, states, reported)
    if found is None:
        return ''
    return found.text if found.certain else f'ambiguous: {found.text}'


def test_no_difference_has_no_cause(panda):
    assert cause(panda, panda) == ''


def test_noise_has_no_cause(panda):
    states = states_of(panda)
    reported = torques(panda, states) + np.random.default_rng(1).normal(size=states.q.shape)
    assert found_in(panda, states, reported) == ''


def test_a_single_state_is_ambiguous(panda):
    # Any torques of one state are ours times a factor per joint.
    states = states_of(panda, count=1)
    reported = torques(panda, states) + np.random.default_rng(1).normal(size=states.q.shape)
    assert found_in(panda, states, reported).startswith('ambiguous: torques multiplied, or ')


@pytest.mark.parametrize('gravity', [(0, 0, 9.81), (0, 0, 0), (0, 0, -9.80665), (3, -4, -8)])
def test_wrong_gravity_is_named(panda, gravity):
    found = cause(panda, panda.with_gravity(gravity), count=3)
    shown = ', '.join(f'{float(f"{g:.4g}"):g}' for g in gravity)
    assert found == f'gravity ({shown}) m/s^2 instead of (0, 0, -9.81)'


def test_joints_in_another_order(panda):
    states = states_of(panda)
    # Two cycles of three joints: not its own inverse.
    order = [1, 2, 0, 3, 6, 4, 5, *range(7, panda.n)]
    names = ', '.join(panda.joint_names[j] for j in order)
    found = likely_cause(panda, states, torques(panda, states)[:, order])
    assert found.certain
    assert found.text == f'the joints in another order ({names})'
    others = states_of(panda, 5, seed=3)
    assert np.array_equal(found.torques(others), torques(panda, others)[:, order])


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        (lambda tau, s: -tau, 'torques multiplied by -1'),
        (lambda tau, s: tau / 100, 'torques multiplied by 0.01'),
        (lambda tau, s: tau + 0.5, 'a constant torque added, 0.5 N m or N'),
        (lambda tau, s: tau + 0.3 * s.qdd, 'rotor inertia added, 0.3 kg m^2 or kg'),
        (
            lambda tau, s: tau + 0.4 * s.qd + 0.7 * np.sign(s.qd),
            'friction added, viscous 0.4 N m s/rad or N s/m, dry 0.7 N m or N',
        ),
    ],
)
def test_mistakes_per_joint_are_named(panda, change, text):
    states = states_of(panda)
    assert found_in(panda, states, change(torques(panda, states), states)) == text


def test_one_joint_of_the_opposite_sign(panda):
    states = states_of(panda)
    signs = np.ones(panda.n)
    signs[2] = -1
    found = found_in(panda, states, signs * torques(panda, states))
    assert found.startswith('torques multiplied by (1, 1, -1, 1, 1')


def test_an_unknown_payload_is_named(panda):
    link = panda.body_names[4]
    found = cause(panda, panda.with_payload(link, 1.2, (0.0, 0.1, 0.05)))
    before = panda.mass[4]
    assert found.startswith(
        f'another link {link!r}: {before + 1.2:.6g} kg instead of {before:.6g} kg, centre ('
    )
    # centre of mass of payload and link
    centre = (panda.com[4] * before + 1.2 * np.array([0.0, 0.1, 0.05])) / (before + 1.2)
    for value in centre:
        assert f'{float(f"{value:.4g}"):g}' in found


def test_a_link_without_inertia_is_named(panda):
    mass, com, tensor = panda.mass.copy(), panda.com.copy(), panda.inertia_com.copy()
    mass[4], com[4], tensor[4] = 0.0, 0.0, 0.0
    lost = replace(panda, mass=mass, com=com, inertia_com=tensor)
    assert cause(panda, lost) == (
        f'another link {panda.body_names[4]!r}: without its {panda.mass[4]:.6g} kg'
    )


def test_a_mass_that_torques_do_not_determine_is_not_given(arm):
    """About a fixed axis, torques determine neither the mass nor which of two links it is."""
    mass = arm.mass.copy()
    mass[0] *= 1.5
    found = cause(arm, replace(arm, mass=mass))
    assert found.startswith(
        "ambiguous: another link 'upper': its mass or its centre of mass, or another link 'fore'"
    )


def test_tensors_of_one_link_and_of_all(panda):
    tensor = panda.inertia_com.copy()
    tensor[3] = tensor[3] + np.diag([0.1, 0.2, 0.15])
    found = cause(panda, replace(panda, inertia_com=tensor))
    assert found == f'another inertia tensor of link {panda.body_names[3]!r}'
    # as PyBullet does without URDF_USE_INERTIA_FROM_FILE
    shapes = np.random.default_rng(2).uniform(0.01, 0.1, (panda.nb, 3))
    boxes = replace(panda, inertia_com=[np.diag(row) for row in shapes])
    assert 'as where tensors come from collision shapes' in cause(panda, boxes)


# -- every single mistake, on several robots ------------------------------------------------------


def smooth_states(model, dt, count=12):
    """Return neighbouring states of a slow sinusoidal motion within the limits."""
    rng = np.random.default_rng(1)
    lower, upper = position_range(model)
    w, phase = rng.uniform(0.15, 0.45, model.n), rng.uniform(0, 6, model.n)
    angle = w * dt * np.arange(count)[:, None] + phase
    amplitude = 0.4 * (upper - lower)
    return States(
        (lower + upper) / 2 + amplitude * np.sin(angle),
        amplitude * w * np.cos(angle),
        -amplitude * w**2 * np.sin(angle),
    )


def single_mistakes(model, rng):
    """Yield (text of the cause, torques of states) of each mistake, at one body or joint each."""

    def robot(**changed):
        other = replace(model, **changed)
        return lambda states: torques(other, states)

    def at(values, i, value):
        array = np.array(values)
        array[i] = value
        return array

    yield 'gravity (0, 0, 9.81)', robot(gravity=-model.gravity)
    yield 'gravity (', robot(gravity=[1.5, -0.7, -9.6])
    cycle = [1, 2, 0, *range(3, model.n)] if model.n > 2 else [1, 0]
    yield 'the joints in another order', lambda states: torques(model, states)[:, cycle]
    signs = at(np.ones(model.n), rng.integers(model.n), -1.0)
    yield 'torques multiplied by (', lambda states: torques(model, states) * signs
    viscous, dry = rng.uniform(0.1, 0.5, (2, model.n))
    yield (
        'friction added, viscous (',
        lambda states: torques(model, states) + viscous * states.qd + dry * np.sign(states.qd),
    )
    alone = at(np.zeros(model.n), rng.integers(model.n), 0.3)
    yield 'friction added, viscous (', lambda states: torques(model, states) + alone * states.qd
    for i in range(model.nb) if model.nb < 5 else (0, 2, model.nb - 2, model.nb - 1):
        link, joint = f'link {model.body_names[i]!r}', joint_of(model, i)
        I_com, T = model.inertia_com[i], model.placement[i].copy()
        A = rng.normal(size=(3, 3))
        T[:3, 3] += 0.05 * rng.normal(size=3)
        yield link, robot(mass=at(model.mass, i, 1.3 * model.mass[i]))
        yield link, robot(com=at(model.com, i, model.com[i] + 0.03 * rng.normal(size=3)))
        loaded = model.with_payload(model.body_names[i], 1.0, (0.02, 0.05, 0.07))
        yield link, lambda states, loaded=loaded: torques(loaded, states)
        yield f'tensor of {link}', robot(inertia_com=at(model.inertia_com, i, I_com + A @ A.T / 9))
        yield f'a reversed axis of {joint}', robot(axis=at(model.axis, i, -model.axis[i]))
        yield f'a shifted origin of {joint}', robot(placement=at(model.placement, i, T))


def asymmetric(name):
    """Return a real robot with centres of mass off the axes, so that all mistakes differ."""
    if name == 'arm':
        return parse_urdf(ARM)
    model = robots.load(name)
    return replace(model, com=model.com + np.random.default_rng(4).normal(0, 0.02, (model.nb, 3)))


@pytest.mark.parametrize('name', ['double_pendulum', *soak(['ur5', 'talos_left_arm', 'arm'])])
def test_distinct_states_identify_each_single_mistake(name):
    model = asymmetric(name)
    states = states_of(model)
    certain = total = 0
    for text, reported in single_mistakes(model, np.random.default_rng(5)):
        tau = reported(states)
        if np.abs(tau - torques(model, states)).max() < 1e-9:
            continue  # without an effect, as the place of a link on the base
        found = likely_cause(model, states, tau)
        assert found is not None, text
        # Two mistakes with the same torques in all states are ambiguous: both are listed.
        assert text in found.text or (not found.certain and 'others' in found.text), found
        certain += found.certain
        total += 1
        if found.certain:
            others = states_of(model, 3, seed=9)
            expected = reported(others)
            assert np.abs(found.torques(others) - expected).max() < 1e-3 * np.abs(expected).max()
    assert certain >= CERTAIN[name] * total, (certain, total)


@pytest.mark.parametrize(
    ('name', 'dt'),
    [
        ('double_pendulum', 0.1),
        pytest.param('ur5', 0.01, marks=pytest.mark.slow),
        pytest.param('talos_left_arm', 0.1, marks=pytest.mark.soak),
        pytest.param('arm', 0.01, marks=pytest.mark.soak),
    ],
)
def test_neighbouring_states_never_give_a_wrong_certain_cause(name, dt):
    model = asymmetric(name)
    states = smooth_states(model, dt)
    assert independent(states) <= 5
    for text, reported in single_mistakes(model, np.random.default_rng(5)):
        tau = reported(states)
        if np.abs(tau - torques(model, states)).max() < 1e-9:
            continue
        found = likely_cause(model, states, tau)
        assert found is not None, text
        assert text in found.text or not found.certain, (text, found)


def test_a_fit_of_all_tensors_to_neighbouring_states_is_not_certain():
    """Many unknowns fit the torques of neighbouring states, for any mistake."""
    model = asymmetric('ur5')
    states = smooth_states(model, 0.01)
    other = replace(model, axis=model.axis * [[1], [1], [-1], [1], [1], [1]])
    found = likely_cause(model, states, torques(other, states))
    assert 'tensors' not in found.text or not found.certain


def test_only_independent_states_count():
    model = robots.load('ur5')
    states = states_of(model)
    assert independent(states) == 12
    same = States(*(np.repeat(rows[:1], 12, axis=0) for rows in states))
    assert independent(same) == 1
    assert independent(smooth_states(model, 0.001)) == 2


def test_a_cause_does_not_explain_another_mistake(panda):
    states, others = states_of(panda), states_of(panda, 4, seed=8)
    wrong = panda.with_gravity((0, 0, 9.81))
    found = likely_cause(panda, states, torques(wrong, states))
    assert found.explains(others, torques(wrong, others))
    assert not found.explains(others, torques(panda.with_gravity((0, 9.81, 0)), others))


@pytest.mark.parametrize('link', [*slow(['arm_4_link']), *soak(['head_2_link'])])
def test_a_shifted_origin_on_a_branch_is_named(link):
    model = robots.load('tiago')
    states = states_of(model)
    placement = model.placement.copy()
    i = model.body_names.index(link)
    placement[i, :3, 3] += [0.03, -0.02, 0.05]
    found = likely_cause(model, states, torques(replace(model, placement=placement), states))
    assert f'a shifted origin of {joint_of(model, i)}' in found.text


def test_a_shifted_origin_is_named_with_its_shift():
    model = asymmetric('ur5')
    placement = model.placement.copy()
    placement[3, :3, 3] += [0.03, -0.02, 0.05]
    found = cause(model, replace(model, placement=placement))
    assert found == (
        f'a shifted origin of {joint_of(model, 3)}, by (0.03, -0.02, 0.05) m in its parent link'
    )


def test_mimic_joints_at_rest_are_named(arm):
    S = arm.S.copy()
    S[arm.body_names.index('thumb')] = 0.0
    found = cause(arm, replace(arm, S=S))
    assert found == "mimic joints at rest: the joint of link 'thumb'"


@pytest.mark.slow
def test_tensors_in_other_axes_are_named_as_tensors():
    """A reader that omits the rpy of <inertial> changes the tensors of many links."""
    model = robots.load('tiago')
    turned = [R @ I @ R.T for R, I in zip(rotations(model.nb), model.inertia_com, strict=True)]
    found = cause(model, replace(model, inertia_com=turned))
    assert 'other inertia tensors with the same masses and centres of mass' in found


def rotations(count):
    rng = np.random.default_rng(6)
    return [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(count)]


def test_an_undetermined_component_of_gravity_is_not_given():
    model = robots.load('double_pendulum')
    states = states_of(model)
    found = found_in(model, states, torques(model.with_gravity([1.5, -0.7, -9.6]), states))
    assert found == (
        'gravity (0, -0.7, -9.6) m/s^2 instead of (0, 0, -9.81), as far as these torques depend '
        'on it'
    )
