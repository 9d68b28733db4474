# SPDX-License-Identifier: Apache-2.0
"""The five-bar linkage and the slider-crank against their equations of motion written by hand."""

import linkages
import numpy as np
import pytest

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import five_bar
from robot_dynamics.simulation.closed_chains import ClosedChain
from robot_dynamics.textbook.closed_forms import FiveBarLinkage, SliderCrank

EXACT = 1e-12  # relative to the largest entry, or to 1 where all are small
LENGTHS = (0.8, 0.37)
FIVE_BAR = {
    'lc': (0.31, 0.17, 0.42, 0.56),
    'm': (2.3, 1.1, 1.9, 0.7),
    'I': (0.11, 0.023, 0.083, 0.047),
}
# m3 l2 lc3 = m4 l1 lc4
DECOUPLED = {**FIVE_BAR, 'm': (2.3, 1.1, 0.9, 0.9 * 0.37 * 0.42 / (0.8 * 0.56))}
MOTORS = ('joint1', 'joint2')


def five_bars(values):
    """Return the linkage by hand, by coordinate map, and closed by a pin."""
    arguments = (LENGTHS, values['lc'], values['m'], values['I'])
    linkage = linkages.five_bar_linkage(*arguments)
    return (
        FiveBarLinkage(l1=LENGTHS[0], l2=LENGTHS[1], **values),
        Dynamics(five_bar(*arguments)),
        ClosedChain(Dynamics(linkage.tree), linkage.closures, near=linkage.near),
    )


def close(actual, expected, rounding=EXACT):
    scale = max(1.0, np.abs(expected).max())
    return np.abs(np.asarray(actual) - expected).max() <= rounding * scale


@pytest.mark.parametrize('values', [FIVE_BAR, DECOUPLED])
def test_five_bar(values):
    by_hand, mapped, chain = five_bars(values)
    S, s0 = mapped.model.S, mapped.model.s0
    rng = np.random.default_rng(0)
    for p, pd, pdd in rng.normal(size=(50, 3, 2)):
        if abs(np.sin(p[0] - p[1])) < 0.1:
            continue  # the closed loop is singular where its links line up
        q, qd, qdd = S @ p + s0, S @ pd, S @ pdd
        tau = by_hand.inverse_dynamics(p, pd, pdd)
        effort = chain.inverse_dynamics(q, qd, qdd, driven=MOTORS)
        assert close(effort.tau, [*tau, 0.0, 0.0])
        assert close(mapped.inverse_dynamics(p, pd, pdd), tau)
        assert close(chain.forward_dynamics(q, qd, effort.tau).qdd, qdd, 1e-11)
        M, b = chain.driven_terms(q, qd, MOTORS)
        assert close(M, by_hand.mass_matrix(p))
        assert close(b, by_hand.inverse_dynamics(p, pd, np.zeros(2)))


def test_five_bar_postures_and_velocities_follow_the_motors():
    _, mapped, chain = five_bars(FIVE_BAR)
    S, s0 = mapped.model.S, mapped.model.s0
    p, pd, pdd = np.array([0.4, 2.1]), np.array([-0.6, 1.1]), np.array([0.2, 3.0])
    q = chain.posture([*p, *chain.q0[2:]], hold=MOTORS)
    assert close(q, S @ p + s0)
    qd = chain.velocity(q, [*pd, 0.0, 0.0], hold=MOTORS)
    assert close(qd, S @ pd)
    assert close(chain.acceleration(q, qd, [*pdd, 0.0, 0.0], hold=MOTORS), S @ pdd)


def test_decoupled_five_bar():
    """M diagonal and constant: Spong, Hutchinson and Vidyasagar, (6.108) and (6.110)."""
    by_hand, mapped, chain = five_bars(DECOUPLED)
    S, s0 = mapped.model.S, mapped.model.s0
    d11, _, d22 = by_hand.parameters()[:3]
    for p, pd in np.random.default_rng(1).normal(size=(20, 2, 2)):
        p[1] = p[0] + 0.3 + 0.5 * abs(p[1])
        M, b = chain.driven_terms(S @ p + s0, S @ pd, MOTORS)
        assert close(M, np.diag([d11, d22]))
        # no Coriolis or centrifugal torque, and gravity of its own link only
        assert close(b, by_hand.gravity_torque(p))
        tau = np.array([0.7, -0.4, 0.0, 0.0])
        qdd = chain.forward_dynamics(S @ p + s0, S @ pd, tau).qdd
        assert close(qdd[:2], (tau[:2] - b) / [d11, d22])
        other = chain.forward_dynamics(S @ p + s0, S @ pd, tau + 5.0 * np.eye(4)[1]).qdd
        assert abs(other[0] - qdd[0]) < EXACT * 10


