# SPDX-License-Identifier: Apache-2.0
"""The view in a real browser: pictures, numbers and errors of the page."""

import threading
import time

import browser
import numpy as np
import pytest
from recorded_runs import lively, samples, torque, write_bag
from shown_page import ShownPage

from robot_dynamics.control.start_posture import start_posture
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.recordings import by_joint
from robot_dynamics.urdf.loading import load_urdf
from robot_dynamics.view.playback_controls import PlaybackControls
from robot_dynamics.view.server import url
from robot_dynamics.view.session import Session
from robot_dynamics.view.update_loop import run
from robot_dynamics.view.viewed_motion import Playback

# Browsers render in software.
pytestmark = [pytest.mark.slow, pytest.mark.browsers]

MOVED = 0.01  # of the pixels
PAYLOAD = ('mass [kg]', 'x [m]', 'y [m]', 'z [m]')


@pytest.fixture(scope='module', autouse=True)
def browsers():
    browser.require_browser()


@pytest.fixture(scope='module')
def arm():
    return Dynamics(load_urdf('panda'))


@pytest.fixture(scope='module')
def seen():
    """A browser that shows the bundled arm, and the process of the view."""
    with browser.view('panda') as (process, url):
        window = browser.Browser()
        try:
            window.open(url)
            yield window, process, url
        finally:
            window.close()


def changed(before, after):
    """Return the share of pixels that differ visibly."""
    return (np.abs(after - before).max(axis=2) > 24).mean()


def agree(found, term, values, names):
    """Return whether the page shows these values, to its decimals."""
    shown = np.array([found.get((name, term), np.nan) for name in names])
    return bool(np.all(np.abs(shown - values) <= 0.06 * (np.abs(values) >= 100) + 0.006))


def test_the_page_shows_the_arm_and_the_gravity_torques_of_the_library(seen, arm):
    window, _, _ = seen
    g = arm.gravity_torque(start_posture(arm))
    window.until(
        lambda: agree(window.torques(), 'gravity', g, arm.model.joint_names), 'the torques'
    )
    # The arm, with dark rings around its links, is drawn before a white ground.
    window.until(lambda: 0.003 < (window.picture().max(axis=2) < 100).mean() < 0.5, 'the arm')


def test_a_slider_moves_a_link_and_its_torque(seen, arm):
    window, _, _ = seen
    window.button('at rest')
    before = window.picture()
    torque_before = window.torques()['panda_joint2', 'gravity']
    window.press_slider('panda_joint2', 'ARROW_LEFT', 150)
    window.until(
        lambda: abs(window.torques()['panda_joint2', 'gravity'] - torque_before) > 1.0,
        'another torque',
    )
    window.until(lambda: changed(before, window.picture()) > MOVED, 'another picture')

    # The number beside the slider is the position that the torques belong to.
    def torques_of_the_posture():
        q = [float(window.value(name)) for name in arm.model.joint_names]
        found = [window.torques()[name, 'gravity'] for name in arm.model.joint_names]
        return q[1] < start_posture(arm)[1] and np.allclose(
            found, arm.gravity_torque(q), atol=0.05
        )

    window.until(torques_of_the_posture, 'the torques of the posture')


def test_a_wrong_number_says_why_in_the_page_and_on_the_terminal(seen):
    window, process, _ = seen
    lines = []
    threading.Thread(target=lambda: lines.append(process.stderr.readline()), daemon=True).start()
    window.field('panda_joint4', '5')
    message = "joint 'panda_joint4': position is 5; expected -3.0718 to -0.0698"
    window.until(lambda: window.error() == message, 'the error')
    window.until(lambda: lines == [f'robot-dynamics: {message}\n'], 'the error on the terminal')
    window.until(lambda: float(window.value('panda_joint4')) < 0, 'the position before')
    window.field('posture', '0 0 zero')
    window.button('Set posture')
    window.until(lambda: 'the posture has 3 values; expected 7' in window.error(), 'the error')
    window.button('at rest')
    window.until(lambda: window.error() == '', 'an end of the error')


