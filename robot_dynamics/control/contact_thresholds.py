# SPDX-License-Identifier: Apache-2.0
"""Thresholds of contact, learned from free motion.

In free motion the estimated external torques r are what the model, the drives and the sensors do
not get right, and grow with the momentum p, not with the speed alone:

    r_j^2 ~ sigma_0j^2 + sigma_1j^2 p_j^2 + sigma_uj^2 u_j,    rho_j = |r_j| / sigma_j,
    lambda_j = max rho_j

by least squares, with sigma_1^2, sigma_u^2 >= 0 and sigma_0^2 >= 0.02 mean r^2. u, from 0 to 1, is
`unsettled` of the observer: friction is known worst after reversals. |r| is the smallest of the
last `DEBOUNCE`, without single peaks. Contact is a rho_j above a multiple of lambda_j times a
margin for how little was learned (`threshold_statistics`). How large the multiple has to be
follows from the largest rho / lambda of each `BLOCK`, with that margin, whose distribution is that
of Gumbel. It extrapolates what was learned, not motion of another kind: a joint that creeps within
its pre-sliding range, where the memory of friction errs by up to the Coulomb friction c_j, may
exceed it. Joints with a factor c_j / (m_j lambda_j sigma_0j) above 1 are named, with that factor.

A step of torque D moves r to D (1 - (1 + b t) exp(-b t)) beside what free motion adds: it is
always felt if `REACHED` of it exceeds the largest threshold of the run and |r| against it.

From two minutes on, the torques behind each pair of poles of the bank have thresholds of their
own, on the joints where they find steps smaller by a tenth than all faster pairs do, held out by
motion.

An error of a time stamp changes all joint positions by qd times the error, and r along the
momentum: learning reports how much of r is.

Source: Gumbel, "Statistics of Extremes", Columbia University Press 1958.
"""

from __future__ import annotations

from array import array
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.settings import EFFORT, TIME, joint_setting, setting
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.momentum_observer import MomentumObserver
from robot_dynamics.control.threshold_statistics import (
    FOLDS,
    FalseContacts,
    FreeSamples,
    HeldOut,
    deviation,
    held_out,
)
from robot_dynamics.core.algorithms.momentum_observer import BANK

DEBOUNCE = 2.5e-3  # s: three samples at 1 kHz, one at 250 Hz
BLOCK = 10.0  # s
TINY = 1e-12  # N m or N
AT_REST = 0.5  # unsettled
FEWEST_BLOCKS = 12
CLEAN = 0.9  # probability of an hour without a false contact
ENOUGH = 600.0  # s of free motion to learn from; thresholds of less are provisional
FACTOR = 1.5  # of contact
LISTED = 5  # largest torques
REACHED, REACHED_AFTER = 0.9, 3.89  # part of a step behind two poles at b, and b t until then
ALONG = (
    0.4  # share of the torques along the momentum, beyond that of chance, of stamps that jitter
)
# 1/s: poles where stamps jitter, and those along the momentum and of forces. On an arm with the
# errors of a real one, forces are known to 8 % after 50 ms; with 60 1/s to 25 %, and false
# contacts are as many. With poles of 150 1/s steps of torque are found 2 ms later.
FAST_POLES, SLOW_POLES = 200.0, 100.0
BANK_FROM = 120.0  # s of free motion: each pair of poles needs statistics of its own
GAIN = 0.9  # largest part of the torque that faster pairs find, held out, for which a pair is used
WINDOW = 5e-3  # s
KEPT = np.float32
MOST_SAMPLES = 2_000_000


