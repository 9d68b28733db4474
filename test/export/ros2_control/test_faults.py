# SPDX-License-Identifier: Apache-2.0
"""Faults made by hand in the exported C++: the tests of law, arm and controller find each one."""

import subprocess

import pytest
from c_compilers import FOUND, KINDS, needs_compiler
from ros2_control_package import FAKE, Package, run

LAW = [
    ('law', 's.kp[i] * (r.q[i] - q[i])', 's.kp[i] * (q[i] - r.q[i])'),
    ('law', '? -s.kd[i] * qd[i]', '? s.kd[i] * qd[i]'),
    ('law', '0.25 * (of_sum[i]', '0.5 * (of_sum[i]'),
    ('law', 'friction_torque(r.qd, friction)', 'friction_torque(qd, friction)'),
    ('law', 'if (!s.gravity) {\n    acting', 'if (false) {\n    acting'),
    ('law', 'feedback = zero;', ''),
    ('law', 'if (s.gravity) {', 'if (true) {'),
    ('law', 'x * x * (3.0 - 2.0 * x)', 'x'),
    ('law', 'std::min(elapsed, LONGEST_STEP)', 'elapsed'),
    ('law', 'dt > 0.0 ? rate(s, i) * dt : 0.0', 'rate(s, i) * std::max(dt, 1e-9)'),
    ('law', 'std::isfinite(period) ? std::max(period, 0.0) : 0.0', 'std::abs(period)'),
    ('law', 'missing_ = 0.0;\n      return Cycle::followed', 'return Cycle::followed'),
    ('law', 'release();  // held where the arm then is', ''),
    ('law', 'given && !ended &&', 'given &&'),
    ('law', 'if (!finite(wanted)) {', 'if (false) {'),
    ('law', 'following_ = (following_ && !led && !begins(r)) ||', 'following_ = true ||'),
    ('law', '!led && !begins(r)', '!led'),
    ('law', 'if (stop == Stop::gravity_only) {\n', 'if (false) {\n'),
    ('law', 'if (!held_[i] || stop', 'if (stop'),
    ('law', 'braking_ >= LONGEST_BRAKING', 'false'),
    ('law', 'std::clamp(given, -s.effort_limit[i], s.effort_limit[i])', 'given'),
    ('contact', 'balance_anew(world);', ''),
    ('contact', 'since_ > LONGEST_GAP;\n    if (anew)', 'false;\n    if (anew)'),
    ('contact', 'std::min(smallest[i], std::abs(', 'std::max(0.0, std::abs('),
    ('contact', 'std::min(elapsed, 0.5 * s.contact_timeout)', 'elapsed'),
    ('contact', 'quiet_ < SETTLED', 'false'),
    ('contact', 'acknowledged_ = NONE;\n      }', '}'),
    ('contact', 'lost_ = lost_ && silence_ > timeout', 'lost_ = false'),
    ('contact', 's.noise_per_momentum[i] * p[i]', 's.noise_per_momentum[i]'),
    ('contact', 'std::sqrt(observer.unsettled()[i])', '1.0'),
    ('contact', 'std::copysign(1.0 - kept, dq)', 'std::copysign(1.0 - kept, -dq)'),
    ('contact', 'settle(q, qd);\n', ''),
]  # fmt: skip

ARM = [
    ('arm', 'std::clamp(effort[i], -effort_limit[i], effort_limit[i])', 'effort[i]'),
    ('arm', 'std::clamp(rest, -h * coulomb[i], h * coulomb[i])', 'h * coulomb[i]'),
    ('arm', 'A_[i * N + i] += h * viscous[i];', ''),
    ('arm', 'std::clamp(next, lower[i], upper[i])', 'next'),
    ('arm', 'std::min(time, LONGEST) / steps', 'STEP / 2.0'),
]  # fmt: skip

