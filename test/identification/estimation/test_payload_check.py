# SPDX-License-Identifier: Apache-2.0
"""A known payload that its recording contradicts is refused, and scales no currents."""

import json
from dataclasses import replace
from itertools import starmap

import numpy as np
import pytest
import yaml
from arms_to_identify import recorded, wrong

from robot_dynamics.common.reporting.json_files import write_json
from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.estimation.estimation import identify
from robot_dynamics.identification.estimation.excitation_check import RefusedError
from robot_dynamics.identification.estimation.identification_records import PayloadRecording
from robot_dynamics.identification.estimation.identification_report import as_json, text
from robot_dynamics.identification.estimation.identified_files import node_parameters
from robot_dynamics.identification.estimation.payload_check import (
    ShownPayload,
    contradiction,
    remark,
)
from robot_dynamics.urdf.loading import load_urdf

pytest.importorskip('cvxpy')

ELBOW = load_urdf(share_file('urdf/planar_2r.urdf'))
PANDA = load_urdf(share_file('urdf/panda.urdf'), tip_link='panda_link8')
LINK, MASS, COM = ELBOW.link_names[-1], 1.5, np.array([0.3, 0.0, 0.0])
SCALE = np.array([2.0, 0.5])  # N m per unit recorded


@pytest.fixture(scope='module')
def runs():
    """Return recordings of currents of an elbow: two without the payload, one with it."""
    true = wrong(ELBOW, viscous=0.4, coulomb=0.3, rotor_inertia=0.05)
    arms = (true, 1), (true, 2), (true.with_payload(LINK, MASS, COM), 3)
    return [replace(one, effort=one.effort / SCALE + 0.1) for one in starmap(recorded, arms)]


def identified(plain, loaded, mass=MASS, com=COM, **options):
    payload = PayloadRecording(loaded, LINK, mass, com)
    options = {'efforts': 'currents', 'friction': 'coulomb', **options}
    return identify(Dynamics(ELBOW), plain, payload=payload, **options)


@pytest.mark.parametrize('side', [1, -1])
def test_a_wrong_centre_of_mass_is_refused_with_both_values(runs, side):
    plain, _, loaded = runs
    given = COM + side * np.array([0.06, 0.0, 0.0])
    expected = (
        rf'does not agree with a payload of 1\.5 kg at \({given[0]:.4f}, 0\.0000, 0\.0000\) m of '
        rf'{LINK}: it shows the centre of mass at \(0\.(29|30|31).*leave out the centre'
    )
    with pytest.raises(RefusedError, match=expected):
        identified(plain, loaded, com=given)


@pytest.mark.parametrize('com', [COM, None], ids=['at its centre', 'anywhere'])
@pytest.mark.parametrize('second', [0, 1], ids=['same', 'another'])
def test_a_recording_without_the_payload_is_refused(runs, com, second):
    with pytest.raises(RefusedError, match=r'shows no payload: .* kg; expected 1\.5 kg on'):
        identified(runs[0], runs[second], com=com)


def test_interchanged_recordings_are_refused(runs):
    plain, _, loaded = runs
    with pytest.raises(RefusedError, match=r'shows a negative one, -.*interchanged\?'):
        identified(loaded, plain)


def test_an_overridden_contradiction_leaves_the_scales_unknown(runs):
    refusals = []
    found = identified(runs[0], runs[1], refuse=refusals.append)
    assert len(refusals) == 1
    assert not found.drives.scale_known.any()
    assert found.validation.unit == 'as recorded'
    shown = text(found)
    assert 'recording with the payload contradicts a payload of 1.5 kg' in shown
    assert 'record the same motion with a known payload' not in shown
    assert 'proportional to the mass' not in shown
    assert as_json(found)['payload']['agrees'] is False
    assert 'payload_mass' not in node_parameters(found)