def test_a_payload_changes_the_torques_in_every_browser(seen, arm):
    window, _, url = seen
    window.field('posture', '0 0.5 0 -1.5 0 1.8 0.7')
    window.button('Set posture')
    other = browser.Browser()
    try:
        other.open(url)
        window.button('Load')
        window.field('mass [kg]', '2.5')
        loaded = Dynamics(arm.model.with_payload('panda_link8', 2.5))
        g = loaded.gravity_torque([0, 0.5, 0, -1.5, 0, 1.8, 0.7])
        for page in (window, other):
            page.until(
                lambda page=page: agree(page.torques(), 'gravity', g, arm.model.joint_names),
                'the torques with the payload',
            )
    finally:
        other.close()
        window.field('mass [kg]', '0')
        window.button('Joints')


def test_the_payload_in_the_page_is_the_one_that_is_computed(seen, arm):
    window, _, _ = seen
    q, names = [0, 0.5, 0, -1.5, 0, 1.8, 0.7], arm.model.joint_names
    window.field('posture', ' '.join(map(str, q)))
    window.button('Set posture')
    window.button('Load')
    try:
        window.field('mass [kg]', '2.5')
        window.field('z [m]', '1.5')
        message = 'payload: centre of mass z [m] is 1.5; expected -0.2095 to 0.2095'
        window.until(lambda: window.error() == message, 'the error of the centre of mass')
        window.field('mass [kg]', '100')
        message = 'payload: mass [kg] is 100; expected 0 to 10'
        window.until(lambda: window.error() == message, 'the error of the mass')

        def torques_of_the_payload():
            # Typing sends 1, 10 and 100: one of the first two may be the last that is accepted.
            mass, *com = (float(window.value(label)) for label in PAYLOAD)
            g = Dynamics(arm.model.with_payload('panda_link8', mass, com)).gravity_torque(q)
            return 1 <= mass <= 10 and agree(window.torques(), 'gravity', g, names)

        window.until(torques_of_the_payload, 'the torques of the payload in the page')
    finally:
        window.field('mass [kg]', '0')
        window.button('Joints')


def test_a_force_is_dragged_onto_a_link(seen, arm):
    window, _, _ = seen
    q, names = [0, 0.3, 0, -1.5, 0, 1.8, 0.7], arm.model.joint_names
    window.field('posture', ' '.join(map(str, q)))
    window.button('Set posture')
    g = arm.gravity_torque(q)
    window.until(lambda: agree(window.torques(), 'gravity', g, names), 'the posture')
    # The arrows of these torques are as blue as the handle.
    window.button('Show')
    window.check('torque: gravity')
    window.button('Load')
    window.check('drag in the scene')
    window.until(lambda: still(window), 'a scene at rest')
    try:

        def pulled_up():
            # A busy machine may take the pointer's press for one beside the axis.
            if (place := highlighted_axis(window)) is not None:
                window.drag(*place, 0, -40)
            return force(window)[2] > 5.0

        window.until(pulled_up, 'a force upwards')
        assert force(window)[:2] == pytest.approx([0, 0], abs=0.1)

        def agree_with_force():
            external = arm.wrench_torque(q, [0, 0, 0, *force(window)], 'panda_link8')
            found = window.torques()
            shown = np.array([[found[name, t] for name in names] for t in ('external', 'motor')])
            # Torques from 10 N m on have two decimals.
            expected = np.array([external, g - external])
            return np.abs(shown - expected).max() < 0.02

        window.until(agree_with_force, 'the torques J^T F')
    finally:
        for axis in range(3):
            window.field('F [N]', '0', axis)
        window.check('drag in the scene')
        window.button('Show')
        window.check('torque: gravity')
        window.button('Joints')


def still(window):
    """Return whether nothing moves in the scene for a second."""
    before = window.picture()
    time.sleep(1.0)
    return changed(before, window.picture()) == 0.0


def highlighted_axis(window):
    """Point at the end of the handle's axis z.

    Returns the place (x, y), or None if nothing is highlighted there.
    """
    place = top_of_handle(window.picture())
    if place is None:
        return None
    window.point(*place)
    for _ in range(5):
        if has_yellow(window.picture(), *place):
            return place
        time.sleep(0.3)
    return None