@dataclass(frozen=True)
class PairThresholds:
    """External torques of free motion behind poles; one number for all joints, or one each."""

    noise: ArrayLike = joint_setting(
        0.0,
        'Standard deviation of the external torques of free motion at rest',
        'N m or N',
        EFFORT,
    )
    noise_per_momentum: ArrayLike = joint_setting(
        0.0, 'Their further standard deviation per momentum of the joint', '1/s', EFFORT
    )
    level: ArrayLike = joint_setting(
        0.0,
        'Largest external torque of free motion, in standard deviations',
        bounds=(0.0, 1e6),
        zero='not learned, no contact is detected',
    )
    margin: ArrayLike = joint_setting(
        1.0,
        'Factor on the level, for the larger torques of a longer run; large after a short run',
        bounds=(1.0, 1e6),
    )
    noise_unsettled: ArrayLike = joint_setting(
        0.0,
        'Their further standard deviation right after a reversal; at rest its square is half, and '
        'none while the joint slides on',
        'N m or N',
        EFFORT,
    )

    def sigma(self, p: ArrayLike, unsettled: ArrayLike = AT_REST) -> Array:
        """Return the standard deviations (..., n).

        Args:
            p: (..., n) momenta.
            unsettled: (..., n) of the observer.
        """
        return deviation(
            self.noise, self.noise_per_momentum, self.noise_unsettled, np.asarray(p), unsettled
        )


@dataclass(frozen=True)
class ContactThresholds(PairThresholds):
    """Thresholds of the prompt torque, and what they were learned from."""

    learned: float = setting(0.0, 'Length of the free motion they were learned from', 's', TIME)
    forced: bool = setting(
        False, 'They are from a recording that was rejected, written by thresholds --force'
    )

    @property
    def provisional(self) -> bool:
        """Whether they are from too little free motion to be relied on."""
        return 0 < round(self.learned) < ENOUGH


class Debounced:
    """The smallest of the last values |x| of `DEBOUNCE`."""

    def __init__(self) -> None:
        """Begin without values."""
        self._recent: deque[tuple[float, Array]] = deque()

    def add(self, t: float, x: Array) -> Array:
        """Return the smallest values, with those of the time t [s] as the last."""
        recent = self._recent
        if recent and not 0 < t - recent[-1][0] <= DEBOUNCE:
            recent.clear()
        recent.append((t, np.abs(x)))
        while recent[0][0] < t - DEBOUNCE:
            recent.popleft()
        return np.asarray(np.minimum.reduce([value for _, value in recent]))


class Peak(NamedTuple):
    """A large torque of free motion."""

    t: float  # s
    joint: int
    torque: float  # N m or N


class Felt(NamedTuple):
    """Steps of torque that are always felt in the motion of a run, behind a pair of poles."""

    torque: Array  # (n,) smallest, N m or N; inf: the joint does not use the pair
    usual: Array  # (n,) smallest that is felt in half of the motion
    delay: float  # s, after which they are


