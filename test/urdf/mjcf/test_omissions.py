# SPDX-License-Identifier: Apache-2.0
"""What a model of an MJCF file leaves out is named; loops are offered as closures."""

import warnings

import numpy as np
import pytest
from mjcf_text import link, world

from robot_dynamics import ClosedChain, Dynamics, LoopClosure, load_mjcf

FIXED = '<tendon><fixed name="t" {}><joint joint="j" coef="1"/></fixed></tendon>'


@pytest.mark.parametrize(
    ('joint', 'body', 'others', 'message'),
    [
        ('stiffness="3"', '', '', "springs of joints are left out: 'j'"),
        ('damping="1 0.2"', '', '', "linear part alone is used: 'j'"),
        ('', 'gravcomp="1"', '', "gravcomp.* is left out: .* 'a'"),
        ('', '', '<option><flag damper="disable"/></option>', 'flags switch off .*: damper'),
        ('', '', '<option density="1.2"/>', 'forces of a fluid are left out: density'),
        ('', '', FIXED.format(''), "tendons are left out: 't'$"),
        ('', '', FIXED.format('damping="2"'), r"tendons are left out: 't' \(with damping\)"),
        (
            '',
            '',
            FIXED.format('') + '<actuator><motor name="m" tendon="t"/></actuator>',
            "actuators that act on no hinge or slide joint are left out: 'm'",
        ),
    ],
)
def test_what_is_left_out_is_named(write, joint, body, others, message):
    text = world(link('a', f'<joint name="j" {joint}/>', place=body), others)
    with pytest.warns(UserWarning, match=message):
        assert load_mjcf(write(text)).n == 1


@pytest.mark.parametrize(
    ('option', 'replaced'),
    [
        ('boundmass="3"', True),
        ('boundinertia="0.5"', True),
        ('inertiafromgeom="true"', True),
        ('boundmass="0.001"', False),
        ('balanceinertia="true" inertiafromgeom="false"', False),
    ],
)
def test_inertias_that_the_compiler_replaces_are_named(write, option, replaced):
    text = world(link('a', inside='<geom size="0.1"/>'), f'<compiler {option}/>')
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter('always')
        load_mjcf(write(text))
    assert [str(one.message).endswith("gives a body: 'a'") for one in found] == [True] * replaced


def test_an_inertia_that_is_balanced_is_named(write):
    body = '<inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.3"/>'
    text = world(f'<body name="a">{body}<joint/></body>', '<compiler balanceinertia="true"/>')
    with pytest.warns(UserWarning, match="<compiler> replace .* 'a'"):
        load_mjcf(write(text))


def test_a_plain_robot_causes_no_warning(write):
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        load_mjcf(write(world(link('a', '<joint damping="2" frictionloss="1" armature="1"/>'))))


FOUR_BAR = (
    link('crank', '<joint name="crank" axis="0 1 0"/>',
         link('coupler', '<joint name="coupler" axis="0 1 0"/>', '<site name="end" pos="1 0 0"/>',
              'pos="0 0 0.5"'))
    + link('rocker', '<joint name="rocker" axis="0 1 0"/>', '<site name="top" pos="0 0 0.5"/>',
           'pos="1 0 0"')
)  # fmt: skip


@pytest.mark.parametrize(
    ('equality', 'kind'),
    [
        ('<connect name="pin" body1="coupler" body2="rocker" anchor="1 0 0"/>', 'ball'),
        ('<connect name="pin" site1="end" site2="top"/>', 'ball'),
        ('<weld name="pin" site1="end" site2="top"/>', 'rigid'),
        ('<weld name="pin" body1="coupler" body2="rocker"/>', 'rigid'),
    ],
)
def test_the_closure_that_is_offered_closes_the_loop(write, equality, kind):
    text = world(FOUR_BAR, f'<equality>{equality}</equality>')
    offered = f"LoopClosure('pin_1', 'pin_2', '{kind}')"
    with pytest.warns(UserWarning, match='ClosedChain closes it with') as caught:
        model = load_mjcf(write(text))
    assert any(offered in str(w.message) for w in caught)
    assert model.n == 3
    # In the posture of the file the loop is closed: the frames coincide.
    arm = Dynamics(model)
    ends = [arm.forward_kinematics(np.zeros(3), name) for name in ('pin_1', 'pin_2')]
    np.testing.assert_allclose(ends[0][:3, 3], ends[1][:3, 3], atol=1e-15)
    if kind == 'rigid':
        np.testing.assert_allclose(*ends, atol=1e-15)
    else:
        assert ClosedChain(arm, [LoopClosure('pin_1', 'pin_2', kind)]).mobility == 1
