# SPDX-License-Identifier: Apache-2.0
"""Verbs of the command line and their options, which argparse has no public names for."""

import argparse

import numpy as np

from robot_dynamics.cli import commands

# Words with which a verb reads its robot ROBOT, beside the files of `write_inputs`.
WORDS = {
    'terms': 'ROBOT',
    'gains': 'ROBOT',
    'validate': 'ROBOT',
    'compare': 'ROBOT',
    'same': 'ROBOT ROBOT',
    'derive': 'ROBOT',
    'simulate': 'ROBOT',
    'monte-carlo': 'ROBOT',
    'precompile': 'ROBOT',
    'excite': 'ROBOT',
    'view': 'ROBOT',
    'export': 'ROBOT --language c --functions gravity_torque --output {}/c',
    'demo': '--robot ROBOT',
    'trajectory': '{}/motion.yaml --robot ROBOT',
    'size': 'ROBOT {}/motion.yaml',
    'evaluate': '{}/run.csv --robot ROBOT',
    'payload': '{}/run.csv --robot ROBOT --link l1',
    'thresholds': '{}/run.csv --robot ROBOT --output {}/out.yaml',
    'identify': '{}/run.csv --robot ROBOT',
}
MOTION = """joint_names: [j1]
points:
- {positions: [0.1], velocities: [0], time_from_start: {sec: 0, nanosec: 0}}
- {positions: [0.6], velocities: [0], time_from_start: {sec: 2, nanosec: 0}}
"""


def options_of(parser):
    """Return the options and arguments of a verb's parser."""
    return parser._actions


def verbs():
    """Return the parser of each verb by its name."""
    (verbs,) = (
        option
        for option in options_of(commands.parser())
        if isinstance(option, argparse._SubParsersAction)
    )
    return verbs.choices


def words_of(verb, file):
    """Return the words with which a verb reads the robot of a file; see `write_inputs`."""
    return WORDS[verb].replace('ROBOT', str(file)).format(*[file.parent] * 2).split()


def write_inputs(folder):
    """Write a motion and a recording of a joint j1, which some verbs read as well."""
    (folder / 'motion.yaml').write_text(MOTION)
    rows = [f'{t},{np.sin(t)},{np.cos(t)},1' for t in np.arange(0, 4, 0.01)]
    (folder / 'run.csv').write_text(
        '\n'.join(['# effort: torques', 'time,j1.q,j1.qd,j1.effort', *rows])
    )
