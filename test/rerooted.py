# SPDX-License-Identifier: Apache-2.0
"""The same robot with the parts of its moving links in frames that are fixed to them."""

from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.common.spatial import pose, rotation_rpy


def rerooted(text, rng, turn=None):
    """Return a description in which every moved link is fixed to a frame where its joint is.

    Each link keeps its name and has another frame, with another place and turn; the frame of its
    joint is the link `NAME_frame`.

    Args:
        text: the description.
        rng: of places and turns.
        turn: (3, 3) of all links; one of its own for each if None.
    """
    root = ElementTree.fromstring(text)
    moving = [j for j in root.findall('joint') if j.get('type') != 'fixed']
    for joint in moving:
        name = joint.find('child').get('link')
        R = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
        T = pose(R if turn is None else turn, rng.uniform(-0.1, 0.1, 3))
        link = root.find(f'link[@name="{name}"]')
        parts = [part for tag in ('inertial', 'visual', 'collision') for part in link.findall(tag)]
        leaving = [j for j in root.findall('joint') if j.find('parent').get('link') == name]
        for element in (*parts, *leaving):
            _place(element, np.linalg.inv(T) @ _placed(element))
        joint.find('child').set('link', f'{name}_frame')
        root.append(ElementTree.Element('link', name=f'{name}_frame'))
        fixed = ElementTree.SubElement(root, 'joint', name=f'{name}_fixed', type='fixed')
        ElementTree.SubElement(fixed, 'parent', link=f'{name}_frame')
        ElementTree.SubElement(fixed, 'child', link=name)
        _place(fixed, T)
    return ElementTree.tostring(root)


def _placed(element):
    origin = element.find('origin')
    origin = {} if origin is None else origin.attrib
    xyz, rpy = (
        np.array([float(x) for x in origin.get(key, '0 0 0').split()]) for key in ('xyz', 'rpy')
    )
    return pose(rotation_rpy(*rpy), xyz)


def _place(element, T):
    origin = element.find('origin')
    origin = ElementTree.SubElement(element, 'origin') if origin is None else origin
    rpy = Rotation.from_matrix(T[:3, :3]).as_euler('xyz')
    for key, values in (('xyz', T[:3, 3]), ('rpy', rpy)):
        origin.set(key, ' '.join(repr(float(x)) for x in values))
