# SPDX-License-Identifier: Apache-2.0
"""Controls of the page, without a browser: what they do is done to their handles."""

import contextlib
import itertools
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from shown_page import ShownPage

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import rotation_x
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.kinematics import frame_pose
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.urdf.loading import load_urdf, urdf_text
from robot_dynamics.view.drawing import LAYERS, wxyz
from robot_dynamics.view.joint_controls import JointControls
from robot_dynamics.view.link_shapes import shapes_of
from robot_dynamics.view.live_controls import LiveControls
from robot_dynamics.view.page import EDITING, REPORTED, code
from robot_dynamics.view.state import External, ViewState
from robot_dynamics.view.update_loop import PERIOD, add_shapes
from robot_dynamics.view.viewed_motion import Fall, Follow

pytest.importorskip('viser')

SET_POSTURE = ''  # the label of the group of one button


def page_of(model, controls=None):
    """Return the page of a model, by default with the controls of its joints."""
    page = ShownPage(model, controls or JointControls())
    page.show()
    return page


@pytest.fixture(scope='module')
def shown():
    shown = page_of(load_urdf('panda'))
    yield shown
    shown.server.stop()


@pytest.fixture(autouse=True)
def start_again(shown):
    shown.session.start(None)
    shown.session.update(lambda state: ViewState.initial(state.model))
    shown.page.report('')
    shown.page.show(*shown.session.scene())


def test_a_slider_moves_its_joint(shown):
    (slider, speed, _) = shown.control('panda_joint4')
    shown.set(slider, -1.25)
    shown.set(speed, 0.5)
    assert shown.session.state.q[3] == -1.25
    assert shown.session.state.qd[3] == 0.5
    assert shown.error == ''


def test_a_position_beyond_a_limit_is_reported_and_the_slider_restored(shown, capsys):
    slider = shown.control('panda_joint4')[0]
    before = slider.value
    shown.set(slider, 5.0)
    message = "joint 'panda_joint4': position is 5; expected -3.0718 to -0.0698"
    assert message in capsys.readouterr().err
    assert message in shown.error
    assert slider.value == before
    shown.set(slider, -1.0)
    assert shown.error == ''


def shown_is_computed(shown):
    """Check that the torques are those of the payload and the motion that the sliders show."""
    state, scene = shown.session.scene()
    (mass,), com = shown.control('mass [kg]'), [shown.control(f'{x} [m]')[0] for x in 'xyz']
    shown_load = (mass.value, *(slider.value for slider in com))
    names = state.model.joint_names
    motion = np.array([[slider.value for slider in shown.control(name)] for name in names]).T
    for slider in (mass, *com, *(s for name in names for s in shown.control(name))):
        assert slider.min <= slider.value <= slider.max
    np.testing.assert_allclose(motion, [state.q, state.qd, state.qdd], rtol=0, atol=1e-4)
    np.testing.assert_allclose(shown_load, [state.load.mass, *state.load.com], rtol=0, atol=1e-4)
    arm = Dynamics(state.model.with_payload(state.load.link, mass.value, shown_load[1:]))
    g = arm.gravity_torque(motion[0])
    np.testing.assert_allclose(scene.torques.gravity, g, rtol=0, atol=2e-4 * (1 + abs(g).max()))


@pytest.mark.parametrize(
    ('label', 'value', 'message'),
    [
        ('mass [kg]', 100.0, 'payload: mass [kg] is 100; expected 0 to 10'),
        ('mass [kg]', -0.1, 'payload: mass [kg] is -0.1; expected 0 to 10'),
        ('mass [kg]', float('nan'), 'payload: mass [kg] is nan; expected 0 to 10'),
        *(
            (f'{axis} [m]', value, f'centre of mass {axis} [m] is {value:g}; expected -0.2095 to')
            for axis in 'xyz'
            for value in (1.5, -1.5)
        ),
    ],
)
def test_a_payload_beyond_a_slider_is_rejected_as_a_position_is(shown, label, value, message):
    shown.set(shown.control('mass [kg]')[0], 10.0)
    shown.set(shown.control('z [m]')[0], 0.2095)
    shown_is_computed(shown)
    (slider,) = shown.control(label)
    before = slider.value
    shown.set(slider, value)
    assert message in shown.error
    assert slider.value == before
    shown_is_computed(shown)


