# SPDX-License-Identifier: Apache-2.0
"""Mutants of a source: one expression or statement changed, by mutmut and by operators below."""

import re

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.file_mutation import MutationVisitor
from mutmut.mutation.mutators import mutation_operators, operator_string
from mutmut.mutation.pragma_handling import IgnoredCode

# What one takes for another: the lower limit for the upper one, the sum for the difference.
EXCHANGED = dict(
    pair
    for one, other in (
        ('minimum', 'maximum'),
        ('min', 'max'),
        ('lower', 'upper'),
        ('argmin', 'argmax'),
        ('any', 'all'),
        ('fmin', 'fmax'),
        ('floor', 'ceil'),
    )
    for pair in ((one, other), (other, one))
)


def negated_condition(node):
    """`if a:` becomes `if not (a):`."""
    brackets = {'lpar': [cst.LeftParen()], 'rpar': [cst.RightParen()]}
    yield node.with_changes(
        test=cst.UnaryOperation(cst.Not(), node.test.with_changes(**brackets)),
    )


def one_element_less(node):
    """A list or tuple loses one of its elements."""
    if len(node.elements) > 1:
        for k in range(len(node.elements)):
            rest = [*node.elements[:k], *node.elements[k + 1 :]]
            if len(rest) == 1:
                rest = [rest[0].with_changes(comma=cst.Comma())]
            yield node.with_changes(elements=rest)


def no_absolute_value(node):
    """`abs(a)` becomes `a`."""
    if m.matches(node.func, m.Name('abs') | m.Attribute(attr=m.Name('abs') | m.Name('fabs'))):
        yield node.args[0].value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def exchanged_name(node):
    """`np.minimum` becomes `np.maximum`, `limit.lower` becomes `limit.upper`."""
    if node.value in EXCHANGED:
        yield node.with_changes(value=EXCHANGED[node.value])


def without_statement(node):
    """A call whose result is not used, and an assignment to an attribute, are left out."""
    statement = m.Expr(m.Call()) | m.Assign([m.AssignTarget(m.Attribute() | m.Subscript())])
    if m.matches(node, m.SimpleStatementLine([statement | m.AugAssign()])):
        yield node.with_changes(body=[cst.Pass()])


OPERATORS = (
    # Messages are not what the tests are to pin.
    *(
        (kind, operator)
        for kind, operator in mutation_operators
        if operator is not operator_string
    ),
    (cst.If, negated_condition),
    (cst.IfExp, negated_condition),
    (cst.List, one_element_less),
    (cst.Tuple, one_element_less),
    (cst.Call, no_absolute_value),
    (cst.Name, exchanged_name),
    (cst.SimpleStatementLine, without_statement),
)


class EveryFunction(MutationVisitor):
    """Visits decorated functions as well, but no decorators, annotations and raised errors."""

    def _skip_node_and_children(self, node):
        if isinstance(node, cst.FunctionDef | cst.Param):
            return False
        return isinstance(node, cst.Raise | cst.Import | cst.ImportFrom) or (
            super()._skip_node_and_children(node)
        )


def mutants(source):
    """Return the mutants of a source as (line, text), in the order of their lines."""
    wrapper = MetadataWrapper(cst.parse_module(source))
    visitor = EveryFunction(OPERATORS, IgnoredCode(set(), set(), set()))
    module = wrapper.visit(visitor)
    positions = wrapper.resolve(PositionProvider)
    made = {}
    for change in visitor.mutations:
        line = positions[change.original_node].start.line
        text = module.deep_replace(change.original_node, change.mutated_node).code
        if without_strict(text) != without_strict(source) and is_valid(text):
            made.setdefault(text, line)
    return sorted((line, text) for text, line in made.items())


def without_strict(text):
    """Return a source without the lengths that `zip` compares, which are equal."""
    return re.sub(r',\s*strict=\w+', '', text)


def is_valid(text):
    """Return whether the interpreter accepts a source; some changes make none."""
    try:
        compile(text, 'mutant', 'exec')
    except SyntaxError:
        return False
    return True
