# SPDX-License-Identifier: Apache-2.0
"""Comparison of recorded efforts with a model, and the causes of differences.

Input: a `Recording` and the `Dynamics` of a description. Output: `Evaluation`, the residual of
each joint and the causes that explain it. Other wings use `evaluate`, `text` and `plot`.

evaluation        measured effort and the model's torque, joint by joint
cause_columns     torque that each cause would add, per unit of its unknowns
hypotheses        possible causes, and their physical limits
causes            the causes that explain the residual: cause_equations, selection,
                  sufficient_causes; last_fit has their size, errors and alternatives
autoregression    noise of the residual, and its innovations
selection         regression with the most probable groups of unknowns
search_numbers    tuned numbers of the search
evaluation_report findings as text, JSON and figure, curves as CSV

arm = Dynamics(load_urdf('panda.urdf'))
found = evaluate(arm, read_recording('run').recording(arm.model.joint_names))
print(text(found))
"""

from robot_dynamics.evaluation.evaluation import Evaluation as Evaluation
from robot_dynamics.evaluation.evaluation import evaluate as evaluate
from robot_dynamics.evaluation.evaluation_report import plot as plot
from robot_dynamics.evaluation.evaluation_report import text as text
from robot_dynamics.evaluation.hypotheses import Cause as Cause