class Learned(NamedTuple):
    """Thresholds, and what free motion says about them."""

    thresholds: ContactThresholds
    factor: float  # of contact that leaves 90 % of hours clean; NaN from less than two minutes
    correlation: float  # of the external torques with the momentum, 0 to 1
    missing: tuple[int, ...]  # joints that did not move enough to learn from
    slow_along: bool  # the observer had slower poles along the momentum
    creep: Array  # (n,) factor that friction alone may reach within the pre-sliding range
    kept: tuple[int, ...] = ()  # others that were not learned: those before stay
    false_contacts: FalseContacts = FalseContacts(0, 0.0)  # of folds of the run, by the others
    largest: tuple[Peak, ...] = ()  # torques, relative to those usual for the joint, falling
    felt: tuple[Felt, ...] = ()  # by pairs of poles, the fastest first
    bank: tuple[PairThresholds, ...] = ()  # of the pairs of `BANK`; level 0 where not used

    @property
    def stamps_jitter(self) -> bool:
        """Whether slower poles along the momentum suppress most of the external torques."""
        # Of n independent joints 1 / n is along any direction.
        chance = 1 / np.size(self.thresholds.level)
        return self.correlation**2 > chance + ALONG * (1 - chance)

    @property
    def creeping(self) -> tuple[int, ...]:
        """Joints whose pre-sliding friction may exceed what was learned."""
        return tuple(np.flatnonzero(self.creep > 1).tolist())

    def text(
        self,
        joint_names: tuple[str, ...],
        contact_factor: float,
        effort_limit: ArrayLike = np.inf,
    ) -> str:
        """Return in sentences how far the thresholds can be relied on.

        Args:
            joint_names: of the robot.
            contact_factor: with which they are used.
            effort_limit: of its joints, N m or N.
        """
        seconds = self.thresholds.learned
        provisional = ', provisional' if self.thresholds.provisional else ''
        parts = [
            f'learned from {seconds:.0f} s of free motion{provisional}',
            f'false contacts, each of {FOLDS} parts by thresholds of the others: '
            f'{self.false_contacts.text()}',
        ]
        parts += self._extrapolated(joint_names, contact_factor)
        if round(seconds) < ENOUGH:
            parts.append(f'learn for {(ENOUGH - seconds) / 60:.1f} more minutes')
        if self.felt:
            listed = ', '.join(self._felt(j, name) for j, name in enumerate(joint_names))
            parts.append(
                f'smallest steps that are always felt (in half of the motion), N m or N: {listed}'
            )
            parts += self._beyond(joint_names, np.broadcast_to(effort_limit, len(joint_names)))
        if self.largest:
            listed = ', '.join(
                f'{joint_names[j]} {torque:.3g} at {t:.2f} s' for t, j, torque in self.largest
            )
            parts.append(f'largest torques, N m or N: {listed}')
        if self.missing:
            parts.append(f'no thresholds for {_listed(joint_names, self.missing)}: move them')
        if self.kept:
            names = _listed(joint_names, self.kept)
            parts.append(f'thresholds of {names} as before: move them')
        return '; '.join([*parts, *self._of_stamps()])

    def _felt(self, joint: int, name: str) -> str:
        steps = [
            f'{felt.torque[joint]:.3g} ({felt.usual[joint]:.3g}) in {1e3 * felt.delay:.0f} ms'
            for felt in self.felt
            if np.isfinite(felt.torque[joint])
        ]
        return f'{name} {" or ".join(steps) or "none"}'

    def _beyond(self, joint_names: tuple[str, ...], effort_limit: Array) -> list[str]:
        """Return the joints at which steps up to the effort limit may not be felt."""
        smallest = np.min([felt.torque for felt in self.felt], axis=0)
        beyond = np.isfinite(smallest) & (smallest > effort_limit)
        listed = [f'{joint_names[j]} {effort_limit[j]:g}' for j in np.flatnonzero(beyond)]
        if not listed:
            return []
        return [
            f'larger than the effort limit of {", ".join(listed)}: a contact there may not be '
            'found, check model, units and velocities'
        ]

    def _extrapolated(self, joint_names: tuple[str, ...], contact_factor: float) -> list[str]:
        """Return what the factor of clean hours says, if it is known."""
        if not np.isfinite(self.factor):
            return []
        margin = 100 * (contact_factor / self.factor - 1)
        parts = [
            f'{100 * CLEAN:.0f} % of hours are clean at the factor {self.factor:.2f}; the '
            f'margin of {contact_factor:g} is {margin:.0f} %'
        ]
        creeping = [f'{joint_names[j]} {self.creep[j]:.2f}' for j in self.creeping]
        if creeping:
            parts.append(
                'a joint that creeps within its pre-sliding range may reach the factor '
                f'{", ".join(creeping)} by friction alone'
            )
        return parts

    def _of_stamps(self) -> list[str]:
        """Return how far time stamps jitter, and the settings against it."""
        parts = [f'correlation with the momentum {self.correlation:.2f}']
        if self.stamps_jitter:
            poles = f'observer.poles {FAST_POLES:g}, observer.poles_along_momentum {SLOW_POLES:g}'
            parts.append(
                'as of stamps that jitter: slower poles along the momentum suppress it'
                if self.slow_along
                else f'as of stamps that jitter: expected {poles}'
            )
        return parts


def _listed(joint_names: tuple[str, ...], joints: tuple[int, ...]) -> str:
    return ', '.join(joint_names[j] for j in joints)


