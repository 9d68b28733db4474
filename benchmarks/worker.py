# SPDX-License-Identifier: Apache-2.0
"""Process of one library: `python -m benchmarks.worker`, started by `remote`.

One JSON object per line in, one out, `{"answer": ...}`. Output of the library goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import numpy as np

from benchmarks.contenders import ContenderMissing, Local, RobotRefused, load
from benchmarks.functions import State
from benchmarks.robots import Robot


class Host:
    """Handler of the requests of one `Remote`."""

    contender: Local

    def load(self, name: str, robot: str, urdf: str) -> str:
        self.contender = load(name, Robot(robot, urdf))
        return self.contender.title

    def prepare(self, *state: list[float]) -> list[str]:
        return self.contender.prepare(State(*map(np.array, state)))

    def evaluate(self, function: str) -> Any:
        return [a.tolist() for a in self.contender.evaluate(function)]

    def time(self, function: str, number: int) -> float:
        return self.contender.stopwatch(function)(number)


def answer(host: Host, request: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to a request, a verb and its arguments."""
    ((verb, arguments),) = request.items()
    try:
        given = arguments if isinstance(arguments, list) else [arguments]
        return {'answer': getattr(host, verb)(*given)}
    except ContenderMissing as error:
        return {'missing': str(error)}
    except RobotRefused as error:
        return {'refused': str(error)}


def main() -> None:
    """Process requests until stdin ends."""
    replies = os.fdopen(os.dup(1), 'w', encoding='utf-8')
    os.dup2(2, 1)
    host = Host()
    for line in sys.stdin:
        print(json.dumps(answer(host, json.loads(line))), file=replies, flush=True)


if __name__ == '__main__':
    main()