@pytest.mark.parametrize('sign', [1, -1])
def test_a_payload_of_the_robot_extends_the_sliders(shown, sign):
    shown.session.update(lambda state: state.carrying('panda_link8', 12.5, (0.0, 0.0, sign * 1.5)))
    shown.page.show(*shown.session.scene())
    (mass,), (z,) = shown.control('mass [kg]'), shown.control('z [m]')
    assert (mass.max, mass.value) == (12.5, 12.5)
    assert (z.min, z.max, z.value) == (-1.5, 1.5, sign * 1.5)
    shown_is_computed(shown)
    shown.set(mass, 12.0)
    assert (shown.error, mass.max) == ('', 12.5)
    shown_is_computed(shown)
    shown.set(mass, 13.0)
    assert 'payload: mass [kg] is 13; expected 0 to 12.5' in shown.error


@pytest.mark.parametrize('sign', [1, -1])
def test_a_motion_beyond_the_limits_is_shown_as_it_is(shown, sign):
    fast = sign * 3 * shown.session.state.model.velocity_limit
    shown.session.update(lambda state: replace(state, qd=fast, qdd=10 * fast))
    shown.page.show(*shown.session.scene())
    shown_is_computed(shown)
    shown.session.update(ViewState.at_rest)
    shown.page.show(*shown.session.scene())
    speed = shown.control('panda_joint1')[1]
    limit = shown.session.state.model.velocity_limit[0]
    assert (speed.min, speed.max) == (-limit, limit)


def test_both_ends_of_every_slider_are_accepted():
    shown = page_of(load_urdf('planar_2r'))
    try:
        sliders = [
            s for name in shown.session.state.model.joint_names for s in shown.control(name)
        ]
        for slider in (*sliders, *(shown.control(f'{x} [m]')[0] for x in 'xyz')):
            for end in (slider.min, slider.max):
                shown.set(slider, end)
                assert (shown.error, slider.value) == ('', end)
        (text,), (button,) = shown.control('posture'), shown.control(SET_POSTURE)
        shown.set(button, True)  # the posture that is shown as text
        assert (bool(text.value), shown.error) == (True, '')
    finally:
        shown.server.stop()


def test_a_posture_is_typed(shown):
    (text,) = shown.control('posture')
    (button,) = shown.control(SET_POSTURE)
    shown.set(text, '0 0.1 0 -1 0 1 0.7')
    shown.set(button, True)
    np.testing.assert_array_equal(shown.session.state.q, [0, 0.1, 0, -1, 0, 1, 0.7])
    shown.set(text, '[0, 0.2, 0, -1, 0, 1, 0.7]')
    shown.set(button, True)
    assert shown.session.state.q[1] == 0.2
    shown.set(text, '0 0.1 x')
    shown.set(button, True)
    assert 'the posture has 3 values; expected 7' in shown.error
    assert len(text.value.split()) == 7  # that of the robot


def test_what_is_typed_is_not_overwritten(shown):
    """Neither before its callback nor, if it is rejected, before typing has ended."""
    (slider, *_), (text,) = shown.control('panda_joint4'), shown.control('posture')
    before = slider.value
    shown.receive(slider, -1.0)
    shown.show()  # of another change, while the machine is busy
    assert slider.value == -1.0
    shown.call(slider)
    assert shown.session.state.q[3] == -1.0
    shown.receive(slider, -10.0)
    shown.call(slider)
    shown.receive(text, '0 0.1')
    shown.show()
    assert (slider.value, text.value, shown.page.is_behind) == (-10.0, '0 0.1', True)
    shown.receive(slider, -10.0, ago=EDITING)
    shown.receive(text, '0 0.1', ago=EDITING)
    shown.show()
    # -1 was part of the edit that was rejected.
    assert (slider.value, len(text.value.split()), shown.page.is_behind) == (before, 7, False)
    shown.set(shown.control('reset')[0], 'home')
    assert slider.value == before


@pytest.mark.parametrize(
    ('label', 'digits', 'stays'),
    [('mass [kg]', (2.0, 25.0), 1.5), ('panda_joint4', (-1.0, -10.0), -2.0)],
)
def test_a_rejected_value_restores_that_before_the_first_digit(shown, label, digits, stays):
    slider = shown.control(label)[0]
    shown.set(slider, stays)
    for digit in digits:
        shown.receive(slider, digit)
        shown.call(slider)
    assert f'is {digits[-1]:g}; expected' in shown.error
    shown.receive(slider, digits[-1], ago=EDITING)
    shown.show()
    assert slider.value == stays
    shown_is_computed(shown)


