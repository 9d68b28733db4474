# SPDX-License-Identifier: Apache-2.0
"""Headers in C: compiled, run, and compared with the compiled programs of the library."""

import itertools
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiers
from c_compilers import FOUND, NATIVE, compile_c, each_compiler, has_fma, run_c
from robots import load

from robot_dynamics import Dynamics, cli
from robot_dynamics.codegen.loops.loop_program import LoopProgram
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.resources import share_file
from robot_dynamics.control.impedance import CartesianImpedance, Impedance, PoseReference
from robot_dynamics.control.momentum_observer import MomentumObserver, ObserverSettings
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.model.inertia import Inertial, to_parameters
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.export.c_header import c_files, identifier
from robot_dynamics.export.functions import FUNCTIONS, ExportError, functions

ELBOW = share_file('urdf/planar_2r.urdf')
CONTROL = ['inverse_dynamics', 'gravity_torque', 'mass_matrix', 'terms', 'forward_dynamics']


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a header with its self-test and returns the latter's path."""

    def written(arm, names, name='arm', scalar='double', frame=None, **variable):
        exported = functions(arm, names, frame, **variable)
        for file, text in c_files(
            arm, exported, name, scalar, version='0', self_test=True
        ).items():
            (tmp_path / file).write_text(text)
        return tmp_path / f'{name}_self_test.c'

    return written


def errors(output):
    """Return the largest error of each result, relative to its largest entry."""
    pattern = r'^(\S.*?) +error (\S+) of (\S+), (\d+) of (\d+) entries equal$'
    rows = re.findall(pattern, output, re.M)
    assert rows
    assert output.endswith('PASSED\n')
    return {
        name: (float(error) / (float(largest) or 1.0), int(equal) == int(size))
        for name, error, largest, equal, size in rows
    }


@each_compiler
def test_bits_of_the_library(write, tmp_path, kind):
    source = write(Dynamics(planar_2r()), CONTROL)
    found = errors(run_c(kind, source, tmp_path / 't', '-O1', *NATIVE))
    assert len(found) == 7
    if has_fma(kind):
        assert all(equal for _, equal in found.values()), found
    # Other roundings, but no others than those of a processor without fused multiply-add.
    assert all(error <= 1e-13 for error, _ in errors(run_c(kind, source, tmp_path / 't')).values())


OTHERS = [('panda', 'float'), *itertools.product(['ur5', 'kuka_iiwa'], ['double', 'float'])]


@each_compiler
@pytest.mark.parametrize('case', [*tiers.slow([('panda', 'double')]), *tiers.soak(OTHERS)])
def test_all_functions_of_arms(write, tmp_path, kind, case):
    robot, scalar = case
    arm = Dynamics(load(robot))
    long = ['cartesian_impedance', 'joint_impedance'] if scalar == 'float' else []
    names = [name for name in FUNCTIONS if name not in long]
    source = write(arm, names, scalar=scalar, frame=arm.model.frame_names[-1])
    for flags in (['-O2'], ['-O1', *NATIVE]):
        found = errors(run_c(kind, source, tmp_path / 't', *flags))
        assert len(found) > len(names)
        if scalar == 'double' and flags != ['-O2'] and has_fma(kind):
            assert all(equal for _, equal in found.values()), found


@each_compiler
def test_loops_over_a_long_chain(write, tmp_path, kind):
    arm = Dynamics(random_tree(30, np.random.default_rng(1), branching=0.1))
    source = write(arm, ['coriolis_matrix', 'forward_dynamics_derivatives'])
    assert 'switch (kind[row])' in (tmp_path / 'arm.h').read_text()
    found = errors(run_c(kind, source, tmp_path / 't', '-O1', *NATIVE))
    if has_fma(kind):
        assert all(equal for _, equal in found.values()), found


