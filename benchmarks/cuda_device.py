# SPDX-License-Identifier: Apache-2.0
"""Exported CUDA on a device: results beside the CPU, and evaluations per second beside MJX.

    python -m benchmarks.cuda_device

It needs an NVIDIA driver, and NVRTC (`pip install nvidia-cuda-nvrtc-cu12`); beside MJX,
`pip install mujoco-mjx "jax[cuda12]"`. It takes less than five minutes. The driver is called
through ctypes, so that no other package of CUDA is required.

Exit code: 0, 1 if results disagree, 2 if there is no device or no compiler.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from benchmarks.functions import FUNCTIONS, random_state
from benchmarks.report import table
from benchmarks.robots import find
from robot_dynamics.codegen.backends.cuda import MOST_THREADS
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.export.c_header import TOLERANCES
from robot_dynamics.export.cuda_source import cuda_files
from robot_dynamics.export.functions import functions
from robot_dynamics.export.nvrtc import NvrtcMissing, built

NAMES = ('inverse_dynamics', 'forward_dynamics')
ROBOTS = ('ur5', 'kuka_iiwa', 'panda')
ROWS = 1 << 20
CALLS, ROUNDS = 20, 5  # of a kernel
MJX_SECONDS = 60  # limit for a robot; mostly compilation
DTYPES = {'double': np.dtype('f8'), 'float': np.dtype('f4')}

# cuda.h: CUdevice_attribute
MAJOR, MINOR = 75, 76


class NoDevice(Exception):  # noqa: N818  (the name is sufficient)
    """There is no CUDA device, or its driver reports an error."""


class Compiled(Protocol):
    """Kernels on a device."""

    def run(self, kernel: str, inputs: Sequence[Array], outputs: Sequence[Array]) -> float:
        """Fill outputs (count, size) from inputs; return the seconds of one run of the kernel."""


class Row(NamedTuple):
    """Evaluations per second of a function, and the largest error of the largest entry."""

    robot: str
    scalar: str
    function: str
    rate: float
    error: float
    tolerance: float


class Device:
    """The first CUDA device, through the driver.

    Raises:
        NoDevice: there is none.
    """

    def __init__(self) -> None:
        try:
            self._driver = ctypes.CDLL('libcuda.so.1')
        except OSError as error:
            raise NoDevice(f'no CUDA device: {error}') from None
        number, count = ctypes.c_int(), ctypes.c_int()
        self.call('cuInit', 0)
        self.call('cuDeviceGetCount', ctypes.byref(count))
        if not count.value:
            raise NoDevice('no CUDA device: the driver counts 0')
        self.call('cuDeviceGet', ctypes.byref(number), 0)
        name, version, context = ctypes.create_string_buffer(100), ctypes.c_int(), _address()
        self.call('cuDeviceGetName', name, len(name), number)
        self.call('cuDriverGetVersion', ctypes.byref(version))
        parts = [ctypes.c_int() for _ in range(2)]
        for part, attribute in zip(parts, (MAJOR, MINOR), strict=True):
            self.call('cuDeviceGetAttribute', ctypes.byref(part), attribute, number)
        self.call('cuDevicePrimaryCtxRetain', ctypes.byref(context), number)
        self.call('cuCtxSetCurrent', context)
        self.architecture = f'sm_{parts[0].value}{parts[1].value}'
        major, minor = divmod(version.value, 1000)
        self.title = f'{name.value.decode()}, {self.architecture}, CUDA {major}.{minor // 10}'

    def call(self, function: str, *arguments: object) -> None:
        """Call the driver.

        Raises:
            NoDevice: it reports an error.
        """
        code = self._driver[function](*arguments)
        if code:
            text = ctypes.c_char_p()
            self._driver.cuGetErrorString(code, ctypes.byref(text))
            reason = text.value.decode() if text.value else f'error {code}'
            raise NoDevice(f'CUDA device: {function}: {reason}')

    def load(self, code: bytes) -> Kernels:
        """Return the kernels of a module."""
        module = _address()
        self.call('cuModuleLoadData', ctypes.byref(module), code)
        return Kernels(self, module)


class Kernels:
    """The kernels of a module on the device."""

    def __init__(self, device: Device, module: ctypes.c_void_p) -> None:
        self._device, self._module = device, module

    def run(self, kernel: str, inputs: Sequence[Array], outputs: Sequence[Array]) -> float:
        """Fill outputs (count, size) from inputs; return the least seconds of one run."""
        call, function = self._device.call, _address()
        call('cuModuleGetFunction', ctypes.byref(function), self._module, kernel.encode())
        places = [_address() for _ in (*inputs, *outputs)]
        for place, array in zip(places, (*inputs, *outputs), strict=True):
            call('cuMemAlloc_v2', ctypes.byref(place), ctypes.c_size_t(array.nbytes))
        for place, array in zip(places, inputs, strict=False):
            call('cuMemcpyHtoD_v2', place, _data(array), ctypes.c_size_t(array.nbytes))
        count = ctypes.c_longlong(len(outputs[0]))
        given = [*places, count]
        parameters = (ctypes.c_void_p * len(given))(*map(ctypes.addressof, given))
        blocks = -(-count.value // MOST_THREADS)

        def launch() -> None:
            grid = (blocks, 1, 1, MOST_THREADS, 1, 1)
            call('cuLaunchKernel', function, *grid, 0, None, parameters, None)

        launch()
        call('cuCtxSynchronize')
        seconds = min(self._seconds(launch) for _ in range(ROUNDS))
        for place, array in zip(places[len(inputs) :], outputs, strict=True):
            call('cuMemcpyDtoH_v2', _data(array), place, ctypes.c_size_t(array.nbytes))
        for place in places:
            call('cuMemFree_v2', place)
        return seconds

    def _seconds(self, launch: Callable[[], None]) -> float:
        begin = time.perf_counter()
        for _ in range(CALLS):
            launch()
        self._device.call('cuCtxSynchronize')
        return (time.perf_counter() - begin) / CALLS


def _address() -> ctypes.c_void_p:
    return ctypes.c_void_p()


def _data(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def source(arm: Dynamics, scalar: str) -> str:
    """Return the source of the functions that are measured; its kernels are arm_..._rows."""
    exported = functions(arm, list(NAMES))
    (text,) = cuda_files(arm, exported, 'arm', scalar, version='').values()
    return text


def measured(kernels: Compiled, robot: str, scalar: str, rows: int) -> list[Row]:
    """Return the rates of a robot's kernels, and their errors against the library on the CPU."""
    model, dtype = find(robot).model, DTYPES[scalar]
    arm, found = Dynamics(model), []
    states = random_state(model, np.random.default_rng(0), rows)
    for name in NAMES:
        inputs = [np.ascontiguousarray(x, dtype) for x in states.of(name)]
        out = np.full((rows, model.n), np.nan, dtype)
        seconds = kernels.run(f'arm_{name}_rows', inputs, [out])
        expected = getattr(arm, name)(*(x.astype(float) for x in inputs))
        error = float(np.abs(out - expected).max() / np.abs(expected).max())
        found.append(Row(robot, scalar, name, rows / seconds, error, TOLERANCES[scalar]))
    return found