def top_of_handle(picture):
    """Return the place (x, y) of the end of the handle's blue axis; None without a handle.

    The axis is yellow while it is highlighted, also by an earlier look.
    """
    red, _, blue = np.moveaxis(picture, 2, 0)
    rows, columns = np.nonzero((blue > red + 60) & (blue > 170) | yellow(picture))
    if len(rows) < 20:
        return None
    top = rows < rows.min() + 10
    return int(np.median(columns[top])), int(np.median(rows[top]))


def has_yellow(picture, x, y):
    """Return whether yellow, the colour of a highlighted axis, is near a place."""
    return bool(np.any(yellow(picture[y - 8 : y + 9, x - 8 : x + 9])))


def yellow(picture):
    """Return whether each pixel is yellow."""
    red, green, blue = np.moveaxis(picture, 2, 0)
    return (red > 180) & (green > 180) & (blue < 150)


def force(window):
    """Return the force (3) [N] in the page."""
    return [float(window.value('F [N]', axis)) for axis in range(3)]


def test_the_arm_falls_and_stops(seen, arm):
    window, _, _ = seen
    window.field('posture', '0 0.5 0 -1.5 0 1.8 0.7')
    window.button('Set posture')
    before = window.picture()
    window.button('Let it fall')
    window.until(lambda: window.torques()['panda_joint2', 'inertia'] != 0, 'the fall')
    window.until(lambda: float(window.value('panda_joint2')) > 0.8, 'another posture')
    window.button('Stop')
    window.until(lambda: window.torques()['panda_joint2', 'inertia'] == 0, 'the end of the fall')
    assert changed(before, window.picture()) > MOVED


def test_a_recording_shows_measured_and_computed_torques(arm, tmp_path):
    model = arm.model
    t, q, qd, qdd = lively(model, duration=4.0, rate=200.0)
    tau = 1.2 * torque(model, q, qd, qdd)
    states = samples(model.joint_names, t, q, qd, tau)
    bag = write_bag(tmp_path / 'run', {'/joint_states': states})
    window = browser.Browser()
    try:
        with browser.view('panda', '--bag', str(bag)) as (_, url):
            window.open(url)
            found = window.until(lambda: measured(window), 'measured torques')
            for name in model.joint_names[1:4:2]:  # those with large torques
                assert found[name, 'measured'] / found[name, 'motor'] == pytest.approx(1.2, 0.02)
            # curves and axes before a white ground
            window.until(lambda: 0.02 < (window.plot().min(axis=2) < 200).mean() < 0.3, 'a plot')
            first = window.plot()
            before = window.torques()
            window.button('Play')
            window.until(lambda: window.torques() != before, 'other torques')
            window.until(lambda: window.has_button('Play'), 'the end')
            window.until(lambda: changed(first, window.plot()) > 0.002, 'another time in the plot')
    finally:
        window.close()


@pytest.mark.soak
def test_a_time_is_typed_on_a_busy_machine(arm, monkeypatch):
    """5 is shown late, when 5.4 has arrived and its callback has not begun."""
    model = arm.model
    t, q, qd, qdd = lively(model, duration=8.0, rate=200.0)
    states = samples(model.joint_names, t, q, qd, torque(model, q, qd, qdd))
    playback = Playback(by_joint(states, model.joint_names))
    controls = PlaybackControls(playback, 'run')
    seek, scene = controls._seek, Session.scene
    delays = {5.4: 0.4}
    monkeypatch.setattr(
        controls, '_seek', lambda box: (time.sleep(delays.get(box.value, 0.0)), seek(box))
    )
    monkeypatch.setattr(Session, 'scene', lambda self: (time.sleep(0.15), scene(self))[1])
    page, ended = ShownPage(model, controls), threading.Event()
    page.session.start(playback)
    loop = threading.Thread(target=run, args=(page.session, page.page, ended))
    loop.start()
    window = browser.Browser()
    try:
        window.open(url(page.server))
        window.field('time [s]', '5.4')
        window.until(lambda: playback.time == 5.4, 'the time')
        assert float(window.value('time [s]')) == 5.4
    finally:
        window.close()
        ended.set()
        loop.join()
        page.server.stop()


def measured(window):
    """Return the numbers of the page, empty before measured torques are among them."""
    found = window.torques()
    return found if any(term == 'measured' for _, term in found) else {}