@each_compiler
def test_loops_where_the_library_runs_a_straight_line(write, tmp_path, kind):
    """The bits of the same loops in the library, and the numbers of its straight line."""
    arm = Dynamics(random_tree(4, np.random.default_rng(1), branching=0.4))
    names = ['mass_matrix', 'kinetic_energy']
    assert not any(isinstance(f.program, LoopProgram) for f in functions(arm, names))
    source = write(arm, names, loops=True)
    # The energies visit bodies in another way, and stay a straight line.
    matrix, energy = (tmp_path / 'arm.h').read_text().split('arm_kinetic_energy(')
    assert 'switch (kind[row])' in matrix
    assert 'switch (kind[row])' not in energy
    found = errors(run_c(kind, source, tmp_path / 't', '-O1', *NATIVE))
    if has_fma(kind):
        assert all(equal for _, equal in found.values()), found
    in_loops = functions(arm, names, loops=True)[0].made
    q = np.random.default_rng(2).normal(size=arm.model.n)
    np.testing.assert_allclose(in_loops(q), arm.mass_matrix(q), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ('names', 'variable'), [(['kinetic_energy'], ()), (['gravity_torque'], ('gravity',))]
)
def test_loops_for_none_of_the_functions(names, variable):
    with pytest.raises(ExportError, match=f'^{names[0]} of .* cannot be written as loops'):
        functions(Dynamics(planar_2r()), names, None, variable, loops=True)


@pytest.mark.skipif('gcc' not in FOUND, reason='needs gcc, whose sanitizers come with it')
def test_sanitizers_find_nothing(write, tmp_path):
    source = write(Dynamics(planar_2r()), [*CONTROL, 'friction_torque'])
    flags = ['-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all']
    errors(run_c('gcc', source, tmp_path / 't', *flags))


@each_compiler
def test_two_headers_in_one_file_of_cpp(write, tmp_path, kind):
    arm = Dynamics(planar_2r())
    write(arm, ['gravity_torque'], 'coarse', 'float')
    write(arm, ['gravity_torque'], 'fine', 'double')
    source = tmp_path / 'both.cpp'
    source.write_text(
        '#include <cstdio>\n#include "coarse.h"\n#include "fine.h"\n#include "fine.h"\n'
        'int main() {\n'
        '    const float p[COARSE_N] = {0.25f, -0.5f};\n    float f[COARSE_N];\n'
        '    const double q[FINE_N] = {0.25, -0.5};\n    double g[FINE_N];\n'
        '    coarse_gravity_torque(p, f);\n    fine_gravity_torque(q, g);\n'
        '    std::printf("%.17g %.17g %.9g %.9g", g[0], g[1], double(f[0]), double(f[1]));\n}\n'
    )
    printed = [float(x) for x in run_c(kind, source, tmp_path / 't', '-O2').split()]
    expected = arm.gravity_torque([0.25, -0.5])
    np.testing.assert_allclose(printed[:2], expected, rtol=1e-15)
    np.testing.assert_allclose(printed[2:], expected, rtol=1e-6)


def test_arguments_of_the_self_test_are_exact(write):
    """The test in float has the arguments that the library was called with."""
    text = write(Dynamics(planar_2r()), ['gravity_torque'], scalar='float').read_text()
    (table,) = re.findall(r'gravity_torque_q\[\d+\]\[2\] = \{(.*?)\};', text, re.S)
    values = np.array([float(x) for x in re.findall(r'[-\d.]+(?=f)', table)])
    assert len(values) == 8
    assert (values == values.astype(np.float32)).all()


@each_compiler
@pytest.mark.parametrize(
    ('flags', 'reason'),
    [
        (['-ffast-math'], 'compile without -ffast-math'),
        (['-ffinite-math-only'], 'compile without -ffast-math'),
        # A Cortex-M4 with registers of single precision.
        (['-D__ARM_ARCH_PROFILE=77', '-D__ARM_FP=4'], 'export with --scalar float'),
    ],
)
def test_flags_that_it_refuses(write, tmp_path, kind, flags, reason):
    source = write(Dynamics(planar_2r()), ['gravity_torque'])
    refused = compile_c(kind, source, tmp_path / 't', *flags)
    assert refused.returncode != 0
    assert reason in refused.stderr


