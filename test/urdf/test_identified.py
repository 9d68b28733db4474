# SPDX-License-Identifier: Apache-2.0
"""The comment in an identified description: others pass over it, and loading names the rest."""

import warnings
import xml.etree.ElementTree as ElementTree

import pytest
from elbow import ELBOW

from robot_dynamics.urdf.identified import lacking, marked
from robot_dynamics.urdf.loading import load_urdf, parse_urdf

MISSING = ['rotor_inertia up to 2.2 kg m^2', 'friction.law load_memory', 'effort_delay -5.8 ms']
SENTENCE = (
    f'identified with {", ".join(MISSING)}, which a URDF cannot hold: give the parameters of '
    "'arm.yaml' as well"
)


def caught(read):
    """Return what a function warns of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter('always')
        read()
    return [str(one.message) for one in found]


@pytest.mark.parametrize('before', ['', '\n ', '<?xml version="1.0"?>\n<!-- <robot> -->\n'])
def test_it_changes_nothing_but_itself_and_is_written_once(before):
    urdf = (before + ELBOW).encode()
    written = marked(urdf, 'arm.yaml', MISSING)
    again = marked(written, 'other.yaml', MISSING[:1])
    assert again.count(b'robot_dynamics') == written.count(b'robot_dynamics') == 1
    assert marked(again, 'arm.yaml', []) == marked(urdf, 'arm.yaml', []) == urdf
    noted = marked(urdf, 'arm.yaml', MISSING, 'inertias are from recordings')
    assert noted.count(b'<!-- robot_dynamics identified: inertias are from recordings -->') == 1
    assert marked(noted, 'arm.yaml', MISSING, 'inertias are from recordings') == noted
    assert marked(noted, 'arm.yaml', []) == urdf
    assert marked(urdf, 'arm.yaml', [], 'of recordings').count(b'robot_dynamics') == 1
    assert lacking(noted) == lacking(written)
    # Another reader finds the same elements.
    elements = [
        [(e.tag, e.attrib) for e in ElementTree.fromstring(text.strip()).iter()]
        for text in (urdf, written)
    ]
    assert elements[0] == elements[1]


def test_loading_names_the_file_and_what_it_alone_has(tmp_path):
    written = marked(ELBOW.encode(), 'arm.yaml', MISSING)
    file = tmp_path / 'arm.urdf'
    file.write_bytes(written)
    expected = [f"robot 'elbow': {SENTENCE}"]
    assert [w for w in caught(lambda: load_urdf(file)) if 'identified' in w] == expected
    assert [w for w in caught(lambda: parse_urdf(written)) if 'identified' in w] == expected
    assert not [w for w in caught(lambda: parse_urdf(ELBOW)) if 'identified' in w]


@pytest.mark.parametrize(
    ('unset', 'named'),
    [
        (None, MISSING),
        ((), []),
        (('effort_scale', 'gravity'), []),
        (('rotor_inertia',), MISSING[:1]),
        (('friction.law', 'effort_delay'), MISSING[1:]),
    ],
)
def test_what_is_given_beside_it_is_not_named(unset, named):
    words = lacking(marked(ELBOW.encode(), 'arm.yaml', MISSING), unset)
    assert [part for part in MISSING if part in words] == named
    assert bool(words) == bool(named)


def test_the_name_of_a_file_is_no_markup():
    name = 'a-->"?><robot name="x">\n.yaml'
    written = marked(ELBOW.encode(), name, MISSING)
    assert parse_urdf(written).name == 'elbow'
    assert repr(name) in lacking(written)
