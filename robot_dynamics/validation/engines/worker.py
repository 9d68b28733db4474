"""The process an engine lives in: `python -m robot_dynamics.validation.engines.worker`.

One JSON object per line in, one out. Whatever the engine prints goes to stderr, and if it crashes
it takes this process along and no other. Requests:

    {"engine": "pybullet", "urdf": "<robot ...>", "gravity": [0, 0, -9.81]}
        -> {"version": "...", "joints": [[joint, link], ...], "inertials": {link: [...]}}
    {"q": [[...], ...], "qd": ..., "qdd": ...}
        -> {"tau": [[...], ...], "M": [[[...]]], "g": [[...], ...], "h": [[...], ...]}

tau are the torques of the states, h those without acceleration, g those at rest. An engine that is
missing, or that refuses the robot, answers {"missing": why} or {"refused": why}.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import numpy as np

from robot_dynamics.validation.engines import available as engines
from robot_dynamics.validation.engines.available import Engine


def loaded(request: dict[str, Any]) -> tuple[Engine | None, dict[str, Any]]:
    """Return the engine with its robot, and the answer that describes it."""
    try:
        engine = engines.load(request['engine'], request['urdf'], request['gravity'])
    except ImportError as error:
        return None, {'missing': str(error)}
    except RuntimeError as error:
        return None, {'refused': str(error)}
    held = {
        link: [body.mass, _plain(body.com), _plain(body.inertia_com)]
        for link, body in engine.inertials().items()
    }
    return engine, {'version': engine.version, 'joints': engine.joints(), 'inertials': held}


def answer(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    """Return torques, mass matrices and gravity torques of a list of states."""
    q, qd, qdd = (np.array(request[key], dtype=float) for key in ('q', 'qd', 'qdd'))
    rest = np.zeros(q.shape[1])
    try:
        return {
            'tau': [_plain(engine.inverse_dynamics(*row)) for row in zip(q, qd, qdd, strict=True)],
            'M': [_plain(engine.mass_matrix(row)) for row in q],
            'g': [_plain(engine.inverse_dynamics(row, rest, rest)) for row in q],
            'h': [_plain(engine.inverse_dynamics(*row, rest)) for row in zip(q, qd, strict=True)],
        }
    except RuntimeError as error:
        return {'refused': str(error)}


def _plain(array: Any) -> Any:
    return np.asarray(array).tolist()


def main() -> None:
    """Answer requests until stdin ends."""
    # An interrupt is for the parent, which closes stdin.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = os.fdopen(os.dup(1), 'w', encoding='utf-8')
    os.dup2(2, 1)
    engine: Engine | None = None
    for line in sys.stdin:
        request = json.loads(line)
        if 'engine' in request:
            engine, reply = loaded(request)
        elif engine is None:
            reply = {'refused': 'no robot is loaded'}
        else:
            reply = answer(engine, request)
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == '__main__':
    main()