def test_the_message_on_a_rejected_value_ends(shown, monkeypatch):
    (mass,), (unload,) = shown.control('mass [kg]'), shown.control('No load')
    for end in (
        lambda: shown.set(mass, 2.5),
        lambda: shown.set(unload, True),
        shown.page.end_report,
    ):
        shown.set(mass, 25.0)
        shown.page.end_report()
        assert 'is 25; expected 0 to 10' in shown.error
        with monkeypatch.context() as patched:
            later = time.monotonic() + REPORTED + 1.0
            patched.setattr(time, 'monotonic', lambda later=later: later)
            end()
        assert shown.error == ''
    # That on a missing mesh stays.
    shown.page.report('mesh')
    shown.page.end_report()
    assert 'mesh' in shown.error


def test_a_joint_at_its_stop_shows_the_torque_of_the_stop(shown):
    q = shown.session.state.q.copy()
    q[3] = shown.session.state.model.lower[3]
    shown.session.update(lambda state: replace(state, q=q))
    shown.session.start(Fall())
    shown.session.advance(0.05)
    shown.show()
    names = shown.session.state.model.joint_names
    rows = shown.page._bars.content.split('data-joint=')[1:]
    for j, row in enumerate(rows):
        at_stop = names[j] == 'panda_joint4'
        assert ('>stop<' in row) == (at_stop and 'data-term' in row)
        assert 'τ model' not in row
        assert '%</span>' not in row
    shown.session.start(None)
    shown.show()
    assert '>τ model<' in shown.page._bars.content
    assert '>stop<' not in shown.page._bars.content


def test_a_posture_is_kept_until_it_is_set(shown):
    """Another change of the page leaves a posture that was typed before."""
    (text,), typed = shown.control('posture'), '0 0.1 0 -1'
    shown.set(text, typed)
    shown.set(shown.control('frames')[0], True)
    shown.set(shown.control('frames')[0], False)
    assert text.value == typed


def test_payload_gravity_and_force_reach_the_torques(shown):
    state = shown.session.state
    shown.set(shown.control('mass [kg]')[0], 2.0)
    shown.set(shown.control('z [m]')[0], 0.1)
    shown.set(shown.control('g [m/s²]')[0], (0.0, 3.0, -9.0))
    shown.set(shown.control('F [N]')[0], (5.0, 0.0, 0.0))
    model = state.model.with_gravity([0.0, 3.0, -9.0])
    arm = Dynamics(model.with_payload('panda_link8', 2.0, [0.0, 0.0, 0.1]))
    _, scene = shown.session.scene()
    close = {'rtol': 1e-10, 'atol': 1e-10}
    np.testing.assert_allclose(scene.torques.gravity, arm.gravity_torque(state.q), **close)
    F = [0, 0, 0, 5.0, 0, 0]
    np.testing.assert_allclose(
        scene.torques.external, arm.wrench_torque(state.q, F, 'panda_link8'), **close
    )
    shown.set(shown.control('g [m/s²]')[0], (0.0, float('nan'), 0.0))
    assert 'gravity y [m/s^2] is nan' in shown.error
    assert shown.control('g [m/s²]')[0].value == (0.0, 3.0, -9.0)


def test_dragging_the_handle_sets_the_force(shown):
    _, scene = shown.session.scene()
    sizes, weight = shown.session.sizes, 9.81 * shown.session.state.model.mass.sum()
    shown.page._drag_force(scene.force[0] + np.array([0.0, 0.0, 0.1]))
    expected = 0.1 * weight / sizes.reach
    force = shown.session.state.force
    np.testing.assert_allclose(force, [0, 0, expected], atol=0.05 + 1e-9)
    # The page computes with the decimals that its field has.
    np.testing.assert_array_equal(force, np.round(force, 1))


@pytest.mark.parametrize('position', [(1.0, 2.0), (), (float('nan'), 0.0, 0.0)])
def test_a_malformed_position_of_the_handle_is_reported(shown, position):
    before = shown.session.state.force
    shown.page._drag_force(np.array(position))
    assert shown.error
    assert shown.session.state.force is before


