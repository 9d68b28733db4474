# SPDX-License-Identifier: Apache-2.0
"""Single faults put into descriptions whose numbers are right, and the repairs expected."""

from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from robot_dynamics.common.spatial import rotation_rpy
from robot_dynamics.core.model.inertia import parallel_axis
from robot_dynamics.urdf.editing import Change, edited

TENSOR = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
INERTIA = 'inertial/inertia/@'


class Fault(NamedTuple):
    """A wrong description: where it is wrong, and the attributes as they were."""

    text: bytes
    element: str
    kinds: tuple[str, ...]  # any of these names it
    repair: dict[str, object]  # {} where no single attribute explains it


def numbers(text):
    return [float(word) for word in text.split()]


class Numbers:
    """Numbers of a link or joint, as they are in the text."""

    def __init__(self, text, tag, name):
        self.tag, self.name, self.text = tag, name, text
        root = ElementTree.fromstring(text)
        self.element = root.find(f'{tag}[@name="{name}"]')

    def get(self, path):
        where, key = path.rsplit('/@', 1)
        values = numbers(self.element.find(where).get(key))
        return values if len(values) > 1 else values[0]

    def tensor(self):
        I = np.zeros((3, 3))
        I[np.triu_indices(3)] = [self.get(INERTIA + key) for key in TENSOR]
        return I + np.triu(I, 1).T

    def com(self):
        """Return the centre of mass in the axes of the <inertial>."""
        origin = self.element.find('inertial/origin')
        xyz, rpy = (numbers(origin.get(key, '0 0 0')) for key in ('xyz', 'rpy'))
        return rotation_rpy(*rpy).T @ xyz

    def changed(self, values, kinds):
        """Return the fault of new values, all of them to be restored."""
        values = {path: value for path, value in values.items() if value != self.get(path)}
        changes = [Change(self.tag, self.name, path, value) for path, value in values.items()]
        old = {path: self.get(path) for path in values}
        return Fault(edited(self.text, changes), self.name, kinds, old)


def scaled_mass(text, link, factor):
    at = Numbers(text, 'link', link)
    path = 'inertial/mass/@value'
    return at.changed({path: at.get(path) * factor}, ('mass-unit',))


def scaled_tensor(text, link, factor):
    at = Numbers(text, 'link', link)
    values = {INERTIA + key: at.get(INERTIA + key) * factor for key in TENSOR}
    return at.changed(values, ('inertia-unit',))


def com_in_mm(text, link):
    at = Numbers(text, 'link', link)
    path = 'inertial/origin/@xyz'
    return at.changed({path: [x * 1000 for x in at.get(path)]}, ('com-unit',))


def _with_tensor(at, tensor, kinds):
    entries = np.asarray(tensor)[np.triu_indices(3)].tolist()
    return at.changed(
        {INERTIA + key: value for key, value in zip(TENSOR, entries, strict=True)}, kinds
    )


def tensor_about_origin(text, link):
    at = Numbers(text, 'link', link)
    tensor = at.tensor() + parallel_axis(at.get('inertial/mass/@value'), at.com())
    return _with_tensor(at, tensor, ('inertia-about-origin',))


def negated_products(text, link):
    at = Numbers(text, 'link', link)
    tensor = 2 * np.diag(np.diag(at.tensor())) - at.tensor()
    return _with_tensor(at, tensor, ('products-sign',))


def swapped(text, link, i=0, j=2):
    at = Numbers(text, 'link', link)
    tensor = at.tensor()
    tensor[i, i], tensor[j, j] = tensor[j, j], tensor[i, i]
    return _with_tensor(at, tensor, ('inertia-permuted', 'inertia-inconsistent'))


def scaled_moment(text, link, key, factor):
    at = Numbers(text, 'link', link)
    path = INERTIA + key
    fault = at.changed({path: at.get(path) * factor}, ('inertia-inconsistent', 'inertia-entry'))
    return fault


def removed_inertial(text, link):
    root = ElementTree.fromstring(text)
    element = root.find(f'link[@name="{link}"]')
    element.remove(element.find('inertial'))
    return Fault(ElementTree.tostring(root), link, ('inertia-missing',), {})


def default_inertials(text, links, mass=1.0, moment=1.0):
    changes = [
        change
        for link in links
        for change in (
            Change('link', link, 'inertial/mass/@value', mass),
            *(
                Change('link', link, INERTIA + key, moment if key[1] == key[2] else 0.0)
                for key in TENSOR
            ),
        )
    ]
    return Fault(edited(text, changes), links[0], ('default-inertial',), {})


def mass_on_frame(text, link, mass=1.0, moment=0.01):
    changes = [Change('link', link, 'inertial/mass/@value', mass)]
    changes += [
        Change('link', link, INERTIA + key, moment if key[1] == key[2] else 0.0) for key in TENSOR
    ]
    return Fault(edited(text, changes), link, ('frame-mass', 'default-inertial'), {})


def duplicated(text, link):
    """Return the fault of a link that is there twice: fixed to the first, at the same place."""
    root = ElementTree.fromstring(text)
    element = ElementTree.fromstring(ElementTree.tostring(root.find(f'link[@name="{link}"]')))
    element.set('name', 'other')
    root.append(element)
    joint = ElementTree.SubElement(root, 'joint', name='weld', type='fixed')
    ElementTree.SubElement(joint, 'parent', link=link)
    ElementTree.SubElement(joint, 'child', link='other')
    return Fault(ElementTree.tostring(root), 'other', ('payload-duplicated',), {})


def limit(text, joint, key, value, kinds, repairs=True):
    at = Numbers(text, 'joint', joint)
    fault = at.changed({f'limit/@{key}': value(at.get(f'limit/@{key}'))}, kinds)
    return fault if repairs else fault._replace(repair={})


def limits_in_degrees(text, joint):
    at = Numbers(text, 'joint', joint)
    paths = ('limit/@lower', 'limit/@upper')
    return at.changed({p: at.get(p) * 180 / np.pi for p in paths}, ('limit-degrees',))


def axis(text, joint, factor):
    at = Numbers(text, 'joint', joint)
    kind = {0: 'axis-zero', -1: 'joint-flipped'}.get(factor, 'axis-not-unit')
    new = [factor * x + 0.0 for x in at.get('axis/@xyz')]
    fault = at.changed({'axis/@xyz': new}, (kind,))
    return fault._replace(repair={}) if factor == 0 else fault
