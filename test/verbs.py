# SPDX-License-Identifier: Apache-2.0
"""Verbs of the command line and their options, which argparse has no public names for."""

import argparse

from robot_dynamics.cli import commands


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
