"""How a step is made.

Reading order: `integrators` (every way to make one; `midpoint` and `adaptive` in files of their
own), `body` with `rigid_arm` and `elastic_arm` (what is stepped), `dry_contact`, `contact_step`
and `stiff_step` (sticking, running into stops, what is too stiff for an integrator), `motion`
(which of them is taken when), `energy_watch` (whether numbers still are a motion).
"""
