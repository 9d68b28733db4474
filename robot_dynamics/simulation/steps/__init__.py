"""Steps of a simulator.

Reading order: `integrators`; `adaptive` (SciPy's solvers); `body` with `rigid_arm` and
`elastic_arm` (the coordinates that are stepped); `dry_contact`, `contact_step` and `stiff_step`
(sticking, stops, stiff friction); `motion` (selection of the step); `energy_watch` (detection of
divergence).
"""
