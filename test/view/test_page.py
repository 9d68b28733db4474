# SPDX-License-Identifier: Apache-2.0
"""Controls of the page, without a browser: what they do is done to their handles."""

from dataclasses import replace
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.urdf.loading import load_urdf, urdf_text
from robot_dynamics.view.drawing import LAYERS, Drawing
from robot_dynamics.view.joint_controls import JointControls
from robot_dynamics.view.link_shapes import shapes_of
from robot_dynamics.view.page import Page, code
from robot_dynamics.view.server import open_server
from robot_dynamics.view.session import Session
from robot_dynamics.view.state import ViewState
from robot_dynamics.view.update_loop import add_shapes
from robot_dynamics.view.viewed_motion import Fall

pytest.importorskip('viser')


class Shown:
    """A page without a browser."""

    def __init__(self, model):
        self.server = open_server('localhost', 0, model.name)
        self.session = Session(Dynamics(model), ViewState.initial(model))
        self.drawing = Drawing(self.server, model, self.session.sizes)
        self.joints = JointControls()
        self.page = Page(self.server, self.session, self.drawing, self.joints)
        self.page.show(*self.session.scene())

    def control(self, label):
        """Return the handles of the controls with a label."""
        handles = self.server.gui._gui_input_handle_from_uuid.values()
        return [handle for handle in handles if handle._impl.props.label == label]

    def set(self, handle, value):
        """Do what a browser does that sets a value."""
        handle._impl.value = value
        for callback in handle._impl.update_cb:
            callback(SimpleNamespace(client_id=0, client=None, target=handle))
        self.page.show(*self.session.scene())

    @property
    def error(self):
        return unescape(self.page._status.content)


@pytest.fixture(scope='module')
def shown():
    shown = Shown(load_urdf('panda'))
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
            (f'{axis} [m]', value, f'centre of mass {axis} [m] is {value:g}; expected -0.2451 to')
            for axis in 'xyz'
            for value in (1.5, -1.5)
        ),
    ],
)
def test_a_payload_beyond_a_slider_is_rejected_as_a_position_is(shown, label, value, message):
    shown.set(shown.control('mass [kg]')[0], 10.0)
    shown.set(shown.control('z [m]')[0], 0.2451)
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
    shown = Shown(load_urdf('planar_2r'))
    try:
        sliders = [
            s for name in shown.session.state.model.joint_names for s in shown.control(name)
        ]
        for slider in (*sliders, *(shown.control(f'{x} [m]')[0] for x in 'xyz')):
            for end in (slider.min, slider.max):
                shown.set(slider, end)
                assert (shown.error, slider.value) == ('', end)
        (text,), (button,) = shown.control('posture'), shown.control('Set posture')
        shown.set(button, True)  # the posture that is shown as text
        assert (bool(text.value), shown.error) == (True, '')
    finally:
        shown.server.stop()


def test_a_posture_is_typed(shown):
    (text,) = shown.control('posture')
    (button,) = shown.control('Set posture')
    text.value = '0 0.1 0 -1 0 1 0.7'
    shown.set(button, True)
    np.testing.assert_array_equal(shown.session.state.q, [0, 0.1, 0, -1, 0, 1, 0.7])
    text.value = '0 0.1 x'
    shown.set(button, True)
    assert 'the posture has 3 values; expected 7' in shown.error


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
    np.testing.assert_allclose(shown.session.state.force, [0, 0, expected], atol=1e-9)


@pytest.mark.parametrize('position', [(1.0, 2.0), (), (float('nan'), 0.0, 0.0)])
def test_a_malformed_position_of_the_handle_is_reported(shown, position):
    before = shown.session.state.force
    shown.page._drag_force(np.array(position))
    assert shown.error
    assert shown.session.state.force is before


def test_falling_ends_with_stop_and_with_a_slider(shown):
    (fall,), (stop,) = shown.control('Let it fall'), shown.control('Stop')
    for end in (stop, shown.control('panda_joint4')[0]):
        shown.set(fall, True)
        assert isinstance(shown.session.motion, Fall)
        shown.session.advance(0.1)
        assert shown.session.state.qd.any()
        shown.set(end, -1.0)
        assert shown.session.motion is None
    shown.set(stop, True)
    assert not shown.session.state.qd.any()


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
    shown = Shown(load_urdf('planar_2r'))
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
