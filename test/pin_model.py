# SPDX-License-Identifier: Apache-2.0
"""The same robot in Pinocchio, an independent library, built number by number."""

import numpy as np
import pinocchio as pin

from robot_dynamics.core.model.robot_model import RobotModel


class PinRobot:
    """Results of Pinocchio in this package's conventions and in the model's coordinates.

    Pinocchio has the joints of the bodies as coordinates: positions are mapped by
    q_body = S q + s0, and results are mapped back by S. Pinocchio's mass matrix is right only
    where bodies are numbered depth-first, which a RobotModel's need not be: `order` lists them so.
    """

    def __init__(self, model: RobotModel):
        self.model = model
        self.order = _depth_first(model)
        self.S, self.s0 = model.S[self.order], model.s0[self.order]
        self.pin = _pin_model(model, self.order)
        self.data = self.pin.createData()

    def body(self, q, qd=None, qdd=None):
        """Return the bodies' joint positions, velocities and accelerations."""
        parts = [self.S @ q + self.s0]
        parts += [self.S @ x for x in (qd, qdd) if x is not None]
        return parts if len(parts) > 1 else parts[0]

    def inverse_dynamics(self, q, qd, qdd):
        tau = pin.rnea(self.pin, self.data, *self.body(q, qd, qdd))
        return self.S.T @ tau + self.model.reflected_inertia * qdd

    def mass_matrix(self, q):
        M = pin.crba(self.pin, self.data, self.body(q))
        M = np.triu(M) + np.triu(M, 1).T
        return self.S.T @ M @ self.S + np.diag(self.model.reflected_inertia)

    def coriolis_matrix(self, q, qd):
        C = pin.computeCoriolisMatrix(self.pin, self.data, *self.body(q, qd))
        return self.S.T @ C @ self.S

    def gravity_torque(self, q):
        return self.S.T @ pin.computeGeneralizedGravity(self.pin, self.data, self.body(q))

    def forward_dynamics(self, q, qd, tau):
        bias = self.inverse_dynamics(q, qd, np.zeros(self.model.n))
        return np.linalg.solve(self.mass_matrix(q), tau - bias)

    def articulated_body(self, q, qd, tau):
        """Return Pinocchio's own forward dynamics: without rotors, every joint a coordinate."""
        return pin.aba(self.pin, self.data, *self.body(q, qd), tau)

    def derivatives(self, q, qd, qdd):
        dq, dqd, _ = pin.computeRNEADerivatives(self.pin, self.data, *self.body(q, qd, qdd))
        return self.S.T @ dq @ self.S, self.S.T @ dqd @ self.S

    def regressor(self, q, qd, qdd):
        Y = pin.computeJointTorqueRegressor(self.pin, self.data, *self.body(q, qd, qdd))
        Y = np.reshape(Y, (self.model.nb, -1))
        # Pinocchio's order is Ixx Ixy Iyy Ixz Iyz Izz.
        ours = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
        columns = [10 * self.order.index(i) + k for i in range(self.model.nb) for k in ours]
        return self.S.T @ Y[:, columns]

    def energies(self, q, qd):
        """Return kinetic and potential energy, rotors included."""
        x, v = self.body(q, qd)
        rotors = 0.5 * self.model.reflected_inertia @ qd**2
        return (
            pin.computeKineticEnergy(self.pin, self.data, x, v) + rotors,
            pin.computePotentialEnergy(self.pin, self.data, x),
        )

    def pose(self, q, frame):
        pin.framesForwardKinematics(self.pin, self.data, self.body(q))
        return self.data.oMf[self.pin.getFrameId(frame)].homogeneous

    def jacobian(self, q, frame):
        args = (self.pin.getFrameId(frame), pin.LOCAL_WORLD_ALIGNED)
        J = pin.computeFrameJacobian(self.pin, self.data, self.body(q), *args)
        return _angular_first(J) @ self.S

    def jacobian_dot(self, q, qd, frame):
        args = (self.pin.getFrameId(frame), pin.LOCAL_WORLD_ALIGNED)
        pin.computeJointJacobiansTimeVariation(self.pin, self.data, *self.body(q, qd))
        Jd = pin.getFrameJacobianTimeVariation(self.pin, self.data, *args)
        return _angular_first(Jd) @ self.S


class PinOnMovingBase(PinRobot):
    """The robot on a free-flying base: torques and the wrench of the mount, of one motion.

    The base has any attitude and linear velocity, which must not change a result.
    """

    def __init__(self, model: RobotModel):
        super().__init__(model)
        self.pin = _pin_model(model, self.order, moving=True)
        self.data = self.pin.createData()

    def motion(self, q, qd, qdd, base, R, v):
        """Return configuration, velocity and acceleration of base and joints.

        Args:
            q, qd, qdd: (n) as everywhere.
            base: (9) angular velocity and acceleration, proper acceleration, in base axes.
            R: (3, 3) attitude of the base in the world.
            v: (3) its linear velocity in base axes.
        """
        w, wd, a = np.split(np.asarray(base), 3)
        # The spatial acceleration is that of the origin less w x v.
        ad = a + R.T @ self.pin.gravity.linear - np.cross(w, v)
        x, xd, xdd = self.body(q, qd, qdd)
        pose = np.concatenate([[0.3, -0.2, 0.1], pin.Quaternion(R).coeffs()])
        return np.append(pose, x), np.concatenate([v, w, xd]), np.concatenate([ad, wd, xdd])

    def torque_and_base_wrench(self, q, qd, qdd, base, R, v):
        """Return tau (n), and the wrench (6) of the mount on the robot, moment first."""
        tau = pin.rnea(self.pin, self.data, *self.motion(q, qd, qdd, base, R, v))
        rotors = self.model.reflected_inertia * qdd
        return self.S.T @ tau[6:] + rotors, np.concatenate([tau[3:6], tau[:3]])


def _angular_first(J):
    # A single column comes back as a vector.
    J = np.reshape(J, (6, -1), order='F')
    return np.vstack([J[3:], J[:3]])


def _depth_first(model: RobotModel) -> list[int]:
    order, waiting = [], [-1]
    while waiting:
        i = waiting.pop()
        order += [i] if i >= 0 else []
        waiting += [k for k in reversed(range(model.nb)) if model.parent[k] == i]
    return order


def _pin_model(model: RobotModel, order: list[int], moving: bool = False) -> pin.Model:
    result = pin.Model()
    result.gravity.linear = model.gravity
    joint_of = {-1: 0}
    if moving:
        joint_of[-1] = result.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'base')
        base = model.base
        inertia = pin.Inertia(float(base.mass), np.array(base.com), np.array(base.inertia_com))
        result.appendBodyToJoint(joint_of[-1], inertia, pin.SE3.Identity())
    for i in order:
        kind = pin.JointModelRevoluteUnaligned if model.revolute[i] else _prismatic
        joint_of[i] = result.addJoint(
            joint_of[int(model.parent[i])],
            kind(np.array(model.axis[i])),
            pin.SE3(np.array(model.placement[i])),
            model.body_names[i],
        )
        inertia = pin.Inertia(
            float(model.mass[i]), np.array(model.com[i]), np.array(model.inertia_com[i])
        )
        result.appendBodyToJoint(joint_of[i], inertia, pin.SE3.Identity())
    for name, body, T in zip(
        model.frame_names, model.frame_body, model.frame_placement, strict=True
    ):
        place = pin.SE3(np.array(T))
        result.addFrame(pin.Frame(name, joint_of[int(body)], place, pin.FrameType.OP_FRAME))
    return result


def _prismatic(axis):
    return pin.JointModelPrismaticUnaligned(axis)
