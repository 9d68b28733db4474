# SPDX-License-Identifier: Apache-2.0
"""Recovery of servos from simulated recordings, and coverage of the stated errors."""

import numpy as np
import pytest
import servo_arms
from servo_arms import commands, drawn_servos, positions, recording, table_arm

from robot_dynamics.identification.servo.servo_identification import identify_servo

NAMES = {'lag': 'D', 'coulomb': 'fc', 'armature': 'A', 'limit': 'tmax'}
MEDIANS = {'lag': 0.003, 'coulomb': 0.01, 'armature': 0.01, 'limit': 0.01}


@pytest.mark.slow
@pytest.mark.parametrize('kind', [servo_arms.mix, servo_arms.steps])
def test_errors_of_recovery_and_their_coverage(kind):
    arm, joints = table_arm(4), 4
    errors, z = ({name: [] for name in NAMES} for _ in range(2))
    delays, scale = [], []
    for seed in range(3):
        servos = drawn_servos(joints, seed)
        t, u = commands(kind, joints, 30.0, seed)
        found = identify_servo(arm, [recording(t, u, positions(servos, t, u))])
        for name, torque in NAMES.items():
            x = found.ratios[name] / (servos[torque] / servos['kp']) - 1
            known = np.isfinite(x)
            errors[name] += np.abs(x[known]).tolist()
            z[name] += np.abs(x * found.ratios[name] / found.errors[name])[known].tolist()
        delays += np.abs(found.delay - servos['delay']).tolist()
        kp = found.parameters[:, 4] / servos['kp'] - 1
        scale += [abs(x) for x, one in zip(kp, found.scale, strict=True) if one == 'gravity']
        # pan has no gravity, and never a number in N m.
        assert np.isnan(found.absolute['stiffness'][0])
    for name, most in MEDIANS.items():
        assert np.median(errors[name]) < most
        assert np.quantile(errors[name], 0.9) < 0.03
        assert max(errors[name]) < 0.05
    assert np.median(delays) < 5e-4
    assert len(scale) >= 3
    assert np.median(scale) < 5e-3
    # About 45 values, of which 2 errors hold 92 to 98 % in the long run.
    assert np.mean(np.concatenate(list(z.values())) < 2) > 0.80
    # 12 values of A/kp alone, of which they hold 92 to 95 %.
    assert np.mean(np.array(z['armature']) < 2) > 0.80
