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


def test_potential_energy_counts_as_energy_in_play():
    fall = [(1.0 + depth, -float(depth), 0.0) for depth in range(100)]
    fallen = after(MOVING, *fall)
    assert (fallen.lowest, fallen.highest) == (-99.0, 0.0)
    # Ten times 100 J may be created before divergence is reported.
    much = (100.0 + CREATED * 99.0, -99.0, 0.0)
    assert not after(fallen, *[much] * STEPS).explodes
    more = (100.0 + CREATED * 101.0, -99.0, 0.0)
    assert after(fallen, *[more] * STEPS).explodes


def test_divergence_needs_several_steps():
    burst, calm = (1e3, 0.0, 0.0), (1.0, 0.0, 0.0)
    assert not after(MOVING, *[burst] * (STEPS - 1), calm, *[burst] * (STEPS - 1)).explodes
    assert after(MOVING, *[burst] * STEPS).explodes