@each_compiler
def test_sums_that_may_be_reordered(write, tmp_path, kind):
    """gcc tells the header, which refuses; clang keeps the order where angles are rounded."""
    source = write(Dynamics(planar_2r()), ['gravity_torque', 'friction_torque'])
    flag = '-funsafe-math-optimizations'
    if kind == 'gcc':
        refused = compile_c(kind, source, tmp_path / 't', flag)
        assert 'compile without -ffast-math' in refused.stderr
    else:
        errors(run_c(kind, source, tmp_path / 't', '-O2', flag))


def test_names_of_robots_become_identifiers_and_no_headers_of_c():
    assert identifier('UR 10e (left)') == 'ur_10e_left'
    assert identifier('2*2') == 'robot_2_2'
    assert identifier('\N{GREEK SMALL LETTER OMEGA}') == 'robot'
    for header in ('string', 'stdio', 'stddef', 'stdint', 'math', 'Float'):
        assert identifier(header) == f'robot_{header.lower()}'
        with pytest.raises(ExportError, match=f"'{header}' is that of a header of C"):
            c_files(Dynamics(planar_2r()), [], header, 'double', version='0', self_test=False)


@each_compiler
def test_a_robot_with_the_name_of_a_header_is_compiled(tmp_path, kind):
    """With the folder of the header among those that are searched."""
    urdf = ELBOW.read_text().replace('name="planar_2r"', 'name="string"')
    (tmp_path / 'arm.urdf').write_text(urdf)
    options = '--language', 'c', '--functions', 'gravity_torque', '--self-test', '--output'
    assert cli.main(['export', str(tmp_path / 'arm.urdf'), *options, str(tmp_path / 'out')]) == 0
    source = tmp_path / 'out' / 'robot_string_self_test.c'
    run_c(kind, source, tmp_path / 't', f'-I{source.parent}')


def test_the_header_says_what_it_computes(write, tmp_path):
    arm = Dynamics(planar_2r())
    write(arm, ['inverse_dynamics', 'terms'])
    text = (tmp_path / 'arm.h').read_text()
    assert arm.model.fingerprint() in text
    assert 'tau = M(q) qdd + C(q, qd) qd + g(q)' in text
    assert 'q: (n) joint positions, rad or m.' in text
    for i, joint in enumerate(arm.model.joint_names):
        assert f'{i}  {joint}, rad' in text
    frame = arm.model.frame_names[-1]
    write(arm, ['gravity_torque', 'momentum_observer', 'jacobian'], frame=frame)
    text = (tmp_path / 'arm.h').read_text()
    assert text.count('Frame: ') == text.count(f'V = J qd.\n       Frame: {frame}.\n') == 1


@pytest.mark.parametrize(
    ('names', 'frame', 'message'),
    [
        (['simulation_step'], None, "function 'simulation_step' is not exported: its integrator"),
        (['operational_space'], None, "function 'operational_space' is not exported: it is undef"),
        (['gravity'], None, "function 'gravity' is unknown; expected inverse_dynamics, base_wren"),
        (['jacobian'], None, 'expected its name (--frame), one of tip, link2, link1, base'),
        (['terms'], 'link2', "frame 'link2' is not used by terms; expected none"),
        (['jacobian'], 'hand', "'hand'"),
    ],
)
def test_refusals(names, frame, message):
    with pytest.raises((ExportError, KeyError, ModelError)) as error:
        functions(Dynamics(planar_2r()), names, frame)
    assert message in str(error.value)


