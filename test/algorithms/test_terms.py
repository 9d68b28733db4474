import numpy as np

from robot_dynamics.algorithms import rnea, terms


def test_the_equation_of_motion_holds(robot, relative):
    for q, qd, qdd in robot.states:
        M, C, g = map(np.array, terms(robot.tree, q.tolist(), qd.tolist()))
        assert relative(M @ qdd + C @ qd + g, rnea(robot.tree, q, qd, qdd)) < 1e-12
