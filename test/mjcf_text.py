# SPDX-License-Identifier: Apache-2.0
"""MJCF texts of tests, and the dynamics that MuJoCo computes for them."""

import mujoco
import numpy as np

from robot_dynamics.core import algorithms
from robot_dynamics.core.model.canonical import canonical_tree

BODY = (
    '<inertial pos="0.02 -0.03 0.1" mass="2" diaginertia="0.03 0.04 0.05" quat="0.9 0.1 0.2 0.3"/>'
)
# A slide and a hinge away from the origin of one body, a hinge that follows, tilted frames.
ARM = f"""<mujoco model="arm">
  <compiler angle="degree"/>
  <option gravity="1 2 -9"/>
  <default>
    <joint armature="0.1" damping="0.5"/>
    <default class="small"><joint armature="0.02" frictionloss="0.3"/></default>
  </default>
  <worldbody>
    <body name="base" pos="0.1 0.2 0.3" euler="10 20 30">
      <inertial pos="0 0 0" mass="4" diaginertia="0.1 0.1 0.1"/>
      <body name="upper" pos="0 0.1 0.4" quat="0.7 0.1 -0.7 0.2">
        {BODY}
        <joint name="lift" type="slide" axis="0 1 1" pos="0.1 0 0" range="-0.2 0.3" ref="0.1"/>
        <joint name="turn" axis="1 0 1" pos="0.05 0.02 0.1" range="-90 60" ref="20"/>
        <site name="tool" pos="0.1 0.2 0.3" euler="0 90 0"/>
        <body name="mount" pos="0.2 0 0.1" euler="0 45 0">
          {BODY}
          <body name="lower" pos="0 0 0.2">
            {BODY}
            <joint name="follow" class="small" axis="0 1 0" ref="5"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality>
    <joint joint1="follow" joint2="turn" polycoef="0.2 -1.5 0 0 0"/>
  </equality>
  <actuator>
    <motor name="motor" joint="turn" gear="10" armature="0.003" damping="0.02" ctrlrange="-4 4"/>
    <position joint="lift" kp="100" kv="7" forcerange="-50 40"/>
  </actuator>
  <keyframe>
    <key name="other" qpos="0 0 0"/>
    <key name="home" qpos="0.2 0.5 -0.4"/>
  </keyframe>
</mujoco>"""


def world(content, others=''):
    """Return the text of a file with some content of its <worldbody>, and other elements."""
    return f'<mujoco><worldbody>{content}</worldbody>{others}</mujoco>'


def link(name, joint='<joint/>', inside='', place=''):
    """Return a body with an inertia and joints."""
    return f'<body name="{name}" {place}>{BODY}{joint}{inside}</body>'


def compare(model, text, joints, base='world', seed=0):
    """Assert that M, bias, inverse dynamics and frames of a model are those of MuJoCo.

    Args:
        model: the robot.
        text: its MJCF.
        joints: names of the joints of its bodies.
        base: name of its base in MuJoCo.
        seed: of the states.
    """
    m = mujoco.MjModel.from_xml_string(text)
    off = mujoco.mjtDisableBit
    m.opt.disableflags |= int(off.mjDSBL_CONSTRAINT | off.mjDSBL_SPRING | off.mjDSBL_DAMPER)
    m.opt.disableflags |= int(off.mjDSBL_ACTUATION | off.mjDSBL_CONTACT)
    m.body_gravcomp[:] = 0
    d, tree, rng = mujoco.MjData(m), canonical_tree(model), np.random.default_rng(seed)
    numbers = [m.joint(name).id for name in joints]
    q_at, v_at = m.jnt_qposadr[numbers], m.jnt_dofadr[numbers]
    for q, qd, qdd in rng.uniform(-1, 1, (4, 3, model.n)):
        # Coordinates are qpos: bodies are placed at qpos0.
        d.qpos[q_at], d.qvel[v_at] = model.S @ q + model.s0 + m.qpos0[q_at], model.S @ qd
        mujoco.mj_forward(m, d)
        M = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, M)
        bias = d.qfrc_bias.copy()
        d.qacc[:] = 0
        d.qacc[v_at] = model.S @ qdd
        mujoco.mj_inverse(m, d)
        S = model.S
        _close(algorithms.crba(tree, q), S.T @ M[np.ix_(v_at, v_at)] @ S)
        _close(algorithms.bias_torque(tree, q, qd), S.T @ bias[v_at])
        _close(algorithms.rnea(tree, q, qd, qdd), S.T @ d.qfrc_inverse[v_at])
        T_wb = _pose(d.body(base))
        for frame in model.frame_names:
            T = T_wb @ np.array(algorithms.forward_kinematics(tree, q, frame))
            bodies = {m.body(i).name for i in range(m.nbody)}
            _close(T, _pose(d.body(frame) if frame in bodies else d.site(frame)))


def _pose(item):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = item.xmat.reshape(3, 3), item.xpos
    return T


def _close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13 * max(1.0, np.abs(theirs).max()))