@pytest.mark.parametrize('com', [COM, None], ids=['given', 'estimated'])
def test_figures_are_proportional_to_the_mass_and_say_so(runs, com, tmp_path):
    plain, _, loaded = runs
    found = identified(plain, loaded, com=com)
    heavy = identified(plain, loaded, mass=1.1 * MASS, com=com)
    assert found.drives.effort_scale == pytest.approx(SCALE, rel=0.03)
    ratio = heavy.drives.effort_scale / found.drives.effort_scale
    assert ratio == pytest.approx(1.1, rel=0.01)
    shown = text(heavy)
    assert 'proportional to the mass given with --payload, 1.65 kg: an error of 1 %' in shown
    units = 'viscous [N m s/rad], coulomb [N m], offset [N m], rotor inertia [kg m^2]'
    assert f'{units}, effort scale [N m per recorded unit]; ± is one standard error' in shown
    write_json(tmp_path / 'a.json', as_json(heavy))
    payload = json.loads((tmp_path / 'a.json').read_text())['payload']
    assert (payload['mass'], payload['sets_effort_scale']) == (pytest.approx(1.65), True)
    parameters = node_parameters(heavy)
    assert (
        '# Every N m and kg is proportional to the mass given with --payload, 1.65' in parameters
    )
    origin = yaml.safe_load(parameters)['/identification']['ros__parameters']
    assert origin['payload_mass'] == pytest.approx(1.65)


def test_a_scale_that_the_payload_does_not_determine_names_the_payload(runs):
    plain, _, loaded = runs
    found = identified(plain, loaded)
    found = replace(found, drives=found.drives._replace(scale_known=np.array([True, False])))
    reason = f'efforts of joint2 is not identifiable with 1.5 kg on {LINK}: its standard error'
    assert reason in text(found)
    assert 'from currents alone' not in text(found)


def payload_shown(mass=2.0, com=(0.0, 0.0, 0.06), error=0.02, com_error=0.0001, described=True):
    return ShownPayload(mass, error, np.array(com), np.full(3, com_error), described)


GIVEN = PayloadRecording(None, 'hand', 2.0, (0.0, 0.0, 0.06))


@pytest.mark.parametrize(
    ('shown', 'word'),
    [
        (payload_shown(), ''),
        (payload_shown(com=(0.0, 0.0, 0.0649)), ''),  # below 5 mm
        (payload_shown(com=(0.0, 0.0, 0.0551)), ''),
        (payload_shown(com=(0.0, 0.0, 0.0651)), 'does not agree'),
        (payload_shown(com=(-0.0051, 0.0, 0.06)), 'does not agree'),
        (payload_shown(com=(0.0, 0.0, 0.08), com_error=0.006), ''),  # below four errors
        (payload_shown(mass=0.3, error=0.08), 'no payload'),
        (payload_shown(mass=0.09, error=0.001), 'no payload'),
        (payload_shown(mass=-0.3, error=0.08), 'no payload'),
        (payload_shown(mass=-0.4, error=0.08), 'negative one'),
        (payload_shown(mass=0.4, error=0.08), ''),
    ],
)
def test_contradictions_are_beyond_the_errors(shown, word):
    reason = contradiction(shown, GIVEN)
    assert word in reason
    assert bool(reason) == bool(word)


def test_a_mass_unlike_the_described_ones_is_a_remark():
    (line,) = remark(payload_shown(mass=1.8), GIVEN)
    assert line.startswith('by the masses of the description the payload is 1.8 kg, and 2 kg was')
    assert remark(payload_shown(mass=2.2), GIVEN)
    assert not remark(payload_shown(mass=1.9), GIVEN)
    assert not remark(payload_shown(mass=1.5, described=False), GIVEN)


@pytest.mark.slow
def test_a_panda_with_another_centre_of_mass_is_refused():
    scale, link, com = np.array([12.0, 12, 12, 12, 9, 9, 9]), 'panda_link8', np.array([0, 0, 0.06])
    true = wrong(PANDA, viscous=1.0, coulomb=0.6)
    arms = (true, 1), (true.with_payload(link, 2.0, com), 3)
    plain, loaded = (
        replace(one, effort=one.effort / scale + 0.02)
        for one in (recorded(arm, seed, rate=200.0) for arm, seed in arms)
    )

    def found(given):
        payload = PayloadRecording(loaded, link, 2.0, given)
        return identify(
            Dynamics(PANDA), plain, efforts='currents', friction='coulomb', payload=payload
        )

    for z in (0.04, 0.08, 0.10, 0.15):
        with pytest.raises(RefusedError, match=r'it shows the centre of mass at .*, 0\.060'):
            found([0, 0, z])
    for given in (com, None):
        right = found(given)
        assert right.drives.scale_known.all()
        assert right.drives.effort_scale == pytest.approx(scale, rel=0.02)
