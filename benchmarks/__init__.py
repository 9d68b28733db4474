"""How fast it is, beside other libraries, in one run: `./run bench`.

Agreement comes first: nothing is timed before it has given the right numbers. Then all sides of a
ratio take turns in the same minute on the same machine. `docs/benchmarks.md` describes the method.

==================  ==============================================================================
`robots`            the arms and the generated chains, each as one URDF that all sides read
`functions`         what is computed, and at which state
`contenders`        each library behind one small interface, one file each
`remote`, `worker`  a library in a process of its own
`agreement`         the same numbers, before any time is taken
`clock`             interleaved repeats, the least of them, less the cost of an empty call
`compiling`         from nothing to the first result: every function of every robot
`single`            one call from Python
`batches`           many samples, on one core and on two
`starting`          a fresh process: time to its first result, and memory
`stepping`          steps of simulation per second
`operations`        how many multiplications and additions, beside the literature's
`targets`           what was promised, and whether it is met
`report`            the figures as text and as Markdown
`run`               the command
`nodes`             a command of its own: the latency of the dynamics node beside an echo
==================  ==============================================================================
"""

from pathlib import Path

# Where processes are started, so that they find this package.
ROOT = Path(__file__).resolve().parents[1]