@pytest.mark.parametrize(
    'variable', [('gravity',), ('gravity', 'gravity'), ('payload',), ('gravity', 'payload')]
)
def test_gravity_and_payload_as_inputs(variable):
    arm = Dynamics(planar_2r())
    link, rng = arm.model.frame_names[-1], np.random.default_rng(3)
    gravity, q, qd, x = rng.normal(size=3), *rng.normal(size=(3, arm.model.n))
    payload = Inertial(1.2, np.array([0.1, -0.2, 0.3]), np.diag([0.1, 0.2, 0.25]))
    expected, values = arm, []
    if 'gravity' in variable:
        expected, values = expected.with_gravity(gravity), [gravity]
    if 'payload' in variable:
        expected = expected.with_payload(link, payload.mass, payload.com, payload.inertia_com)
        values = [*values, to_parameters(payload)]
    names = ['inverse_dynamics', 'mass_matrix', 'forward_dynamics']
    exported = functions(arm, names, None, variable, link if 'payload' in variable else None)
    torque, matrix, acceleration = (function.made for function in exported)
    close = {'rtol': 1e-12, 'atol': 1e-12}
    np.testing.assert_allclose(
        torque(q, qd, x, *values), expected.inverse_dynamics(q, qd, x), **close
    )
    np.testing.assert_allclose(
        acceleration(q, qd, x, *values), expected.forward_dynamics(q, qd, x), **close
    )
    # Gravity is no input of what does not depend on it.
    of_matrix = values[-1:] if 'payload' in variable else []
    np.testing.assert_allclose(matrix(q, *of_matrix), expected.mass_matrix(q), **close)
    assert [key for key, _ in torque.signature.inputs] == [
        'q',
        'qd',
        'qdd',
        *dict.fromkeys(variable),
    ]
    assert all(f'{key}: (' in exported[0].documentation for key in variable)


