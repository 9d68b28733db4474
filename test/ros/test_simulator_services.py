# SPDX-License-Identifier: Apache-2.0
"""The services: std_srvs in the graph, simulation_interfaces through a stand-in for that package.

simulation_interfaces is not among the wheels, so its services are called directly; the stand-in
has the constants and fields of simulation_interfaces 2.1.
"""

import signal
import sys
import types
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import JointState
from simulator_view import MS, START, SimulatorView, stamp
from std_srvs.srv import Trigger

from robot_dynamics.ros.nodes.simulator_parts import simulator_services
from robot_dynamics.simulation.run_control import MOST_STEPS


class Result:
    RESULT_FEATURE_UNSUPPORTED, RESULT_OK, RESULT_NOT_FOUND = 0, 1, 2
    RESULT_INCORRECT_STATE, RESULT_OPERATION_FAILED = 3, 4


class SimulationState:
    STATE_STOPPED, STATE_PLAYING, STATE_PAUSED = 0, 1, 2
    STATE_QUITTING, STATE_NO_WORLD, STATE_LOADING_WORLD = 3, 4, 5


class SimulatorFeatures:
    SIMULATION_RESET, SIMULATION_RESET_TIME, SIMULATION_RESET_STATE = 20, 21, 22
    SIMULATION_STATE_GETTING, SIMULATION_STATE_SETTING, SIMULATION_STATE_PAUSE = 24, 25, 26
    STEP_SIMULATION_SINGLE, STEP_SIMULATION_MULTIPLE = 31, 32


class SetResponse:
    ALREADY_IN_TARGET_STATE, STATE_TRANSITION_ERROR, INCORRECT_TRANSITION = 101, 102, 103


class ResetRequest:
    SCOPE_DEFAULT, SCOPE_TIME, SCOPE_STATE, SCOPE_SPAWNED, SCOPE_ALL = 0, 1, 2, 4, 255


MSG = SimpleNamespace(
    Result=Result, SimulationState=SimulationState, SimulatorFeatures=SimulatorFeatures
)
SRV = SimpleNamespace(
    GetSimulatorFeatures=SimpleNamespace(),
    GetSimulationState=SimpleNamespace(),
    SetSimulationState=SimpleNamespace(Response=SetResponse),
    ResetSimulation=SimpleNamespace(Request=ResetRequest),
    StepSimulation=SimpleNamespace(),
)


class Standard:
    """Calls the services that the node offers where simulation_interfaces is installed."""

    def __init__(self, node):
        self.services = {}
        proxy = SimpleNamespace(
            create_service=lambda kind, name, callback: self.services.update({name: callback}),
            request=node.request,
            start=node.start,
            publish_if_needed=node.publish_if_needed,
            simulation_state=node.simulation_state,
        )
        self.offered = simulator_services.StandardServices(proxy, MSG, SRV)

    def call(self, name, **request):
        response = SimpleNamespace(
            result=SimpleNamespace(result=None, error_message=''),
            state=SimpleNamespace(state=None),
            features=SimpleNamespace(features=[], custom_info=''),
        )
        answer = self.services[name](SimpleNamespace(**request), response)
        assert answer is response
        return response

    def put(self, state):
        response = self.call('set_simulation_state', state=SimpleNamespace(state=state))
        return response.result.result

    @property
    def state(self):
        response = self.call('get_simulation_state')
        assert response.result.result == Result.RESULT_OK
        return response.state.state


@pytest.fixture
def view(graph):
    return SimulatorView(graph)


@pytest.fixture
def standard(view):
    return Standard(view.node)


# -- std_srvs -------------------------------------------------------------------------------


def test_pause_resume_step_reset(view):
    graph = view.graph
    rejected = view.call('step')
    assert not rejected.success
    assert 'pause first' in rejected.message
    assert view.call('pause').message == 'paused'
    again = view.call('pause')
    assert (again.success, again.message) == (True, 'was paused already')
    steps = view.node.loop.steps
    graph.drain(0.05)
    assert view.node.loop.steps == steps
    assert view.call('resume').message == 'resumed'
    assert view.call('resume').message == 'was running already'
    view.command([5.0, 1.0])
    graph.until(lambda: view.states[-1].position[0] != START[0], 'a motion')
    assert view.call('pause').success
    assert view.call('reset').message == 'reset, paused'
    graph.until(lambda: stamp(view.states[-1]) == 0, 'the start')
    assert list(view.states[-1].position) == START


def test_one_call_makes_steps_per_call_steps(graph):
    view = SimulatorView(graph, start_paused=True)
    assert view.set(steps_per_call=25) == ''
    assert view.call('step').message == 'at 0.025 s'
    graph.until(lambda: stamp(view.states[-1]) == 25 * MS, 'the state after them')
    # Every step is published.
    assert {stamp(message) for message in view.states} >= {k * MS for k in range(1, 26)}
    assert 'out of' in view.set(steps_per_call=0) or 'range' in view.set(steps_per_call=0)
    assert view.set(steps_per_call=MOST_STEPS + 1) != ''
    assert view.call('step').message == 'at 0.050 s'


