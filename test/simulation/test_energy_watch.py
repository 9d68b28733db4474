# SPDX-License-Identifier: Apache-2.0
"""Energy balance: losses reduce gains, work is not a gain, and divergence is detected."""

from robot_dynamics.simulation.steps.energy_watch import CREATED, STEPS, Balance

MOVING = Balance.start(kinetic=1.0, potential=0.0)


def after(balance, *steps):
    """Return the account after steps of (kinetic energy, potential energy, work)."""
    for step in steps:
        balance = balance.after(*step)
    return balance


def test_an_oscillating_energy_error_is_no_divergence():
    swinging = [(1.3, 0.0, 0.0), (1.0, 0.0, 0.0)] * 1000
    assert not after(MOVING, *swinging).explodes
    assert after(MOVING, *swinging).created < 1e-9


def test_losses_do_not_offset_later_gains():
    lossy = after(MOVING, (0.01, 0.0, 0.0))
    growing = [(0.01 + 20.0, 0.0, 0.0)] * STEPS
    assert after(lossy, *growing).explodes


def test_work_of_the_drives_is_accounted_for():
    assert not after(MOVING, *((1.0 + k, 0.0, 1.0) for k in range(1, 100))).explodes
    # Work of either sign counts by its magnitude.
    braked = [(100.0, 0.0, 99.0), (1.0, 0.0, -99.0)]
    assert after(MOVING, *braked).exchanged == 1.0 + 2 * 99.0


def test_work_of_either_sign_is_not_created():
    for work in (2.0, -2.0):
        driven = [(1.0 + (30.0 if work < 0 else 0.0) + k * work, 0.0, work) for k in range(1, 10)]
        start = Balance.start(kinetic=1.0 + (30.0 if work < 0 else 0.0), potential=0.0)
        assert after(start, *driven).created == 0.0
        # Without the work the same gain is created, and the same loss is not.
        idle = [(kinetic, potential, 0.0) for kinetic, potential, _ in driven]
        assert after(start, *idle).created == max(0.0, 9 * work)


def test_potential_energy_counts_as_energy_in_play():
    fall = [(1.0 + depth, -float(depth), 0.0) for depth in range(100)]
    fallen = after(MOVING, *fall)
    assert (fallen.lowest, fallen.highest) == (-99.0, 0.0)
    # Ten times 100 J may be created before divergence is reported.
    much = (100.0 + CREATED * 99.0, -99.0, 0.0)
    assert not after(fallen, *[much] * STEPS).explodes
    more = (100.0 + CREATED * 101.0, -99.0, 0.0)
    assert after(fallen, *[more] * STEPS).explodes


def test_a_rise_counts_as_a_fall_does():
    rise = [(100.0 - height, float(height), 0.0) for height in range(100)]
    risen = after(Balance.start(kinetic=100.0, potential=0.0), *rise)
    assert (risen.lowest, risen.highest) == (0.0, 99.0)
    # In play are 100 J at the start and 99 J of height.
    for share, explodes in ((0.99, False), (1.01, True)):
        created = share * CREATED * (100.0 + 99.0)
        assert after(risen, *[(1.0 + created, 99.0, 0.0)] * STEPS).explodes == explodes


def test_energy_of_either_height_has_its_rounding():
    """An arm at rest far above or below zero: its energy is exact to rounding only."""
    for height in (1e6, -1e6):
        rest = Balance.start(kinetic=0.0, potential=height)
        assert not after(rest, *[(0.9e-3, height, 0.0)] * STEPS).explodes
        assert after(rest, *[(1.1e-3, height, 0.0)] * STEPS).explodes
    # A fall from there has it still.
    fallen = after(Balance.start(0.0, 1e6), (0.0, 1e6 - 1.0, -1.0))
    assert after(fallen, (50.0, 1e6 - 1.0, 0.0)).suspect == 1
    assert fallen.suspect == 0


def test_divergence_needs_several_steps():
    burst, calm = (1e3, 0.0, 0.0), (1.0, 0.0, 0.0)
    assert not after(MOVING, *[burst] * (STEPS - 1)).explodes
    assert not after(MOVING, *[burst] * (STEPS - 1), calm, *[burst] * (STEPS - 1)).explodes
    assert after(MOVING, *[burst] * STEPS).explodes