def test_falling_ends_with_stop_reset_and_a_slider(shown):
    (fall,), (reset,) = shown.control('Let it fall'), shown.control('reset')
    for end, value in ((fall, True), (reset, 'at rest'), (shown.control('panda_joint4')[0], -1.0)):
        assert fall.label == 'Let it fall'
        shown.set(fall, True)
        assert isinstance(shown.session.motion, Fall)
        assert fall.label == 'Stop'
        shown.session.advance(0.1)
        assert shown.session.state.qd.any()
        shown.set(end, value)
        assert shown.session.motion is None
    shown.set(reset, 'at rest')
    assert not shown.session.state.qd.any()


def test_the_robot_returns_home_and_loses_its_load(shown):
    first = shown.session.state
    shown.set(shown.control('panda_joint2')[1], 0.5)
    shown.set(shown.control('panda_joint4')[0], -1.0)
    shown.set(shown.control('mass [kg]')[0], 2.0)
    shown.set(shown.control('F [N]')[0], (1.0, 2.0, 3.0))
    shown.set(shown.control('reset')[0], 'home')
    found = shown.session.state
    np.testing.assert_array_equal(found.q, first.q)
    assert not found.qd.any()
    assert found.load.mass == 2.0
    shown.set(shown.control('No load')[0], True)
    assert shown.session.state.load == first.load
    assert not shown.session.state.force.any()


@pytest.mark.parametrize('sign', [1, -1])
def test_angles_are_shown_and_set_in_degrees(shown, sign):
    (box,), (text,), (button,) = map(shown.control, ('degrees', 'posture', SET_POSTURE))
    q, limit = shown.session.state.q, shown.session.state.model.upper[0]
    slider, speed, _ = shown.control('panda_joint1')
    try:
        shown.set(box, True)
        np.testing.assert_allclose(float(text.value.split()[3]), np.degrees(q[3]), atol=5e-3)
        shown.set(slider, sign * 30.0)
        shown.set(speed, sign * 45.0)
        assert shown.session.state.q[0] == pytest.approx(sign * np.pi / 6)
        assert shown.session.state.qd[0] == pytest.approx(sign * np.pi / 4)
        shown.set(slider, slider.max if sign > 0 else slider.min)
        assert (shown.error, shown.session.state.q[0]) == ('', sign * limit)
        shown.set(slider, sign * 200.0)
        assert "joint 'panda_joint1': position [°] is" in shown.error
        shown.set(text, f'{sign * 90} 0 0 -45 0 45 0')
        shown.set(button, True)
        expected = np.radians([sign * 90, 0, 0, -45, 0, 45, 0])
        np.testing.assert_allclose(shown.session.state.q, expected, atol=1e-12)
    finally:
        shown.set(box, False)
    assert slider.value == pytest.approx(sign * np.pi / 2, abs=1e-4)


def calls_per_period(joints, periods=6):
    """Return the mean number of function calls of a period of the update loop in a fall."""
    shown, calls = page_of(random_tree(joints, np.random.default_rng(0))), itertools.count()
    try:
        shown.session.start(Fall())
        shown.session.advance(PERIOD)
        shown.show()
        sys.setprofile(lambda frame, event, _: event in ('call', 'c_call') and next(calls))
        for _ in range(periods):
            shown.session.advance(PERIOD)
            shown.show()
    finally:
        sys.setprofile(None)
        shown.server.stop()
    return next(calls) / periods


def test_the_work_of_a_period_of_a_fall_is_proportional_to_the_joints():
    """The steps in a period and a picture: no part of them is repeated for pairs of joints."""
    few, many = map(calls_per_period, (4, 16))
    assert few < many < 8 * few  # in proportion: 4 times; for pairs: 16 times


def test_lengths_stay_in_metres_beside_degrees():
    shown = page_of(load_urdf('scara_rrp'))
    try:
        shown.set(shown.control('degrees')[0], True)
        folders = shown.page._controls._folders
        assert folders['velocity'].label == 'Velocities [°/s, m/s]'
        slide = shown.session.state.model.joint_names[2]
        shown.set(shown.control(slide)[0], 0.05)
        assert (shown.error, shown.session.state.q[2]) == ('', 0.05)
    finally:
        shown.server.stop()


def test_dragging_the_tip_brings_it_to_the_handle(shown):
    state = shown.session.state
    T = frame_pose(state.model, state.q, state.tip)
    T[:3, :3] = T[:3, :3] @ rotation_x(0.1)
    T[:3, 3] += [0.03, -0.02, 0.05]
    shown.page._controls._drag_tip(T[:3, 3], wxyz(T[:3, :3]))
    for _ in range(3):
        shown.session.advance(0.0)
    found = shown.session.state
    np.testing.assert_allclose(frame_pose(state.model, found.q, state.tip), T, atol=1e-8)
    shown.session.advance(0.0)
    assert shown.session.state is found