def test_reset_to_a_state_that_has_a_name_or_is_given(graph):
    view = SimulatorView(
        graph,
        joints=['elbow', 'shoulder'],
        initial_positions=START[::-1],
        states__names=['home', 'up'],
        states__positions=[0.1, 0.2, 0.3, 0.4],
    )
    assert list(view.state().position) == START

    def after_reset():
        assert view.call('pause').success
        assert view.call('reset').success
        graph.until(lambda: stamp(view.states[-1]) == 0, 'the reset')
        return list(view.states[-1].position)

    assert view.set(reset_to='up') == ''
    assert after_reset() == [0.4, 0.3]
    assert view.set(reset_to='home') == ''
    assert after_reset() == [0.2, 0.1]
    assert view.set(reset_to='') == ''
    assert after_reset() == START
    assert view.set(initial_positions=[0.5, -0.25]) == ''
    assert after_reset() == [-0.25, 0.5]


def test_an_invalid_start_changes_nothing(graph):
    view = SimulatorView(graph, states__names=['home'], states__positions=[0.1, 0.2])
    for change, why in (
        ({'reset_to': 'nowhere'}, "reset_to is 'nowhere'; known states: home"),
        (
            {'initial_positions': [9.0, 0.0]},
            'joint shoulder at 9.0; expected a value in [-3.0, 3.0]',
        ),
        ({'initial_positions': [0.0, 0.0, 0.0]}, 'has 3 values; expected one, or 2'),
        ({'initial_positions': [float('nan'), 0.0]}, 'initial_positions is nan'),
        (
            {'initial_velocities': [0.0, 99.0]},
            'joint elbow at 99.0; expected a value in [-5.0, 5.0]',
        ),
    ):
        assert why in view.set(**change)
        assert view.call('reset').success
        view.graph.until(lambda: view.node.loop.steps >= 0, 'time')
        assert list(view.node.loop.plant.q) == START


@pytest.mark.parametrize(
    ('parameters', 'why'),
    [
        ({'states__names': ['a', 'b'], 'states__positions': [0.0, 0.0]}, '2 states of 2 joints'),
        (
            {'states__names': ['a', 'a'], 'states__positions': [0.0] * 4},
            'each name must be unique',
        ),
        ({'states__names': ['a'], 'states__positions': [0.0, 9.0]}, "state 'a': joint elbow at 9"),
        ({'reset_to': 'home'}, 'known states: none: set states.names'),
    ],
)
def test_invalid_named_states_are_rejected_at_start(graph, parameters, why):
    from robot_dynamics.common.errors import RobotDynamicsError
    from robot_dynamics.ros.nodes.simulator_node import SimulatorNode

    with pytest.raises(RobotDynamicsError, match=why):
        graph.start(SimulatorNode, **parameters)


def test_requests_without_a_robot_are_rejected(graph):
    from robot_dynamics.ros.nodes.simulator_node import SimulatorNode

    node = graph.start(SimulatorNode, description='', description_timeout=0.0)
    for verb in ('pause', 'resume', 'step', 'reset'):
        answer = graph.call(Trigger, f'simulator_node/{verb}')
        assert not answer.success
        assert 'the node is unconfigured' in answer.message
    assert Standard(node).state == SimulationState.STATE_NO_WORLD


# -- simulation_interfaces ------------------------------------------------------------------


def test_nothing_is_offered_without_the_package(view):
    assert simulator_services.standard_services(view.node) is None
    names = [name for name, _ in view.node.get_service_names_and_types()]
    assert not any('simulation_state' in name for name in names)


def test_the_usual_names_are_offered_with_it(view, monkeypatch):
    monkeypatch.setitem(sys.modules, 'simulation_interfaces', types.ModuleType('simulation'))
    monkeypatch.setitem(sys.modules, 'simulation_interfaces.msg', MSG)
    monkeypatch.setitem(sys.modules, 'simulation_interfaces.srv', SRV)
    offered = []
    node = SimpleNamespace(create_service=lambda kind, name, callback: offered.append(name))
    assert simulator_services.standard_services(node) is not None
    assert sorted(offered) == [
        'get_simulation_state',
        'get_simulator_features',
        'reset_simulation',
        'set_simulation_state',
        'step_simulation',
    ]


def test_features_are_those_that_work(standard):
    response = standard.call('get_simulator_features')
    assert response.features.features == [20, 21, 22, 24, 25, 26, 31, 32]
    assert 'simulator_node' in response.features.custom_info