class FreeMotion:
    """Samples of an observer in free motion."""

    def __init__(self, n: int):
        """Begin without samples of n joints."""
        self._n, self._debounced, self._bank = n, Debounced(), _BankSamples(n)
        # Seconds before, motion, |r|, p, u, and r behind one pole; and t, of each sample.
        self._samples, self._times = array('f'), array('d')
        self._slow_along, self._remembered, self._slowest = False, np.zeros(n), np.inf
        self._aligning = 0.0  # s, by which efforts or motion are delayed
        self.seconds = 0.0
        self._last = -np.inf

    def add(self, t: float, observer: MomentumObserver, motion: int = 0) -> None:
        """Add the last update of an observer; nothing more is learned from after `MOST_SAMPLES`.

        Args:
            t: its time, s.
            observer: after it.
            motion: number of the motion that it is part of.
        """
        if len(self._times) >= MOST_SAMPLES:
            return
        state = observer.state
        assert state is not None  # it has been updated
        if 0 < t - self._last <= observer.settings.max_gap:
            self.seconds += t - self._last
        self._last = t
        settings = observer.settings
        self._slow_along = settings.poles_along_momentum < settings.poles
        self._slowest = min(settings.poles_along_momentum, settings.poles)
        self._aligning = abs(settings.effort_lead)
        friction = observer.friction
        self._remembered = friction.law.memory * friction.coefficients['coulomb']
        r = self._debounced.add(t, np.vstack([observer.prompt_torque, observer.bank_torques]))
        known, *bank = np.where(observer.friction_known, r, np.nan)
        unsettled = observer.unsettled
        self._bank.add(self.seconds, motion, bank, state.p, unsettled)
        fast = state.along + state.across
        row = np.concatenate([[self.seconds, motion], known, state.p, unsettled, fast], dtype=KEPT)
        self._samples.frombytes(row.tobytes())
        self._times.append(t)

    def learned(self, contact_factor: float = FACTOR) -> Learned:
        """Return the thresholds.

        Args:
            contact_factor: with which they will be used.
        """
        table = np.array(self._samples, dtype=float).reshape(-1, 4 * self._n + 2)
        seconds, motion = table[:, 0], table[:, 1]
        r, p, unsettled, fast = np.split(table[:, 2:], 4, axis=1)
        if not len(table):
            nothing = np.zeros(self._n)
            thresholds = ContactThresholds(
                *(nothing, nothing, nothing, nothing + 1, nothing), learned=self.seconds
            )
            none = tuple(range(self._n))
            return Learned(thresholds, np.nan, 0.0, none, self._slow_along, nothing)
        found = held_out(FreeSamples(seconds, motion, r, p, unsettled), contact_factor)
        level, margin = found.thresholds.level, found.thresholds.margin
        thresholds = ContactThresholds(**found.thresholds._asdict(), learned=self.seconds)
        sigma, used = thresholds.sigma(p, unsettled), np.isfinite(r)
        rho = np.where(used & (sigma > 0), r, 0.0) / np.where(sigma > 0, sigma, 1.0)
        excess = (rho / np.where(level > 0, margin * level, 1.0)).max(axis=1, initial=0.0)
        own = np.where(level > 0, self._remembered, 0.0)
        bank = self._bank.learned(found, contact_factor) if self.seconds >= BANK_FROM else []
        number = found.false_contacts.number + sum(pair.false_contacts for pair in bank)
        opposed = np.where(used, contact_factor * margin * level * sigma + r, 0.0)
        return Learned(
            thresholds,
            _factor(seconds, excess),
            _correlation(fast, p),
            tuple(np.flatnonzero(level == 0).tolist()),
            self._slow_along,
            own / np.maximum(margin * level * thresholds.sigma(np.zeros(self._n)), TINY),
            false_contacts=found.false_contacts._replace(number=number),
            largest=self._peaks(found, r),
            felt=tuple(
                felt._replace(delay=felt.delay + self._aligning)
                for felt in (_felt(opposed, self._slowest), *(pair.felt for pair in bank))
            ),
            bank=tuple(pair.thresholds for pair in bank),
        )

    def _peaks(self, found: HeldOut, r: Array) -> tuple[Peak, ...]:
        """Return the torques that stand out most, one of each block and joint, in falling order.

        No two are in one second. They are compared with what is usual for the joint: with the
        largest of the run, of which each joint has one, a touch would be one of many.
        """
        usual = np.median(found.largest, axis=0)
        usual = np.where(usual > 0, usual, found.thresholds.level)
        excess = np.where(usual > 0, found.largest, 0.0) / np.where(usual > 0, usual, 1.0)
        peaks: list[Peak] = []
        for at in np.argsort(-excess, axis=None).tolist():
            block, joint = divmod(at, self._n)
            sample = int(found.where[block, joint])
            t = self._times[sample]
            if excess[block, joint] > 0 and all(abs(t - one.t) > 1 for one in peaks):
                peaks.append(Peak(t, joint, float(r[sample, joint])))
            if len(peaks) == LISTED:
                break
        return tuple(peaks)


