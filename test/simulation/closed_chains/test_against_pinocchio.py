# SPDX-License-Identifier: Apache-2.0
"""Accelerations and closure forces against Pinocchio's constrained dynamics."""

from dataclasses import replace

import linkages
import numpy as np
import pinocchio as pin
import pytest
from pin_model import PinRobot

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.closures import LoopClosure
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.simulation.closed_chains import ClosedChain

KINDS = {'ball': pin.ContactType.CONTACT_3D, 'rigid': pin.ContactType.CONTACT_6D}


def random_loop(kind, seed):
    """Return a random branched tree of 10 joints, two links of it held together as they are."""
    rng = np.random.default_rng(seed)
    model = random_tree(10, rng, branching=0.4)
    q = rng.normal(size=10)
    arm = Dynamics(model)
    a, b = (arm.forward_kinematics(q, frame) for frame in ('link6', 'link10'))
    model = replace(
        model,
        frame_names=(*model.frame_names, 'grip'),
        frame_body=[*model.frame_body, model.frame_body[model.frame_index('link6')]],
        frame_placement=[*model.frame_placement, np.linalg.inv(a) @ b],
    )
    return ClosedChain(Dynamics(model), [LoopClosure('grip', 'link10', kind)], near=q)


def spatial_four_bar():
    linkage = linkages.spatial_four_bar()
    return ClosedChain(Dynamics(linkage.tree), linkage.closures, near=linkage.near)


CHAINS = {
    'spatial_four_bar': spatial_four_bar,
    **{f'{kind} {s}': (lambda k=kind, s=s: random_loop(k, s)) for kind in KINDS for s in (2, 7)},
}


@pytest.mark.parametrize('name', CHAINS)
def test_accelerations_and_forces(name):
    chain = CHAINS[name]()
    model, (closure,) = chain.arm.model, chain.closures
    assert chain.independent == closure.equations  # else many forces do the same
    rng = np.random.default_rng(7)
    q = chain.posture(chain.q0 + 0.05 * rng.normal(size=model.n))
    qd = chain.velocity(q, rng.normal(size=model.n))
    tau = rng.normal(size=model.n)
    qdd, multipliers = chain.forward_dynamics(q, qd, tau)
    (wrench,) = chain.wrenches(q, multipliers)

    peer = PinRobot(model)
    frames = [peer.pin.frames[peer.pin.getFrameId(f)] for f in (closure.frame_b, closure.frame_a)]
    contact = pin.RigidConstraintModel(
        KINDS[closure.kind],
        peer.pin,
        frames[0].parentJoint,
        frames[0].placement,
        frames[1].parentJoint,
        frames[1].placement,
        pin.ReferenceFrame.LOCAL,
    )
    data = contact.createData()
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(contact)
    datas.append(data)
    # from Pinocchio 4 on, the constraints' data are initialized as well
    later = int(pin.__version__.split('.')[0]) >= 4
    pin.initConstraintDynamics(peer.pin, peer.data, models, *([datas] if later else []))
    settings = pin.ProximalSettings(1e-14, 1e-12, 100)
    states = peer.body(q, qd)
    theirs = pin.constraintDynamics(
        peer.pin, peer.data, *states, tau[peer.order], models, datas, settings
    )
    scale = max(1.0, np.abs(qdd).max())
    assert np.abs(qdd[peer.order] - theirs).max() < 1e-9 * scale

    # Their force acts on the first frame, in that frame's axes.
    R = chain.arm.forward_kinematics(q, closure.frame_b)[:3, :3]
    force = datas[0].contact_force
    expected = [*(R @ force.angular), *(R @ force.linear)]
    assert np.abs(wrench - expected).max() < 1e-8 * max(1.0, np.abs(wrench).max())