def shown(found: Sequence[Row], mjx: dict[tuple[str, str], float]) -> str:
    """Return the table; `mjx` has evaluations per second by robot and function."""
    heads = ['', 'numbers', '', 'G/s', 'error', 'MJX, float, G/s']
    cells = []
    for row in found:
        other = mjx.get((row.robot, row.function))
        cells.append(
            [
                row.robot,
                row.scalar,
                FUNCTIONS[row.function].title,
                f'{1e-9 * row.rate:.3f}',
                f'{row.error:.0e}' + ('' if row.error <= row.tolerance else ' DISAGREES'),
                '-' if other is None or row.scalar == 'double' else f'{1e-9 * other:.3g}',
            ]
        )
    return table(heads, cells)


def mjx_rates(robot: str, rows: int) -> dict[tuple[str, str], float]:
    """Return MJX's evaluations per second, measured in another process: it may fail there."""
    code = f'from benchmarks.cuda_device import print_mjx; print_mjx({robot!r}, {rows})'
    try:
        done = subprocess.run(
            [sys.executable, '-c', code], capture_output=True, text=True, timeout=MJX_SECONDS
        )
    except subprocess.TimeoutExpired:
        print(f'MJX of {robot} not measured: more than {MJX_SECONDS} s')
        return {}
    if done.returncode:
        reason = (done.stderr.strip() or 'no message').splitlines()[-1]
        print(f'MJX of {robot} not measured: {reason}')
        return {}
    lines = [line.split() for line in done.stdout.splitlines()]
    return {(robot, name): float(rate) for name, rate in lines}


