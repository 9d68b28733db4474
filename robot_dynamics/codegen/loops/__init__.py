"""What the rows of a tree have in common: loops along it, and vectors across its limbs.

What grows too long for a straight line is recorded once per kind of rows and put into loops, which
make a program of their own; parallel limbs are recorded once, as vectors. Like `compiler`, on
whose graph and texts it stands, it knows nothing of robots.

==================  ==============================================================================
`program`           loops over the rows of a tree, and what is computed at a row
`trace`             run a function that sweeps over rows once for each kind of them,
`assembly`          and put what is recorded into loops
`python`            these in Python,
`loops`             in LLVM's language, for one sample and for many,
`llvm`              as functions of the same form as those of straight lines
`limbs`             a straight line in which limbs of one kind go side by side
==================  ==============================================================================
"""

from robot_dynamics.codegen.loops.program import Coordinates as Coordinates
from robot_dynamics.codegen.loops.program import LoopForm as LoopForm
from robot_dynamics.codegen.loops.program import LoopProgram as LoopProgram
from robot_dynamics.codegen.loops.program import Rows as Rows
