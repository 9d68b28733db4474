# SPDX-License-Identifier: Apache-2.0
"""Trees of rows, and functions that use every tree traversal, to be recorded."""

import numpy as np

from robot_dynamics.codegen.loops import LoopForm, Rows
from robot_dynamics.codegen.loops.loop_assembly import trace_loops

OUTPUTS = ('total', 'A', 'B', 'back', 'X', 'inverse')
VECTORS = ('total', 'back')


class Plain:
    """The tree traversals, row by row: for numbers, and to record straight-line programs."""

    def __init__(self, parents):
        self.parents = parents

    def table(self, values):
        return list(values)

    def outward(self, base, step):
        states = []
        for i, p in enumerate(self.parents):
            states.append(step(i, base if p < 0 else states[p]))
        return states

    def inward(self, own, passed_on):
        loads = [list(value) for value in own]
        for i, p in reversed(list(enumerate(self.parents))):
            if p >= 0:
                loads[p] = [a + b for a, b in zip(loads[p], passed_on(i, loads[i]), strict=True)]
        return loads

    def of_parent(self, values, base):
        return [base if p < 0 else values[p] for p in self.parents]

    def pairs(self, diagonal, carriers, carried, below, above):
        matrix = [[0.0] * len(self.parents) for _ in self.parents]
        for i, j in enumerate(self.parents):
            matrix[i][i] = diagonal[i]
            while j >= 0:
                matrix[i][j] = below(carriers[j], carried[i])
                matrix[j][i] = above(carriers[j], carried[i])
                j = self.parents[j]
        return matrix

    def plus_diagonal(self, matrix, more):
        for i, x in enumerate(more):
            matrix[i][i] = matrix[i][i] + x
        return matrix

    def times(self, factor, matrix):
        return [[factor * x for x in row] for row in matrix]

    def solved(self, M, *others):
        # Gauss and Jordan, from the first row to the last.
        n, unit = len(M), np.eye(len(M)).tolist()
        rows = [[x for part in each for x in part] for each in zip(M, *others, unit, strict=True)]
        for k, pivot in enumerate(rows):
            inverse = 1.0 / pivot[k]
            rows[k] = [x * inverse for x in pivot]
            for i in {*range(n)} - {k}:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
        return [[row[j : j + n] for row in rows] for j in range(n, len(rows[0]), n)]


class Tree:
    """A tree of rows of two kinds, and functions that use every traversal of it.

    Args:
        parents: of the rows.
        steep: the kind of each row.
        seed: of the number that each row has.
    """

    def __init__(self, parents, steep, seed=0):
        n = len(parents)
        self.parents = parents
        self.steep = np.array(steep)
        self.numbers = np.random.default_rng(seed).uniform(0.5, 1.5, n)
        self.name = f'swept_{seed}_{n}'
        self.inputs = {'x': n, 'scale': 2}
        self.rows = Rows.of(self.parents, self.steep.tolist())
        self.rolled = LoopForm(self._function, self.rows, ('x',))

    @classmethod
    def random(cls, seed, n, branching):
        """Return a random tree."""
        rng = np.random.default_rng(seed)
        parents = [-1]
        for i in range(1, n):
            far = rng.random() < branching
            parents.append(int(rng.integers(-1, i)) if far else i - 1)
        return cls(parents, rng.random(n) < 0.4, seed)

    def straight(self, x, scale):
        """Compute all results row by row."""
        return self._function(Plain(self.parents), x, scale)

    def arguments(self, *leading):
        rng = np.random.default_rng(7)
        return rng.uniform(-1, 1, (*leading, len(self.parents))), rng.uniform(-1, 1, (*leading, 2))

    def program(self):
        return trace_loops(self.rolled, self.inputs, name=self.name, outputs=OUTPUTS)

    def vectors(self, traversals, x, scale):
        """Traverse the tree outward, inward, and outward again."""
        _, _, sums, back = self._traversed(traversals, x, scale)
        return [u[0] + u[1] for u in sums], [u[0] for u in back]

    def _traversed(self, traversals, x, scale):
        a, steep = traversals.table(self.numbers), traversals.table(self.steep)

        def step(i, state):
            angle, one, zero = state[0] + x[i], state[1], state[2]
            grown = angle * a[i] if steep[i] == 1.0 else angle - 0.25 * a[i]
            return [np.sin(grown), one, zero * a[i]]

        states = traversals.outward([scale[0], 1.0, 0.0], step)
        before = traversals.of_parent([state[0] for state in states], 0.5)
        own = [[u[0] + u[1] * b, u[2]] for u, b in zip(states, before, strict=True)]
        sums = traversals.inward(own, lambda i, load: [0.5 * load[0] * np.cos(x[i]), load[1]])
        first = [total[0] for total in sums]
        # And out again, from the sums.
        back = traversals.outward([0.0], lambda i, state: [0.3 * state[0] + first[i] * scale[1]])
        return a, states, sums, back

    def matrices(self, traversals, x, scale):
        """Traverse the tree, and return two vectors and two matrices."""
        a, states, sums, back = self._traversed(traversals, x, scale)
        first = [total[0] for total in sums]
        carriers = [[u[0], v] for u, v in zip(states, first, strict=True)]
        carried = [[v] for v in x]
        A = traversals.pairs(
            first,
            carriers,
            carried,
            lambda j, i: j[0] * i[0] + j[1],
            lambda j, i: j[1] * i[0],
        )
        B = traversals.pairs(
            first,
            carriers,
            carried,
            lambda j, i: scale[0] - j[0] * i[0],
            lambda j, i: j[0] / (2.0 + i[0]),
        )
        total = [u[0] + u[1] for u in sums]
        return (
            total,
            traversals.plus_diagonal(A, a),
            traversals.times(3.0, B),
            [u[0] for u in back],
        )

    def _function(self, traversals, x, scale):
        """Return the results of `OUTPUTS`: the last two solve equations."""
        results = self.matrices(traversals, x, scale)
        symmetric = traversals.pairs(
            [10.0 + v * v for v in x],
            [[v] for v in x],
            [[v] for v in x],
            lambda j, i: j[0] * i[0],
            lambda j, i: j[0] * i[0],
        )
        return *results, *traversals.solved(symmetric, results[2])