def test_the_motion_of_the_base_as_an_input():
    arm = Dynamics(planar_2r())
    q, qd, x, base = *np.random.default_rng(3).normal(size=(3, 2)), np.arange(-4.0, 5.0)
    names = ['inverse_dynamics', 'terms', 'mass_matrix', 'gravity_torque_derivative']
    torque, terms, matrix, stiffness = (
        function.made for function in functions(arm, names, None, ['base'])
    )
    moving = arm.on_moving_base()
    pairs = [
        (torque(q, qd, x, base), moving.inverse_dynamics(q, qd, x, base)),
        *zip(terms(q, qd, base), moving.terms(q, qd, base), strict=True),
        (matrix(q), arm.mass_matrix(q)),
        (stiffness(q, base), moving.gravity_torque_derivative(q, base)),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    for name, variable in (
        ('inverse_dynamics', ('gravity', 'base')),
        ('kinetic_energy', ['base']),
        ('cartesian_impedance', ['base']),
    ):
        with pytest.raises(ExportError, match='base'):
            functions(arm, [name], None, variable)


def observed(made, samples, *values):
    """Return the prompt torque of an exported observer after samples (m, 3, n)."""
    n, zero = samples.shape[-1], np.zeros(samples.shape[-1])
    h, kept = np.array([1e-3]), [zero] * 6
    first = made(*samples[0], np.ones(1), np.zeros(2), *kept, *values)
    kept = [first[0], first[1], *[np.zeros(n)] * 4]
    for sample in samples[1:]:
        *kept, torque = made(*sample, h, np.array([150.0, 60.0]), *kept, *values)
    return torque


@pytest.mark.parametrize('variable', [('gravity', 'payload'), ('base',)])
def test_gravity_payload_and_base_are_inputs_of_the_observer(variable):
    """Torques of `MomentumObserver` with that payload and gravity, or on that moving base."""
    arm = Dynamics(planar_2r().with_actuation(viscous=0.3, coulomb=0.2))
    link, t = arm.model.frame_names[-1], 1e-3 * np.arange(40)[:, None]
    q, qd = np.sin(9 * t + [0.1, 0.2]), 9 * np.cos(9 * t + [0.1, 0.2])
    samples = np.stack([q, qd, 3 * np.sin(20 * t) + [0.0, 1.0]], axis=1)
    dry = JointFriction(LAWS['coulomb'], {'viscous': 0.3, 'coulomb': 0.2})
    settings = ObserverSettings(poles_along_momentum=60.0)
    base, gravity = np.linspace(-1.0, 9.0, 9), np.array([1.0, 2.0, -3.0])
    load = Inertial(1.2, np.array([0.1, -0.2, 0.3]), np.diag([0.1, 0.2, 0.25]))
    is_moving = variable == ('base',)
    other = arm.with_gravity(gravity).with_payload(link, load.mass, load.com, load.inertia_com)
    observer = MomentumObserver(arm if is_moving else other, dry, settings, moving_base=is_moving)
    for at, sample in zip(t[:, 0], samples, strict=True):
        observer.update(at, *sample, *([base] if is_moving else []))
    (function,) = functions(
        arm, ['momentum_observer'], None, variable, None if is_moving else link
    )
    values = [base] if is_moving else [gravity, to_parameters(load)]
    found = observed(function.made, samples, *values)
    np.testing.assert_allclose(found, observer.prompt_torque, rtol=1e-9, atol=1e-9)
    assert function.begin == ('q', 'qd', 'effort', *variable)


def test_gravity_and_payload_are_inputs_of_joint_impedance():
    arm = Dynamics(planar_2r())
    link, gravity = arm.model.frame_names[-1], np.array([1.0, 2.0, -3.0])
    load = Inertial(1.2, np.array([0.1, -0.2, 0.3]), np.diag([0.1, 0.2, 0.25]))
    (function,) = functions(arm, ['joint_impedance'], None, ['gravity', 'payload'], link)
    (own,) = functions(
        arm.with_gravity(gravity).with_payload(link, load.mass, load.com, load.inertia_com),
        ['joint_impedance'],
    )
    rows = np.random.default_rng(2).uniform(0.1, 1.0, (7, 2))
    for found, expected in zip(
        function.made(*rows, gravity, to_parameters(load)), own.made(*rows), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_unused_inputs_are_kept_where_they_are_wanted():
    """So that code calls the functions of every robot alike."""
    arm = Dynamics(planar_2r())
    link = arm.model.frame_names[-1]
    given = (['mass_matrix'], None, ['gravity', 'payload'], link)
    (pruned,), (kept,) = functions(arm, *given), functions(arm, *given, unused=True)
    assert [key for key, _ in pruned.made.signature.inputs] == ['q', 'payload']
    assert [key for key, _ in kept.made.signature.inputs] == ['q', 'gravity', 'payload']


@each_compiler
def test_names_limits_and_friction_of_the_joints(tmp_path, kind):
    """As in the model: also a name that ends a string, and a joint without limits."""
    strange = 'a"\\??/\n*/%d\u00e9\0' + '1'
    model = planar_2r().with_actuation(viscous=[0.3, 0.1], coulomb=0.2)
    limits = {'lower': np.array([-np.inf, -1.5]), 'effort_limit': np.array([np.inf, 2.5])}
    model = replace(model, joint_names=(strange, 'elbow'), **limits)
    arm = Dynamics(model)
    for scalar in ('float', 'double'):
        exported = functions(arm, ['gravity_torque'])
        (tmp_path / 'arm.h').write_text(
            c_files(arm, exported, 'arm', scalar, version='0', self_test=False)['arm.h']
        )
        source = tmp_path / 'names.cpp'
        source.write_text("""#include <cstdio>
#include "arm.h"
int main() {
    for (const char *x = arm_joint_names[0]; *x; ++x) std::printf("%02x", *x & 0xff);
    std::printf(" %s", arm_joint_names[1]);
    for (int i = 0; i < ARM_N; ++i) {
        std::printf(" %.17g %.17g %.17g %.17g %.17g %.17g", arm_lower[i], arm_upper[i],
                    arm_velocity_limit[i], arm_effort_limit[i], arm_viscous[i], arm_coulomb[i]);
    }
}
""")
        flags = ('-trigraphs', '-Wno-double-promotion')
        first, second, *numbers = run_c(kind, source, tmp_path / 'n', *flags).split()
        assert bytes.fromhex(first) == strange.split('\0')[0].encode()
        assert second == 'elbow'
        names = 'lower', 'upper', 'velocity_limit', 'effort_limit', 'viscous', 'coulomb'
        expected = np.stack([getattr(model, name) for name in names], axis=1).ravel()
        rtol = 0 if scalar == 'double' else 1e-7
        np.testing.assert_allclose([float(x) for x in numbers], expected, rtol=rtol)


@each_compiler
def test_the_controller_of_the_guide(tmp_path, kind):
    """It moves the arm, integrated with the exported forward dynamics, to its target and rests."""
    text = (Path(__file__).parents[2] / 'docs/guides/export.md').read_text()
    command = re.findall(r'^robot-dynamics (export .*)', text.replace('\\\n', ' '), re.M)[0]
    words = command.split()
    words[words.index('--output') + 1] = str(tmp_path)
    assert cli.main(words) == 0
    (controller,) = re.findall(r'```cpp\n(.*?)```', text, re.S)
    source = tmp_path / 'controller.cpp'
    source.write_text(f"""{controller}
#include <cstdio>
int main() {{
    ComputedTorque controller;
    Joints q{{}}, qd{{}}, tau{{}}, qdd{{}}, target{{}};
    for (std::size_t i = 0; i < q.size(); ++i) {{
        q[i] = i == 3 ? -1.5 : 0.0;
        target[i] = q[i] + 0.25;
    }}
    for (int step = 0; step < 2000; ++step) {{
        controller.update(target, q, qd, tau);
        panda_forward_dynamics(q.data(), qd.data(), tau.data(), qdd.data());
        for (std::size_t i = 0; i < q.size(); ++i) {{
            qd[i] += 1e-3 * qdd[i];
            q[i] += 1e-3 * qd[i];
        }}
    }}
    for (std::size_t i = 0; i < q.size(); ++i) std::printf("%g %g ", q[i] - target[i], qd[i]);
}}
""")
    output = run_c(kind, source, tmp_path / 't', '-O1')
    # Critically damped, 10 rad/s: 0.25 (1 + 20) exp(-20) rad are left after 2 s.
    assert np.abs([float(word) for word in output.split()]).max() < 1e-6


@each_compiler
def test_momentum_observer_with_its_state(write, tmp_path, kind):
    """As `MomentumObserver` in Python; the external torque of an arm at rest is found."""
    arm = Dynamics(planar_2r().with_actuation(viscous=0.3, coulomb=0.2))
    errors(run_c(kind, write(arm, ['momentum_observer']), tmp_path / 't'))
    dry = JointFriction(LAWS['coulomb'], {'viscous': 0.3, 'coulomb': 0.2})
    reference = MomentumObserver(arm, dry, ObserverSettings())
    t = 1e-3 * np.arange(60)
    q, qd = np.stack([np.sin(9 * t), np.cos(7 * t)]).T, np.stack([9 * np.cos(9 * t), -7 * t]).T
    effort = np.stack([3 * np.sin(20 * t), 1 - t]).T
    for at, *sample in zip(t, q, qd, effort, strict=True):
        reference.update(at, *sample)
    rows = ', '.join(repr(x) for x in np.concatenate([q, qd, effort], axis=1).ravel().tolist())
    source = tmp_path / 'observe.cpp'
    source.write_text(f"""#include <cstdio>
#include "arm.h"
static const double samples[60][6] = {{{rows}}};
int main() {{
    arm_momentum_observer_state state;
    const double step[1] = {{1e-3}}, poles[2] = {{150.0, 150.0}};
    double found[2] = {{0.0, 0.0}};
    arm_momentum_observer_begin(&state, samples[0], samples[0] + 2, samples[0] + 4);
    for (int i = 1; i < 60; ++i) {{
        const double *x = samples[i];
        arm_momentum_observer_step(&state, x, x + 2, x + 4, step, poles, found);
    }}
    std::printf("%.17g %.17g", found[0], found[1]);
}}
""")
    output = run_c(kind, source, tmp_path / 'o', '-Wno-missing-braces')
    found = [float(word) for word in output.split()]
    np.testing.assert_allclose(found, reference.prompt_torque, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which('cmake') is None, reason='needs cmake')
@pytest.mark.skipif(not FOUND, reason='needs gcc or clang')
def test_cmake_file(write, tmp_path):
    """A project that adds the folder includes the header; ctest runs the self-test."""
    folder = tmp_path / 'arm'
    folder.mkdir()
    arm = Dynamics(planar_2r())
    for file in write(arm, ['gravity_torque']).parent.glob('*.*'):
        file.rename(folder / file.name)
    (tmp_path / 'hold.c').write_text(
        '#include <arm.h>\nint main(void) {\n    const double q[ARM_N] = {0.1, 0.2};\n'
        '    double tau[ARM_N];\n    arm_gravity_torque(q, tau);\n    return !(tau[0] > 0);\n}\n'
    )
    (tmp_path / 'CMakeLists.txt').write_text(
        'cmake_minimum_required(VERSION 3.14)\nproject(hold LANGUAGES C)\nenable_testing()\n'
        'add_subdirectory(arm)\nadd_executable(hold hold.c)\n'
        'target_link_libraries(hold arm_dynamics)\nadd_test(NAME hold COMMAND hold)\n'
    )
    for command in (
        ['cmake', '-S', '.', '-B', 'build'],
        ['cmake', '--build', 'build'],
        ['ctest', '--test-dir', 'build'],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert '100% tests passed, 0 tests failed out of 2' in done.stdout


@pytest.mark.slow
@each_compiler
def test_impedance_with_its_state(write, tmp_path, kind):
    """The bits of the library, and numbers of `CartesianImpedance` in Python along two samples."""
    model = planar_2r().with_actuation(viscous=0.3, coulomb=0.2)
    arm, frame = Dynamics(model), model.frame_names[-1]
    names = ['cartesian_impedance', 'joint_impedance']
    found = errors(run_c(kind, write(arm, names, frame=frame), tmp_path / 't', '-O1', *NATIVE))
    assert len(found) == 9
    if has_fma(kind):
        assert all(equal for _, equal in found.values()), found
    dry = JointFriction(LAWS['coulomb_memory'], {'viscous': 0.3, 'coulomb': 0.2}, 1e-3)
    law, soft, z = CartesianImpedance(arm, frame), Impedance(posture_stiffness=2.0), np.zeros(2)
    q, qd = np.array([0.4, -0.9]), np.array([0.2, 0.1])
    posture, moving = np.array([0.1, -0.2]), np.array([0.01, -0.02])
    target = PoseReference(arm.forward_kinematics(q + 0.1, frame), np.linspace(-0.1, 0.2, 6))
    target = target._replace(acceleration=np.linspace(0.3, -0.2, 6))
    wrench = np.linspace(1.0, 2.0, 6)
    for _ in range(2):
        expected = law.torque(
            *(q, qd, target, soft),
            posture=posture,
            posture_velocity=moving,
            wrench=wrench,
            friction=dry,
            z=z,
            time_step=1e-3,
        )
        z = expected.z
    given = [q, qd, *target, wrench, posture, moving, soft.stiffness]
    given += [[2.0, 2.0], soft.damping, [1e-3, 1e-3], [1e-3]]
    rows = [', '.join(map(repr, np.ravel(x).tolist())) for x in given]
    tables = '\n'.join(f'static const double x{i}[] = {{{row}}};' for i, row in enumerate(rows))
    arguments = ', '.join(f'x{i}' for i in range(len(given)))
    source = tmp_path / 'hold.cpp'
    source.write_text(f"""#include <cstdio>
#include "arm.h"
{tables}
int main() {{
    arm_cartesian_impedance_state state;
    double found[3][2], error[6];
    arm_cartesian_impedance_begin(&state);
    for (int i = 0; i < 2; ++i) {{
        arm_cartesian_impedance_step(&state, {arguments}, found[0], found[1], found[2], error);
    }}
    for (auto &part : found) std::printf("%.17g %.17g ", part[0], part[1]);
    std::printf("%.17g %.17g", state.z[0], state.z[1]);
}}
""")
    printed = [float(word) for word in run_c(kind, source, tmp_path / 'o').split()]
    parts = np.concatenate([expected.impedance, expected.gravity, expected.friction, z])
    np.testing.assert_allclose(printed, parts, rtol=1e-9, atol=1e-12)


def test_each_frame_of_an_arm_has_its_own_steps(write):
    arm = Dynamics(planar_2r())
    frames = 'link1', 'link2', 'link1'
    bodies = []
    for one in frames:
        source = write(arm, ['cartesian_impedance'], frame=one)
        bodies.append(source.with_name('arm.h').read_text().replace(one, 'FRAME'))
    assert bodies[0] == bodies[2] != bodies[1]


@pytest.mark.parametrize('name', ['cartesian_impedance', 'joint_impedance'])
def test_impedance_is_refused_in_float(write, name):
    """Its eigenvectors are scaled by numbers that `float` has not."""
    arm = Dynamics(planar_2r())
    frame = arm.model.frame_names[-1] if name == 'cartesian_impedance' else None
    with pytest.raises(ExportError, match=f"function '{name}' needs --scalar double: 5e[+]199"):
        write(arm, [name], scalar='float', frame=frame)


@each_compiler
def test_variable_inputs_in_c(write, tmp_path, kind):
    arm = Dynamics(planar_2r())
    link = arm.model.frame_names[-1]
    source = write(arm, ['gravity_torque'], variable=('gravity', 'payload'), link=link)
    errors(run_c(kind, source, tmp_path / 't'))


def test_a_payload_needs_its_link():
    for variable, link in ((['payload'], None), (['gravity'], 'link2')):
        with pytest.raises(ExportError, match='the link that carries it; expected both'):
            functions(Dynamics(planar_2r()), ['gravity_torque'], None, variable, link)


def test_a_joint_without_inertia_has_no_forward_dynamics():
    model = planar_2r()
    massless = replace(model, mass=0 * model.mass, inertia_com=0 * model.inertia_com)
    with pytest.raises(ModelError, match="joint 'joint1'"):
        functions(Dynamics(massless), ['forward_dynamics'])


def test_command_line(tmp_path, capsys):
    folder = tmp_path / 'out'
    words = ['export', str(ELBOW), '--language', 'c', '--functions', 'gravity_torque']
    assert cli.main([*words, '--output', str(folder), '--self-test']) == 0
    names = ['CMakeLists.txt', 'planar_2r.h', 'planar_2r_self_test.c']
    assert sorted(path.name for path in folder.iterdir()) == names
    assert capsys.readouterr().out.split() == [
        str(folder / name) for name in (names[1], names[0], names[2])
    ]
    # Written again in place, as other verbs do, and the same.
    before = (folder / 'planar_2r.h').read_text()
    assert cli.main([*words, '--output', str(folder)]) == 0
    assert (folder / 'planar_2r.h').read_text() == before
    assert cli.main([*words, '--output', str(folder), '--loops']) == 0
    assert 'switch (kind[row])' in (folder / 'planar_2r.h').read_text()
    capsys.readouterr()
    for options, message in (
        (['--output', str(folder / 'planar_2r.h')], 'planar_2r.h'),
        (['--output', str(tmp_path / 'a' / 'b')], 'no such folder'),
        (['--output', str(folder), '--name', 'a-b'], "name 'a-b' is no identifier of C"),
    ):
        try:
            code = cli.main([*words, *options])
        except SystemExit as error:
            code = error.code
        assert code == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line
