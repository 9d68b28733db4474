# SPDX-License-Identifier: Apache-2.0
"""Detection of divergence by the balance of energy.

Over one step with torques held, the drives and the environment do the work tau . (q' - q),
exactly. The energy of the arm grows by at most that; friction, stops and dampers dissipate. The
excess is an error of the integrator:

    created = E' - E - tau . (q' - q).

An adequate step creates little, of either sign. A step that is too long for the fastest motion
creates more each time. The created energy is therefore summed, losses reduce the sum to zero at
most, and the sum is compared with all energy in play: kinetic energy and that of springs at the
start, the largest change of gravity's potential energy, and all work done. What springs gain later
is not in play: it may be what the integrator created. Ten times that for several steps is
divergence. A
single step is not, because the very first step may move an arm before any work is done, as that of
explicit Euler does.
"""

from __future__ import annotations

from typing import NamedTuple

# Largest created energy relative to the energy in play, and number of steps above it.
CREATED = 10.0
STEPS = 3

# Rounding of the energies themselves, relative to the largest.
ROUNDING = 1e-9
TINY = 1e-12  # J


class Balance(NamedTuple):
    """Energy balance of a run, J."""

    energy: float  # kinetic and potential, now
    lowest: float  # potential energy of gravity so far
    highest: float
    exchanged: float  # kinetic energy and that of springs at the start, and work since, by size
    created: float = 0.0  # by the integrator, since it last was in balance
    suspect: int = 0  # steps in a row with too much created

    @classmethod
    def start(cls, kinetic: float, potential: float, springs: float = 0.0) -> Balance:
        """Return the balance at the start of a motion, or after a change of payload."""
        return cls(kinetic + potential + springs, potential, potential, kinetic + springs)

    def after(
        self, kinetic: float, potential: float, work: float, springs: float = 0.0
    ) -> Balance:
        """Return the balance after a step in which torques did work [J]."""
        energy = kinetic + potential + springs
        lowest, highest = min(potential, self.lowest), max(potential, self.highest)
        exchanged = self.exchanged + abs(work)
        created = max(0.0, self.created + (energy - self.energy - work))
        in_play = exchanged + highest - lowest
        rounding = ROUNDING * max(abs(lowest), abs(highest)) + TINY
        suspect = self.suspect + 1 if created > CREATED * in_play + rounding else 0
        return Balance(energy, lowest, highest, exchanged, created, suspect)

    @property
    def explodes(self) -> bool:
        """Whether the created energy exceeds the limit."""
        return self.suspect >= STEPS
