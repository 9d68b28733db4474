"""The numbers at the end of the demonstration. No ROS here."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from robot_dynamics.nodes.demo.recording import Recording


@dataclass(frozen=True)
class Figures:
    """What the demonstration found; `None` where nothing was heard.

    Errors are over all joints and all states, rad (m for prismatic joints). The residual is the
    largest difference between our torques and the judge's at states of both runs, relative to the
    largest torque there; the judge is PyBullet wherever it can be.
    """

    robot: str
    joints: list[str]
    simulated_s: float
    rms_error_feedforward_rad: float
    rms_error_pd_rad: float
    max_error_feedforward_rad: float
    max_error_pd_rad: float
    error_ratio: float  # RMS, PD alone over feed-forward
    torque_scale: float  # N m or N
    pybullet_residual_rel: float | None
    judge: str  # name and version of the engine that holds the same robot
    verdict: str  # of the validator: PASS, FAIL, NOT COMPARABLE, NO ENGINE or NO VERDICT
    verdict_notes: list[str]  # and why
    real_time_factor: float
    state_rate_hz: float
    states_heard: float  # part of the simulator's states that arrived here
    latency_p50_us: float
    latency_p99_us: float
    latency_max_us: float
    missed_commands: int
    restarts: dict[str, int] = field(default_factory=dict)
    locked_joints: list[str] = field(default_factory=list)
    still_joints: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the figures under their names."""
        return asdict(self)


def tracking_error(recording: Recording) -> tuple[float, float]:
    """Return the RMS and the largest error of a run, rad or m."""
    error = recording.error()
    return float(np.sqrt(np.mean(error**2))), float(np.abs(error).max())


def torque_scale(recordings: tuple[Recording, ...]) -> float:
    """Return the largest torque the drives applied, N m or N."""
    return max(float(np.abs(run.effort.values).max()) for run in recordings)


def largest_residual(recordings: tuple[Recording, ...]) -> float | None:
    """Return the largest difference of torques to the other engine, N m or N."""
    heard = [np.abs(run.residual.values).max() for run in recordings if len(run.residual)]
    return float(max(heard)) if heard else None


def latencies_us(recordings: tuple[Recording, ...]) -> tuple[float, float, float]:
    """Return the median, 99th percentile and maximum from a state to its torque."""
    all_of_them = np.concatenate([np.array(run.latencies) for run in recordings])
    p50, p99, worst = 1e6 * np.percentile(all_of_them, (50, 99, 100))
    return float(p50), float(p99), float(worst)


def rows(figures: Figures) -> list[tuple[str, str]]:
    """Return the table that people read: what, and how much."""
    residual = figures.pybullet_residual_rel
    restarts = [f'{name} {count}' for name, count in figures.restarts.items() if count]
    return [
        (
            'tracking error with feed-forward',
            f'RMS {figures.rms_error_feedforward_rad:.2e}, '
            f'max {figures.max_error_feedforward_rad:.2e} rad',
        ),
        (
            'tracking error with PD alone',
            f'RMS {figures.rms_error_pd_rad:.2e}, max {figures.max_error_pd_rad:.2e} rad',
        ),
        ('feed-forward is better by', f'{figures.error_ratio:.0f} x'),
        ('judge of our torques', figures.judge or 'none'),
        ('verdict', '\n'.join([figures.verdict, *figures.verdict_notes])),
        (
            'worst residual while moving',
            'none heard'
            if residual is None
            else f'{residual:.1e} of the largest torque, {figures.torque_scale:.1f} N m',
        ),
        ('real-time factor', f'{figures.real_time_factor:.2f}'),
        (
            'states per second',
            f'{figures.state_rate_hz:.0f} Hz, {100 * figures.states_heard:.1f} % heard here',
        ),
        (
            'latency, state to torque',
            f'p50 {figures.latency_p50_us:.0f} us, p99 {figures.latency_p99_us:.0f} us, '
            f'max {figures.latency_max_us:.0f} us',
        ),
        ('states left without a torque', str(figures.missed_commands)),
        ('nodes restarted', ', '.join(restarts) or 'none'),
    ]
