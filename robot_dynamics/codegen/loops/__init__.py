# SPDX-License-Identifier: Apache-2.0
"""Programs of tree traversals: as loops over the bodies, or with branches vectorized.

Long trees are recorded once per kind of rows and become loops; parallel branches are recorded
once, on vectors with a lane for each.

=======================  =========================================================================
`program`                loops over the rows of a tree, and what is computed at a row
`trace`                  runs a tree traversal once for each kind of rows
`assembly`               assembles the recorded operations into loops
`branch_vectorization`   a straight-line program in which equal branches are lanes of vectors
=======================  =========================================================================
"""

from robot_dynamics.codegen.loops.loop_program import LoopForm as LoopForm
from robot_dynamics.codegen.loops.loop_program import LoopProgram as LoopProgram
from robot_dynamics.codegen.loops.loop_program import Rows as Rows