@pytest.mark.parametrize(
    'handle',
    [((1.0, 2.0), (1, 0, 0, 0)), ((0, 0, float('nan')), (1, 0, 0, 0)), ((0, 0, 0), 'abcd')],
)
def test_a_malformed_pose_of_the_handle_is_reported(shown, handle):
    before = shown.session.state
    with contextlib.suppress(ShapeError):  # the update loop reports it
        shown.page._controls._drag_tip(*handle)
        shown.session.advance(0.0)
        assert shown.error
    assert shown.session.state is before


def test_every_layer_can_be_hidden_and_shown(shown):
    add_shapes(
        shown.drawing,
        shown.page,
        shapes_of(urdf_text('panda'), shown.session.state.model),
        [],
        SimpleNamespace(is_set=lambda: False),
    )
    for layer in LAYERS:
        (box,) = shown.control(layer)
        for visible in (not LAYERS[layer], LAYERS[layer]):
            shown.set(box, visible)
            for node in shown.drawing._nodes(layer):
                assert node.visible == visible
    assert len(shown.drawing._meshes) == len(shapes_of(urdf_text('panda'), load_urdf('panda')))


def test_a_robot_without_shapes_is_shown_by_its_inertia():
    shown = page_of(load_urdf('planar_2r'))
    try:
        add_shapes(shown.drawing, shown.page, [], [], SimpleNamespace(is_set=lambda: False))
        assert shown.control('inertia ellipsoids')[0].value
        assert all(node.visible for node in shown.drawing._nodes('skeleton'))
    finally:
        shown.server.stop()


def test_a_missing_mesh_is_reported_and_the_others_are_drawn(shown, capsys):
    model = shown.session.state.model
    text = urdf_text('panda').replace(
        b'<box size="0.24 0.19 0.03"/>', b'<mesh filename="package://none/base.stl"/>'
    )
    before = len(shown.drawing._meshes)
    shapes = shapes_of(text, model)
    add_shapes(shown.drawing, shown.page, shapes, [], SimpleNamespace(is_set=lambda: False))
    assert len(shown.drawing._meshes) == before + len(shapes) - 1
    assert "link 'panda_link0': mesh 'package://none/base.stl'" in shown.error
    assert '--package-path' in capsys.readouterr().err


def test_what_has_not_moved_is_not_sent_again(shown):
    sent = []
    buffer = shown.server._websock_server
    push, buffer.queue_message = buffer.queue_message, sent.append
    try:
        shown.page.show(*shown.session.scene())
    finally:
        buffer.queue_message = push
    assert sent == []


@pytest.mark.parametrize(
    'name', ['a.mcap', '`', '``a`', 'a` <img src=x onerror=x> {x}', '# a\n- b', ' a']
)
def test_a_name_in_markdown_is_code(name):
    """As CommonMark reads it, one span of code and nothing else."""
    markdown = pytest.importorskip('markdown_it').MarkdownIt()
    (_, inline, _) = markdown.parse(f'topic: {code(name)}')
    assert [token.type for token in inline.children] == ['text', 'code_inline']
    assert inline.children[1].content == ' '.join(name.split())


def test_a_live_page_shows_the_contact_and_the_arrows_until_they_end():
    controls = LiveControls(Follow(None), {'joint states': '/joint_states'})
    shown = page_of(load_urdf('planar_2r'), controls)
    try:
        state, nodes = shown.session.state, shown.drawing._external
        torque = 0.1 * shown.session.sizes.full
        push = np.array([0.0, 0.0, 0.0, 30.0, 0.0, 0.0])
        one = External(torque, state.tip, push, 'contact')
        arcs = [joint['estimated'] for joint in shown.drawing._torques]
        for estimated, true in ((one, None), (one, one), (None, None)):
            following = replace(state, estimated=estimated, true=true)
            shown.session.update(lambda _, following=following: following)
            shown.page.show(*shown.session.scene())
            felt = [one is not None for one in (estimated, true)]
            assert [node.visible for node in nodes] == felt
            assert [arc.visible for arc in arcs] == 2 * felt[:1]
            text = controls._contact.content
            assert ['estimated: contact' in text, 'true: contact' in text] == felt
    finally:
        shown.server.stop()
