"""What becomes of sums: which terms, in which order, and what is computed in them."""

import numpy as np
import pytest

from robot_dynamics.compiler import compile_program, trace
from robot_dynamics.compiler.sums import chains

EPS = np.finfo(float).eps


def signed_terms(function, size):
    """Return, of each sum, its terms as (sign, the node itself, computed in the sum)."""
    program = trace(function, {'x': size})
    terms, _ = chains(program)
    return [
        [('+' if positive else '-', program.nodes[i], product) for positive, i, product in chain]
        for chain in terms.values()
    ]


def test_a_sum_used_once_dissolves_with_its_sign():
    (chain,) = signed_terms(lambda x: [x[0] - (x[1] - x[2])], 3)
    assert sorted((sign, node[2]) for sign, node, _ in chain) == [('+', 0), ('+', 2), ('-', 1)]


def test_a_sum_used_twice_stays():
    assert len(signed_terms(lambda x: [x[2] - (x[0] + x[1]), x[3] * (x[0] + x[1])], 4)) == 2


def test_the_first_term_is_a_number_added():
    (chain,) = signed_terms(lambda x: [x[0] * x[1] - x[2] + x[3]], 4)
    assert chain[0] == ('+', ('input', 'x', 3), False)
    assert [product for *_, product in chain] == [False, False, True]


def test_a_product_is_computed_in_the_only_sum_that_uses_it():
    (chain,) = signed_terms(lambda x: [x[0] * x[1] + x[2]], 3)
    assert [product for *_, product in chain] == [False, True]
    chains = signed_terms(lambda x: [x[0] * x[1] + x[2], x[0] * x[1] - x[3]], 4)
    assert not any(product for chain in chains for *_, product in chain)


@pytest.mark.usefixtures('machine')
@pytest.mark.parametrize('seed', range(20))
def test_sums_of_random_terms(seed):
    rng = np.random.default_rng(seed)

    def function(x, minus=-1.0):
        terms = list(x)
        choices = np.random.default_rng(seed).integers((4, 26, 26), size=(60, 3))
        for choice, i, j in choices:
            a, b = terms[i % len(terms)], terms[j % len(terms)]
            new = (a + b, a + minus * b, x[i % 6] * x[j % 6], minus * a)[choice]
            terms.append(new)
        return terms[-20:]

    compiled = compile_program(function, {'x': 6}, backend='llvm')
    x = rng.uniform(-1, 1, size=6)
    # Rounding errors are small beside the sums of sizes.
    sizes = np.array(function(list(np.abs(x)), minus=1.0))
    assert (np.abs(compiled(x) - np.array(function(list(x)))) <= 60 * EPS * sizes).all()
