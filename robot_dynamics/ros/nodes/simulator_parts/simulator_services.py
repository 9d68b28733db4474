# SPDX-License-Identifier: Apache-2.0
"""Services of the simulator node: std_srvs, and simulation_interfaces where it is installed.

Both offer the same requests. Arguments that std_srvs has no field for are parameters: the number
of steps is `steps_per_call`, the start state `reset_to` or `initial_positions`.

simulation_interfaces is the standard of Gazebo, Isaac Sim and O3DE; its services have their usual
names in the node's namespace.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from std_srvs.srv import Trigger

from robot_dynamics.simulation.run_control import MOST_STEPS, Outcome, Result, RunControl, RunState

INFORMATION = (
    f'robot_dynamics simulator_node: one fixed-base arm; at most {MOST_STEPS} steps per call; '
    'named states and initial positions are parameters'
)


def trigger_services(node: Any) -> None:
    """Offer ~/pause, ~/resume, ~/step and ~/reset."""

    def step(control: RunControl) -> Outcome:
        return control.step(node.parameters.steps_per_call, node.publish_if_needed)

    requests: dict[str, Callable[[RunControl], Outcome]] = {
        'pause': RunControl.pause,
        'resume': RunControl.play,
        'step': step,
        'reset': lambda control: control.reset(node.start()),
    }

    def answer(response: Any, outcome: Outcome) -> Any:
        response.success, response.message = outcome.success, outcome.message
        return response

    for name, request in requests.items():
        node.create_service(
            Trigger, f'~/{name}', lambda _, response, r=request: answer(response, node.request(r))
        )


def standard_services(node: Any) -> StandardServices | None:
    """Offer the services of simulation_interfaces, if that package is installed."""
    try:
        # Imported by name: no wheel provides it, so it cannot be a requirement of this package.
        msg, srv = (import_module(f'simulation_interfaces.{kind}') for kind in ('msg', 'srv'))
    except ImportError:
        return None
    return StandardServices(node, msg, srv)


class StandardServices:
    """The services of simulation_interfaces that apply to a single arm."""

    def __init__(self, node: Any, msg: Any, srv: Any):
        """Offer the services of a SimulatorNode; `msg` and `srv` are the package's modules."""
        self._node, self._msg, self._srv = node, msg, srv
        features, states = msg.SimulatorFeatures, msg.SimulationState
        self._features = [
            features.SIMULATION_RESET,
            features.SIMULATION_RESET_TIME,
            features.SIMULATION_RESET_STATE,
            features.SIMULATION_STATE_GETTING,
            features.SIMULATION_STATE_SETTING,
            features.SIMULATION_STATE_PAUSE,
            features.STEP_SIMULATION_SINGLE,
            features.STEP_SIMULATION_MULTIPLE,
        ]
        self._states = {
            RunState.STOPPED: states.STATE_STOPPED,
            RunState.PLAYING: states.STATE_PLAYING,
            RunState.PAUSED: states.STATE_PAUSED,
        }
        for service, kind, callback in (
            ('get_simulator_features', srv.GetSimulatorFeatures, self._on_get_features),
            ('get_simulation_state', srv.GetSimulationState, self._on_get_state),
            ('set_simulation_state', srv.SetSimulationState, self._on_set_state),
            ('reset_simulation', srv.ResetSimulation, self._on_reset),
            ('step_simulation', srv.StepSimulation, self._on_step),
        ):
            node.create_service(kind, service, callback)

    def _on_get_features(self, _request: Any, response: Any) -> Any:
        response.features.features = self._features
        response.features.custom_info = INFORMATION
        return response

    def _on_get_state(self, _request: Any, response: Any) -> Any:
        state = self._node.simulation_state()
        response.state.state = (
            self._msg.SimulationState.STATE_NO_WORLD if state is None else self._states[state]
        )
        response.result.result = self._msg.Result.RESULT_OK
        return response

    def _on_set_state(self, request: Any, response: Any) -> Any:
        states, node = self._msg.SimulationState, self._node
        changes: dict[int, Callable[[], Outcome]] = {
            states.STATE_STOPPED: partial(
                node.request, lambda control: control.stop(node.start())
            ),
            states.STATE_PLAYING: partial(node.request, RunControl.play),
            states.STATE_PAUSED: partial(node.request, RunControl.pause),
            states.STATE_QUITTING: _quit,
        }
        change = changes.get(request.state.state)
        if change is None:
            return self._unsupported(response, f'no transition to state {request.state.state}')
        codes = self._srv.SetSimulationState.Response
        return self._put(
            response,
            change(),
            {
                Result.ALREADY: codes.ALREADY_IN_TARGET_STATE,
                Result.NOT_NOW: codes.STATE_TRANSITION_ERROR,
            },
        )

    def _on_reset(self, request: Any, response: Any) -> Any:
        scopes, scope, node = self._srv.ResetSimulation.Request, request.scope, self._node
        if scope == scopes.SCOPE_DEFAULT:
            scope = scopes.SCOPE_ALL
        time, state = bool(scope & scopes.SCOPE_TIME), bool(scope & scopes.SCOPE_STATE)
        if not (time or state):
            return self._unsupported(
                response, 'spawned entities are not supported: reset time or state'
            )
        outcome = node.request(
            lambda control: control.reset(node.start() if state else None, time=time)
        )
        return self._put(response, outcome, {})

    def _on_step(self, request: Any, response: Any) -> Any:
        node = self._node
        outcome = node.request(lambda control: control.step(request.steps, node.publish_if_needed))
        failed = self._msg.Result.RESULT_OPERATION_FAILED
        return self._put(response, outcome, {Result.NOT_NOW: failed})

    def _put(self, response: Any, outcome: Outcome, codes: dict[Result, int]) -> Any:
        results = self._msg.Result
        general = {
            Result.DONE: results.RESULT_OK,
            Result.ALREADY: results.RESULT_OK,
            Result.NOT_NOW: results.RESULT_INCORRECT_STATE,
            Result.WRONG: results.RESULT_OPERATION_FAILED,
            Result.FAILED: results.RESULT_OPERATION_FAILED,
        }
        response.result.result = (general | codes)[outcome.result]
        if outcome.result is not Result.DONE:
            response.result.error_message = outcome.message
        return response

    def _unsupported(self, response: Any, why: str) -> Any:
        response.result.result = self._msg.Result.RESULT_FEATURE_UNSUPPORTED
        response.result.error_message = why
        return response


def _quit() -> Outcome:
    """End the process by SIGTERM, after the response."""
    signal.raise_signal(signal.SIGTERM)
    return Outcome(Result.DONE, 'quitting')