CONTROLLER = [
    ('controller', '.value_or(NONE);  // NaN', '.value_or(0.0);  // NaN'),
    ('controller', 'if (restarted) {', 'if (false) {'),
    ('controller', 'was_active_ && steady_clock::now() - stopped_ < RESTART', 'was_active_'),
    ('controller', '(void)interfaces.back()->set_value(NONE);\n    }', '}'),
    ('controller', '{\n  forget_references();\n  const Settings', '{\n  const Settings'),
    ('controller', '{\n  forget_references();\n  stopped_', '{\n  stopped_'),
    ('controller', 'stale ? Reference{} : newest.value', 'newest.value'),
    ('controller', 'settings.command_per_torque[i] * tau[i]', 'tau[i]'),
    ('controller', 'present[i] /= settings.command_per_torque[i];', ''),
    ('controller', 'settings.effort_scale[i] * effort_[i]', 'effort_[i]'),
    ('controller', 'resting_torque(settings, *world_.readFromRT(), law_.position(), tau)', ''),
    ('controller', 'lost || unwritten_ > settings.input_timeout', 'unwritten_ > 0.0'),
    ('controller', '} else {\n    contact_.restart();', '}\n  {\n    contact_.restart();'),
    ('controller', 'contact_.acknowledge(settings.contact_timeout);', ''),
    ('controller', '(*into)[i] = (*values)[from];', '(*into)[i] = (*values)[i];'),
    ('controller', 'world_.writeFromNonRT(world);', ''),
    ('controller', '"observer.enabled", "effort_scale",', '"observer.enabled",'),
    ('controller', '!publisher_->try_publish(external_message_)', 'false'),
    ('controller', '!frame.empty() && frame != PAYLOAD_LINK', 'false'),
    ('controller', 'mass += moves ? 0.0 : mass_of(*child)', 'mass += mass_of(*child)'),
    ('parameters', 'value >= low && value <= high', 'value <= high'),
    ('parameters', 'I[3] + m * (x * x + z * z)', 'I[3]'),
    ('parameters', '1.0 / s.effort_scale[i]', '1.0 / size'),
    ('parameters', '!in_torque && size != 1.0 && !(most[i] > 0.0)', 'false'),
    ('parameters', 'most[i] / std::abs(s.command_per_torque[i])', 'most[i]'),
    ('parameters', 'std::min({xx, yy, zz}) >= -slack && minors >= -slack * half &&', ''),
    ('parameters', 's.level[i] *= margin[i];', 's.level[i] *= 0.1;'),
]  # fmt: skip


def faulty(package, folder, fault):
    """Write a fault into a file of a package; return its text before."""
    name, old, new = fault
    ending = 'hpp' if folder == f'include/{package.name}' else 'cpp'
    file = f'{folder}/{name}.{ending}'
    before = package.files[file]
    assert before.count(old) == 1, (fault, before.count(old))
    package.write(file, before.replace(old, new))
    return file, before


def survivors(package, folder, faults, found):
    """Return the faults that a function, which tests the package, does not find."""
    alive = []
    for fault in faults:
        file, before = faulty(package, folder, fault)
        if not found():
            alive.append(fault)
        package.write(file, before)
    return alive


def failed(test):
    """Return a function that tells whether a test of a package fails, by compilation or result."""

    def fails():
        return test(FOUND[0], '-O0', '-Wno-error')[0] != 0

    return fails


@pytest.mark.slow
@needs_compiler
def test_faults_of_the_law_are_found(tmp_path):
    package = Package(tmp_path, 'gripper')
    include = f'include/{package.name}'
    assert not survivors(package, include, LAW, failed(package.law_test))


@pytest.mark.slow
@needs_compiler
def test_faults_of_the_arm_are_found(tmp_path):
    package = Package(tmp_path, 'gripper')
    include = f'include/{package.name}'
    assert not survivors(package, include, ARM, failed(package.arm_test))


@pytest.mark.soak
@needs_compiler
def test_faults_of_the_controller_are_found(tmp_path):
    package = Package(tmp_path, 'gripper')
    folders = [f'-I{FAKE}', *(f'-I{tmp_path / x}' for x in ('include', 'test', 'src'))]

    def compiled(source):
        command = [KINDS[FOUND[0]], '-std=c++17', '-O0', '-c', str(source), *folders]
        target = tmp_path / f'{source.stem}.o'
        done = subprocess.run([*command, '-o', str(target)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return str(target)

    own = [tmp_path / f'src/{name}.cpp' for name in ('controller', 'parameters')]
    tests = [tmp_path / 'test/controller_test.cpp', FAKE / 'counted_new.cpp']
    compiled_tests = [compiled(x) for x in tests]
    sound = {source: compiled(source) for source in own}
    program = tmp_path / 'program'

    def fails(changed=()):
        objects = [compiled(x) if x in changed else sound[x] for x in own]
        command = [KINDS[FOUND[0]], *compiled_tests, *objects, '-o', str(program)]
        subprocess.run(command, check=True)
        return run(program)[0] != 0

    assert not fails()
    alive = []
    for source in own:
        faults = [fault for fault in CONTROLLER if fault[0] == source.stem]
        alive += survivors(package, 'src', faults, lambda source=source: fails([source]))
        compiled(source)
    assert not alive