def print_mjx(robot: str, rows: int) -> None:
    """Print MJX's evaluations per second of each function, in float."""
    import jax
    import mujoco
    from mujoco import mjx

    from benchmarks.contenders.mujoco import load

    if jax.default_backend() != 'gpu':
        raise SystemExit(f'JAX computes on the {jax.default_backend()}')
    model = load(find(robot)).model
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    device, blank = mjx.put_model(model), mjx.make_data(model)
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (3, rows, model.nv)).astype(np.float32)

    def inverse_dynamics(q, qd, x):  # type: ignore[no-untyped-def]
        return mjx.inverse(device, blank.replace(qpos=q, qvel=qd, qacc=x)).qfrc_inverse

    def forward_dynamics(q, qd, x):  # type: ignore[no-untyped-def]
        return mjx.forward(device, blank.replace(qpos=q, qvel=qd, qfrc_applied=x)).qacc

    for function in (inverse_dynamics, forward_dynamics):
        call = jax.jit(jax.vmap(function))
        given = [jax.device_put(x) for x in states]
        call(*given).block_until_ready()
        begin = time.perf_counter()
        for _ in range(CALLS):
            result = call(*given)
        result.block_until_ready()
        print(function.__name__, CALLS * rows / (time.perf_counter() - begin))


def main(words: Sequence[str] | None = None) -> int:
    """Build, compare, measure and print."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.cuda_device')
    parser.add_argument('--robots', nargs='+', default=ROBOTS, help='default: %(default)s')
    parser.add_argument('--rows', type=int, default=ROWS, help='states; default: %(default)s')
    parser.add_argument(
        '--build-only', metavar='sm_XY', help='compile for this architecture; needs no device'
    )
    given = parser.parse_args(words)
    if given.rows < 1:
        parser.error(f'--rows is {given.rows}; expected a positive number')
    try:
        device = None if given.build_only else Device()
        architecture = device.architecture if device else given.build_only
        found, mjx = [], {}
        for robot in given.robots:
            arm = Dynamics(find(robot).model)
            for scalar in DTYPES:
                code, _ = built(source(arm, scalar), f'{robot}.cu', architecture)
                print(f'{robot}, {scalar}: {len(code)} bytes for {architecture}', flush=True)
                if device:
                    found += measured(device.load(code), robot, scalar, given.rows)
    except (NoDevice, NvrtcMissing) as error:
        print(f'not measured: {error}', file=sys.stderr)
        return 2
    if device is None:
        return 0
    for robot in given.robots:
        mjx |= mjx_rates(robot, given.rows)
    print(f'\n{device.title}, {datetime.date.today()}, {given.rows} states\n')
    print(shown(found, mjx))
    return int(not all(row.error <= row.tolerance for row in found))


if __name__ == '__main__':
    sys.exit(main())
