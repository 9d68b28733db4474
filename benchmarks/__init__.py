# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of this package beside other libraries, in one run: `./run bench`.

Results are compared before any time is measured. Then all sides of a ratio alternate within the
same minute on the same machine. `docs/appendices/benchmarks.md` describes the method.

==================  ==============================================================================
`robots`            arms and generated chains, each as one URDF that all sides read
`functions`         functions and states
`contenders`        adapters of the libraries, one file each
`remote`, `worker`  a library in a separate process
`agreement`         comparison of the results
`clock`             minimum of interleaved repeats, less the time of an empty call
`compiling`         time from an empty cache to the first result of each function
`single`            one call from Python
`batches`           batches, on one core and on two
`starting`          new process: time to its first result, and memory
`stepping`          simulation steps per second
`operations`        multiplications and additions, beside published counts
`targets`           targets, and whether they are met
`report`            the figures as Markdown
`run`               the command
`nodes`             a separate command: latency of the dynamics node beside an echo
==================  ==============================================================================
"""

from pathlib import Path

# Working directory of child processes, so that they import this package.
ROOT = Path(__file__).resolve().parents[1]
