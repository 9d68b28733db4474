"""Tells an arm in motion from an explosion of numbers, by the balance of its energy.

Over one step with torques held, the drives and whatever else pushes do the work tau . (q' - q),
exactly. The arm's energy may grow by no more than that; friction, stops and dampers only take.
What it grows beyond is made by the integrator:

    created = E' - E - tau . (q' - q).

A sound step makes little, of either sign. A step that is too long for the fastest motion makes
more each time than the time before. So what was created is summed up, losses counted against it
but never as a credit, and compared with all energy that has been in play: the kinetic energy at
the start, the largest change of potential energy, all work done. Ten times that is no motion of
this arm. It has to last for some steps, because the very first may move an arm before any work
is done: explicit Euler's does.
"""

from __future__ import annotations

from typing import NamedTuple

# How much may come from nowhere, relative to the energy in play; and more than that for how long.
CREATED = 10.0
STEPS = 3

# Rounding of the energies themselves, relative to the largest.
ROUNDING = 1e-9
TINY = 1e-12  # J


class Balance(NamedTuple):
    """The energy account of a run, J."""

    energy: float  # kinetic and potential, now
    lowest: float  # potential energy so far
    highest: float
    exchanged: float  # kinetic energy at the start, and work done since, by size
    created: float = 0.0  # by the integrator, since it last was in balance
    suspect: int = 0  # steps in a row with too much created

    @classmethod
    def start(cls, kinetic: float, potential: float) -> Balance:
        """Return the account of an arm that begins to move, or goes on with other loads."""
        return cls(kinetic + potential, potential, potential, kinetic)

    def after(self, kinetic: float, potential: float, work: float) -> Balance:
        """Return the account after a step in which torques did work [J]."""
        energy = kinetic + potential
        lowest, highest = min(potential, self.lowest), max(potential, self.highest)
        exchanged = self.exchanged + abs(work)
        created = max(0.0, self.created + (energy - self.energy - work))
        in_play = exchanged + highest - lowest
        rounding = ROUNDING * max(abs(lowest), abs(highest)) + TINY
        suspect = self.suspect + 1 if created > CREATED * in_play + rounding else 0
        return Balance(energy, lowest, highest, exchanged, created, suspect)

    @property
    def explodes(self) -> bool:
        """Whether nearly all of the motion comes from nowhere."""
        return self.suspect >= STEPS
