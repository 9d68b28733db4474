# SPDX-License-Identifier: Apache-2.0
"""Steps of a simulator.

Reading order: `integrators`; `adaptive` (SciPy's solvers); `body` with `rigid_arm` and
`elastic_arm` (the coordinates that are stepped); `contacts` (friction and stops); `motion`
(selection of the step); `energy_watch` (detection of divergence).
"""
