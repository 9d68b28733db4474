# SPDX-License-Identifier: Apache-2.0
"""Compilation of one function of one robot in a new process, for `compiling`.

    python -m benchmarks.measure_compile ROBOT.urdf FUNCTION single|batch

prints one JSON object with figures of `compiling.Compilation`. Programs in the cache are not
compiled again.
"""

from __future__ import annotations

import functools
import json
import sys
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.compiling import BATCH
from benchmarks.functions import random_state
from benchmarks.memory import peak_mib
from robot_dynamics.codegen.tracing import Program, trace
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.programs import ALGORITHMS, Robot
from robot_dynamics.urdf.loading import load_urdf

SAMPLES = 64


def recorded(arm: Dynamics, function: str) -> Program:
    """Return the program of a method of Dynamics."""
    algorithm = ALGORITHMS[function]
    sizes = dict.fromkeys(algorithm.inputs, arm.model.n)
    return trace(functools.partial(algorithm.function, Robot(arm.model, arm.tree)), sizes)


def single(arm: Dynamics, function: str) -> dict[str, Any]:
    """Return the cost of tracing a function and of its first result."""
    state = random_state(arm.model, np.random.default_rng(0))
    begin = time.perf_counter()
    getattr(arm, function)(*state.of(function))
    made = time.perf_counter()
    peak = peak_mib()
    program = recorded(arm, function)
    return {
        'record_s': time.perf_counter() - made,
        'single_s': made - begin,
        'operations': program.operation_counts(),
        'peak_mib': peak,
    }


def batch(arm: Dynamics, function: str) -> dict[str, Any]:
    """Return the seconds from a single call to the first result of a batch."""
    rng = np.random.default_rng(0)
    one, many = random_state(arm.model, rng), random_state(arm.model, rng, SAMPLES)
    call = getattr(arm, function)
    call(*one.of(function))
    begin = time.perf_counter()
    call(*many.of(function))
    return {'batch_s': time.perf_counter() - begin}


def main(urdf: str, function: str, kind: str) -> None:
    """Measure and print."""
    warnings.simplefilter('ignore')
    arm = Dynamics(load_urdf(urdf))
    print(json.dumps((batch if kind == BATCH else single)(arm, function)))


if __name__ == '__main__':
    main(*sys.argv[1:])
