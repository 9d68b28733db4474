# SPDX-License-Identifier: Apache-2.0
"""Operations and elementary functions of programs in C, against NumPy's in extended precision."""

import ctypes

import numpy as np
import pytest
from c_compilers import NATIVE, each_compiler, has_fma, load_c

from robot_dynamics.codegen.backends.c import Dialect
from robot_dynamics.codegen.tracing import trace

# Largest errors of sine and cosine (absolute) and tanh (relative), in units of rounding.
UNITS = 3.0
TANH_UNITS = 10.0


def functions(x):
    s, c, t = np.sin(x[0]), np.cos(x[0]), np.tanh(x[0])
    root, size = np.sqrt(abs(x[0])), abs(x[0])
    least, most = x[0].minimum(x[1]), x[0].maximum(x[1])
    return [s, c, t, root, size, least, most, x[0] / x[1]]


@pytest.fixture(scope='module')
def compiled(tmp_path_factory):
    """Return a function that compiles `functions` for arrays (k, 2)."""

    def make(kind, scalar, *flags):
        folder = tmp_path_factory.mktemp('c')
        dialect, source = Dialect('t', scalar), folder / 't.c'
        text = dialect.function(trace(functions, {'x': 2}, name='f'))
        source.write_text(
            f'{dialect.beginning()}\n{text}\n'
            f'void run(const {scalar} *x, {scalar} *out, int n);\n'
            f'void run(const {scalar} *x, {scalar} *out, int n) {{\n'
            '    for (int i = 0; i < n; ++i) t_f(x + 2 * i, out + 8 * i);\n}\n'
        )
        library = load_c(kind, source, folder / 't.so', *flags)

        def run(x):
            x = np.ascontiguousarray(x, scalar if scalar == 'double' else np.float32)
            out = np.empty((len(x), 8), x.dtype)
            pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, out)]
            library.run(*pointers, len(x))
            return x, out

        return run

    return make


@each_compiler
@pytest.mark.parametrize('scalar', ['double', 'float'])
@pytest.mark.parametrize('flags', [('-O0',), ('-O2',), ('-O3', *NATIVE)], ids=' '.join)
def test_functions(compiled, kind, scalar, flags):
    run = compiled(kind, scalar, *flags)
    limit = Dialect('t', scalar).limits[1]
    rng = np.random.default_rng(0)
    turns = np.arange(-200, 201) * np.pi / 4
    sizes = np.geomspace(1e-9, limit, 4000) * rng.choice([-1.0, 1.0], 4000)
    x = np.concatenate([[0.0, limit, -limit], turns, sizes])
    x, out = run(np.stack([x, rng.normal(size=len(x))], axis=1))
    a, b = x.astype(np.longdouble).T
    rounding = np.finfo(x.dtype).eps / 2
    error = {
        'sin': out[:, 0] - np.sin(a),
        'cos': out[:, 1] - np.cos(a),
        'tanh': (out[:, 2] - np.tanh(a)) / np.where(a == 0, 1, abs(np.tanh(a))),
        'sqrt': (out[:, 3] - np.sqrt(abs(a))) / np.where(a == 0, 1, np.sqrt(abs(a))),
        'quotient': (out[:, 7] - a / b) / np.where(a == 0, 1, abs(a / b)),
    }
    bounds = {'sin': UNITS, 'cos': UNITS, 'tanh': TANH_UNITS, 'sqrt': 1.01, 'quotient': 1.01}
    worst = {name: float(abs(values).max() / rounding) for name, values in error.items()}
    assert all(worst[name] <= bound for name, bound in bounds.items()), worst
    assert (out[:, 4] == abs(x[:, 0])).all()
    assert (out[:, 5] == x.min(axis=1)).all()
    assert (out[:, 6] == x.max(axis=1)).all()


@each_compiler
def test_not_a_number(compiled, kind):
    for flags in (('-O2',), ('-O2', *NATIVE)):
        run = compiled(kind, 'double', *flags)
        fused = '-march=native' in flags and has_fma(kind)
        limit = Dialect('t').limits[0 if fused else 1]
        beyond = np.nextafter(limit, np.inf)
        for angle in (beyond, -beyond, np.inf, np.nan):
            _, out = run([[angle, 1.0], [1.0, angle]])
            assert np.isnan(out[0, :2]).all()
        assert np.isnan(out[:, 5:7]).all()  # the extrema of 1 and not a number
        _, out = run([[limit, 1.0]])
        assert np.isfinite(out).all()
