# SPDX-License-Identifier: Apache-2.0
"""Faults of robot descriptions, and their repairs: see `examination.examine`.

Input: the text of a description, and of a reference or a twin; or two models of one robot. Output:
findings, each with its evidence, and the repairs that are proven. Other wings use `examine`
(examination), `Fault` (findings) and `same` (sameness).

description, evidence   what the text says; what geometry, twins and other links tell
*_rules                 rules on one subject: structure, bodies, inertias, joints, placement
hypotheses, twins       repairs that are tried; the mirrored half of a robot
findings, examination   what was found; all rules in their order
picture                 masses and inertias, to look at
sameness, differences   comparison of two models of one robot
joint_pairs, correspondence, inertia_differences    its parts
"""
