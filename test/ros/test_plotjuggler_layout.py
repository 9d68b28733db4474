# SPDX-License-Identifier: Apache-2.0
"""The layout for PlotJuggler names series of what momentum_observer_node publishes."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from robot_dynamics.common.resources import share_directory, share_file
from robot_dynamics.ros import messages
from robot_dynamics.ros.nodes.momentum_observer_node import MomentumObserverNode

LAYOUT = share_directory() / 'config' / 'plotjuggler_contact.xml'


def series_of_joint_states(topic, message):
    return {f'{topic}/{name}/effort' for name, _ in zip(message.name, message.effort, strict=True)}


def series_of_wrench(topic, _):
    return {f'{topic}/wrench/{v}/{x}' for v in ('force', 'torque') for x in 'xyz'}


def series_of_diagnostics(topic, message):
    """Return the names of the numbers: PlotJuggler 3.17.0, ParserROS/ros_parser.cpp."""
    found = set()
    for status in message.status:
        base = '/'.join(filter(None, (topic, status.hardware_id, status.name)))
        numbers = {'level'}
        for value in status.values:
            try:
                float(value.value)
                numbers.add(value.key)
            except ValueError:
                pass
        found |= {f'{base}/{name}' for name in numbers}
    return found


SERIES = {
    JointState: ('external_torque', series_of_joint_states),
    WrenchStamped: ('external_wrench', series_of_wrench),
    DiagnosticArray: ('contact', series_of_diagnostics),
}


def test_the_layout_plots_what_the_observer_publishes(graph):
    panda = share_file('urdf/panda.urdf').read_text()
    node = graph.start(MomentumObserverNode, description=panda)
    states = graph.publisher(JointState, '/joint_states')
    received = {
        kind: graph.listen(kind, f'/momentum_observer_node/{name}')
        for kind, (name, _) in SERIES.items()
    }
    names, stamp = list(node.arm.model.joint_names), 0

    def published():
        nonlocal stamp
        stamp += 1_000_000
        q = [0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.785]
        state = JointState(name=names, position=q, velocity=[0.0] * 7)
        state.effort = np.asarray(node.arm.gravity_torque(q)).tolist()
        state.header.stamp = messages.time_message(stamp)
        states.publish(state)
        return all(received.values())

    graph.until(published, 'torque, wrench and contact')
    plotted = [curve.get('name') for curve in ET.parse(LAYOUT).iter('curve')]
    shown = set()
    for kind, (name, series) in SERIES.items():
        topic = f'/momentum_observer_node/{name}'
        offered = series(topic, received[kind][-1])
        mine = {curve for curve in plotted if curve.startswith(f'{topic}/')}
        assert mine <= offered, mine - offered
        if kind is not DiagnosticArray:
            assert mine == offered
        shown |= mine
    assert sorted(shown) == sorted(plotted)
    assert {curve.rpartition('/')[2] for curve in plotted} == {
        *('effort', 'x', 'y', 'z', 'excess', 'level')
    }


def test_the_layout_opens_in_the_main_window():
    """PlotJuggler takes the window by its name without a check, and as many areas as counted."""
    root = ET.parse(LAYOUT).getroot()
    assert root.find('tabbed_widget').get('name') == 'Main Window'
    splitter = root.find('.//DockSplitter')
    assert int(splitter.get('count')) == len(splitter) == len(splitter.get('sizes').split(';'))
    assert sum(map(float, splitter.get('sizes').split(';'))) == pytest.approx(1.0)
    assert {plot.get('mode') for plot in root.iter('plot')} == {'TimeSeries'}