def test_states_and_transitions(standard):
    states = SimulationState
    assert standard.state == states.STATE_PLAYING
    assert standard.put(states.STATE_PLAYING) == SetResponse.ALREADY_IN_TARGET_STATE
    assert standard.put(states.STATE_PAUSED) == Result.RESULT_OK
    assert standard.state == states.STATE_PAUSED
    assert standard.put(states.STATE_PAUSED) == SetResponse.ALREADY_IN_TARGET_STATE
    assert standard.put(states.STATE_STOPPED) == Result.RESULT_OK
    assert standard.state == states.STATE_STOPPED
    assert standard.put(states.STATE_STOPPED) == SetResponse.ALREADY_IN_TARGET_STATE
    assert standard.put(states.STATE_PLAYING) == Result.RESULT_OK
    for nonsense in (states.STATE_NO_WORLD, states.STATE_LOADING_WORLD, 99):
        assert standard.put(nonsense) == Result.RESULT_FEATURE_UNSUPPORTED
    assert standard.state == states.STATE_PLAYING


def test_stopped_is_at_the_start_at_time_zero(view, standard):
    view.command([5.0, 1.0])
    view.graph.until(lambda: view.node.loop.plant.q[0] != START[0], 'a motion')
    standard.put(SimulationState.STATE_STOPPED)
    view.graph.drain(0.05)
    assert view.node.loop.steps == 0
    assert list(view.node.loop.plant.q) == START


def test_a_simulation_that_diverged_cannot_be_played(view, standard):
    view.command([0.0, 0.0])
    view.graph.until(lambda: not view.node.loop.plant.braked, 'a free arm')
    view.node.loop.plant.simulator.reset(view.node.loop.plant.q, [1e200, 1e200])
    view.command([0.0, 0.0])
    view.graph.until(lambda: view.node.loop.diverged, 'the divergence')
    assert standard.state == SimulationState.STATE_PAUSED
    assert standard.put(SimulationState.STATE_PLAYING) == SetResponse.STATE_TRANSITION_ERROR
    response = standard.call('step_simulation', steps=1)
    assert response.result.result == Result.RESULT_OPERATION_FAILED
    assert 'reset to continue' in response.result.error_message
    time_only = standard.call('reset_simulation', scope=ResetRequest.SCOPE_TIME)
    assert time_only.result.result == Result.RESULT_INCORRECT_STATE
    assert standard.call('reset_simulation', scope=0).result.result == Result.RESULT_OK
    assert standard.put(SimulationState.STATE_PLAYING) == Result.RESULT_OK


def test_step_simulation(view, standard):
    rejected = standard.call('step_simulation', steps=1)
    assert rejected.result.result == Result.RESULT_OPERATION_FAILED
    assert rejected.result.error_message == 'running: pause first'
    standard.call('reset_simulation', scope=0)
    standard.put(SimulationState.STATE_PAUSED)
    standard.call('reset_simulation', scope=0)
    assert standard.call('step_simulation', steps=7).result.result == Result.RESULT_OK
    assert view.node.loop.steps == 7
    assert standard.call('step_simulation', steps=0).result.result == 4
    assert standard.call('step_simulation', steps=2**64 - 1).result.result == 4
    assert view.node.loop.steps == 7


def test_reset_scopes(view, standard):
    loop = view.node.loop
    standard.put(SimulationState.STATE_PAUSED)
    standard.call('reset_simulation', scope=ResetRequest.SCOPE_ALL)
    view.command([5.0, 1.0])
    view.graph.until(lambda: loop.commanded, 'the command')
    standard.call('step_simulation', steps=5)
    q = loop.plant.q.copy()
    standard.call('reset_simulation', scope=ResetRequest.SCOPE_TIME)
    assert loop.steps == 0
    np.testing.assert_array_equal(loop.plant.q, q)
    standard.call('step_simulation', steps=5)
    standard.call('reset_simulation', scope=ResetRequest.SCOPE_STATE)
    assert loop.steps == 5
    np.testing.assert_array_equal(loop.plant.q, START)
    spawned = standard.call('reset_simulation', scope=ResetRequest.SCOPE_SPAWNED)
    assert spawned.result.result == Result.RESULT_FEATURE_UNSUPPORTED
    assert loop.steps == 5
    assert standard.call('reset_simulation', scope=7).result.result == Result.RESULT_OK
    assert loop.steps == 0


def test_quitting_ends_the_process_as_a_signal_does(standard):
    caught = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: caught.append(number))
    try:
        assert standard.put(SimulationState.STATE_QUITTING) == Result.RESULT_OK
    finally:
        signal.signal(signal.SIGTERM, before)
    assert caught == [signal.SIGTERM]


def test_a_state_is_published_after_every_request(view, standard):
    received = view.graph.listen(JointState, 'joint_states', 100)
    standard.put(SimulationState.STATE_PAUSED)
    standard.call('reset_simulation', scope=0)
    view.graph.until(lambda: received and stamp(received[-1]) == 0, 'the state after the reset')