def test_five_bar_is_not_decoupled_by_chance():
    _, mapped, chain = five_bars(FIVE_BAR)
    p = np.array([0.3, 1.5])
    M, _ = chain.driven_terms(mapped.model.S @ p + mapped.model.s0, np.zeros(4), MOTORS)
    assert abs(M[0, 1]) > 1e-3


@pytest.mark.parametrize('crank_angle', [0.0, 0.7, 2.0, np.pi, -1.9])
def test_slider_crank(crank_angle):
    r, l, density, piston = 0.2, 0.7, 2.0, 1.5
    linkage = linkages.slider_crank(r, l, density, piston)
    by_hand = SliderCrank(
        r=r,
        l=l,
        c=(r / 2, l / 2),
        m=(density * r, density * l, piston),
        I=(density * r**3 / 12, density * l**3 / 12),
    )
    p, pd, pdd = np.array([crank_angle]), np.array([1.7]), np.array([-2.3])
    phi, dphi, ddphi = by_hand.rod_angle(p)
    x, dx, ddx = by_hand.piston(p)
    chain = ClosedChain(
        Dynamics(linkage.tree), linkage.closures, near=[crank_angle, -crank_angle, x]
    )
    q = chain.posture([crank_angle, phi - crank_angle, x], hold=['crank'])
    assert close(q, [crank_angle, phi - crank_angle, x])
    qd = chain.velocity(q, [pd[0], 0.0, 0.0], hold=['crank'])
    assert close(qd, np.array([1.0, dphi - 1, dx]) * pd)
    qdd = chain.acceleration(q, qd, [pdd[0], 0.0, 0.0], hold=['crank'])
    assert close(qdd, np.array([1.0, dphi - 1, dx]) * pdd + np.array([0, ddphi, ddx]) * pd**2)

    M, b = chain.driven_terms(q, qd, ['crank'])
    assert close(M, by_hand.mass_matrix(p))
    assert close(b, by_hand.coriolis_matrix(p, pd) @ pd + by_hand.gravity_torque(p))
    effort = chain.inverse_dynamics(q, qd, qdd, driven=['crank'])
    assert close(effort.tau, [by_hand.inverse_dynamics(p, pd, pdd)[0], 0.0, 0.0])
    # Newton: along x only the pin pushes the piston; across it, the guide carries its weight.
    (wrench,) = chain.wrenches(q, effort.multipliers)
    assert wrench[3] == pytest.approx(-piston * qdd[2], rel=1e-11, abs=1e-11)


def test_slider_crank_by_hand_is_consistent():
    """Its derivatives against differences, its energy, and its linear form."""
    by_hand = SliderCrank(r=0.3, l=0.8, c=(0.1, 0.35), m=(1.3, 0.9, 2.2), I=(0.05, 0.08))
    h = 1e-6
    for p, pd, pdd in np.random.default_rng(3).normal(size=(10, 3, 1)):
        for function in (by_hand.rod_angle, by_hand.piston):
            slope = (function(p + h)[:2] - function(p - h)[:2]) / (2 * h)
            assert slope == pytest.approx(function(p)[1:], rel=1e-8, abs=1e-9)
        dM = (by_hand.mass_matrix(p + h) - by_hand.mass_matrix(p - h)) / (2 * h)
        C = by_hand.coriolis_matrix(p, pd)
        assert pytest.approx(dM * pd / 2, rel=1e-7, abs=1e-8) == C
        dP = (by_hand.potential_energy(p + h) - by_hand.potential_energy(p - h)) / (2 * h)
        assert by_hand.gravity_torque(p) == pytest.approx(dP, rel=1e-8, abs=1e-8)
        tau = by_hand.inverse_dynamics(p, pd, pdd)
        assert by_hand.regressor(p, pd, pdd) @ by_hand.parameters() == pytest.approx(
            tau, rel=1e-12
        )
        # K = 1/2 sum of m v^2 + I w^2, from the places of the links' centres
        assert by_hand.kinetic_energy(p, pd) == pytest.approx(kinetic(by_hand, p, pd), rel=1e-8)


def kinetic(s, p, pd):
    def places(q):
        phi = s.rod_angle(q)[0]
        crank, rod = np.array([np.cos(q[0]), np.sin(q[0])]), np.array([np.cos(phi), np.sin(phi)])
        return np.array([s.c[0] * crank, s.r * crank + s.c[1] * rod, [s.piston(q)[0], 0.0]])

    h = 1e-6
    v = (places(p + h) - places(p - h)) / (2 * h) * pd
    w = np.array([1.0, s.rod_angle(p)[1]]) * pd
    return (np.array(s.m) @ (v**2).sum(axis=1) + np.array(s.I) @ w**2) / 2