class LearnedPair(NamedTuple):
    """Thresholds of a pair of poles of the bank."""

    thresholds: PairThresholds
    felt: Felt
    false_contacts: int  # held out, of the joints that use it


class _BankSamples:
    """Torques behind the poles of the bank in free motion: the largest of each `WINDOW`."""

    def __init__(self, n: int):
        self._n, self._rows = n, array('f')  # seconds, motion, |r| of the pairs, p, u
        self._began, self._largest = 0.0, np.zeros((len(BANK), n))

    def add(self, seconds: float, motion: int, r: list[Array], p: Array, unsettled: Array) -> None:
        self._largest = np.maximum(self._largest, r)  # NaN stays
        if seconds - self._began < WINDOW:
            return
        values = ([seconds, motion], self._largest.ravel(), p, unsettled)
        row = np.concatenate(values, dtype=KEPT)
        self._rows.frombytes(row.tobytes())
        self._began, self._largest = seconds, np.zeros_like(self._largest)

    def learned(self, prompt: HeldOut, contact_factor: float) -> list[LearnedPair]:
        """Return the thresholds of the pairs, on joints where smaller steps are felt held out."""
        n, pairs = self._n, len(BANK)
        table = np.array(self._rows, dtype=float).reshape(-1, 2 + (pairs + 2) * n)
        seconds, motion = table[:, 0], table[:, 1]
        *torques, p, unsettled = np.split(table[:, 2:], pairs + 2, axis=1)
        best, learned = prompt.opposed, []
        for poles, r in zip(BANK, torques, strict=True):
            found = held_out(FreeSamples(seconds, motion, r, p, unsettled), contact_factor)
            own = found.thresholds
            gains = (own.level > 0) & (found.opposed < GAIN * best)
            best = np.where(gains, found.opposed, best)
            own = own._replace(level=np.where(gains, own.level, 0.0))
            thresholds = PairThresholds(**own._asdict())
            limit = contact_factor * own.level * own.margin * thresholds.sigma(p, unsettled)
            opposed = np.where(np.isfinite(r) & gains, limit + r, 0.0)
            number = int(found.of_joints[gains].sum())
            learned.append(LearnedPair(thresholds, _felt(opposed, min(poles)), number))
        return learned


def _felt(opposed: Array, slowest: float) -> Felt:
    """Return steps that are always felt, from thresholds plus |r| (k, n) and the slowest pole."""
    known = np.where(opposed > 0, opposed, np.inf)
    steps = np.array([opposed.max(axis=0, initial=0.0), np.median(known, axis=0)]) / REACHED
    largest, usual = np.where(steps[0] > 0, steps, np.inf)
    return Felt(largest, usual, REACHED_AFTER / slowest + DEBOUNCE)


def _correlation(d: Array, p: Array) -> float:
    """Return the share of torques d (k, n), in the units of their size, along p; its root."""
    size = np.maximum(np.sqrt(np.mean(d**2, axis=0)), 1e-300) if len(d) else 1.0
    d, p = d / size, p / size
    # (d . p)^2 / |p|^2
    along = (d * p).sum(axis=1) ** 2 / np.maximum((p**2).sum(axis=1), 1e-300)
    return float(np.sqrt(along.sum() / max(float((d**2).sum()), 1e-300)))


def _factor(t: Array, excess: Array) -> float:
    """Return the multiple of the largest excess that leaves 90 % of hours clean, by blocks."""
    blocks = (t / BLOCK).astype(int)
    edges = np.flatnonzero(np.diff(blocks)) + 1
    largest = np.array([x.max() for x in np.split(excess, edges)[:-1]])
    if len(largest) < FEWEST_BLOCKS:
        return float('nan')
    # Moments of Gumbel's distribution: mean mu + gamma beta, standard deviation pi beta / sqrt 6
    beta = largest.std() * np.sqrt(6) / np.pi
    mu = largest.mean() - np.euler_gamma * beta
    # N exp(-(x - mu) / beta) = -ln 0.9,  N blocks per hour
    return float(mu + beta * (np.log(3600.0 / BLOCK) - np.log(-np.log(CLEAN))))
