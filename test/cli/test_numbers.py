# SPDX-License-Identifier: Apache-2.0
"""Numbers of the command line: any value ends with exit code 0, or with 2 and one line."""

from pathlib import Path

import pytest
from tiers import slow, soak
from verbs import options_of, verbs

from robot_dynamics import cli
from robot_dynamics.cli import options
from robot_dynamics.common.resources import share_file

ELBOW = str(share_file('urdf/planar_2r.urdf'))
MOTION = str(Path(__file__).parent / 'elbow_motion.yaml')
# Small amounts of work, so that an accepted number takes little time.
BASE = {
    'check': [ELBOW],
    'terms': [ELBOW],
    'gains': [ELBOW],
    'validate': [ELBOW, '--states', '2', '--engine', 'mujoco'],
    'compare': [ELBOW, '--states', '1'],
    'same': [ELBOW, ELBOW],
    'simulate': [ELBOW, '--duration', '0.01'],
    'derive': [ELBOW],
    # A frame that no function uses is rejected before the files are written.
    'export': [
        ELBOW,
        *[
            '--language',
            'c',
            '--functions',
            'gravity_torque',
            '--frame',
            'link1',
            '--output',
            'no',
        ],
    ],
    'precompile': ['/no'],  # rejected before anything is compiled
    'excite': [ELBOW, '--effort', '1e-9', '--harmonics', '1'],  # no posture, so no search
    'monte-carlo': [ELBOW, '--samples', '2', '--duration', '0.01'],
    'trajectory': [MOTION, '--robot', ELBOW],
    'size': [ELBOW, MOTION, '--postures', '2'],
    'demo': ['--robot', '/no'],  # rejected before any node starts
    'view': ['/no'],  # rejected before the server starts
    'record': [str(Path(__file__).parent)],  # this folder exists: rejected before any node starts
    'send': ['/no'],  # likewise
}
# Verbs that read a recording, and what they need besides.
RECORDED = {'evaluate': [], 'identify': [], 'payload': ['--link', 'link2'], 'thresholds': []}
NO_NUMBER = ['nan', 'inf', '-inf', '1e300', '9' * 400, 'x', '']
# Numbers that some options accept; each runs the verb.
FEW = ['-1', '0']
EXTREME = ['1e12', '-1e-300', '5e-324']
NO_NUMBERS = {
    None,
    Path,
    options.folder,
    options.new_animation,
    options.new_file,
    options.new_folder,
    options.new_picture,
    options.new_report,
}


def numeric():
    """Yield (verb, option, how many values) of all options whose values are converted."""
    for verb, parser in verbs().items():
        for action in options_of(parser):
            if action.type not in NO_NUMBERS:
                many = {None: 1, '?': 1}.get(action.nargs, action.nargs)
                many = many if isinstance(many, int) else 2
                yield verb, action.option_strings[-1], many


CASES = list(numeric())
GATES = {
    ('validate', '--tolerance'),
    ('evaluate', '--max-rms'),
    ('evaluate', '--max-relative'),
    ('check', '--weight'),
} | {(verb, option) for verb, option, _ in CASES if verb in ('size', 'trajectory')}


def options_with_numbers(verb):
    """Return (option, how many values) of the options of a verb whose values are converted."""
    return [(option, many) for name, option, many in CASES if name == verb]


def ending(arguments, capsys):
    """Return (exit code, standard output, standard error)."""
    try:
        code = cli.main(arguments)
    except SystemExit as error:
        code = error.code
    return code, *capsys.readouterr()


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    pytest.importorskip('rosbags')
    from recorded_runs import lively, samples, torque, write_bag

    from robot_dynamics.urdf.loading import load_urdf

    model = load_urdf(ELBOW)
    t, q, qd, qdd = lively(model, duration=4.0, rate=200.0)
    states = samples(model.joint_names, t, q, qd, torque(model, q, qd, qdd))
    folder = tmp_path_factory.mktemp('bags') / 'run'
    return str(write_bag(folder, {'/joint_states': states}))


def test_folders_of_packages_exist(tmp_path, capsys):
    """By the same option in every verb that has a robot, which may be a .xacro with $(find)."""
    missing = tmp_path / 'no'
    for verb in ('check', 'excite', 'terms'):
        words = [verb, ELBOW, '--package-path', str(tmp_path), '--package-path', str(missing)]
        code, shown, errors = ending(words, capsys)
        assert (code, shown) == (2, '')
        assert f'argument --package-path: {missing} is not a folder' in errors
        assert errors.count('\n') == 1
    helps = {verb: parser.format_help() for verb, parser in verbs().items()}
    having, robots = (
        {verb for verb, text in helps.items() if option in text}
        for option in ('--package-path', '--dh')
    )
    assert {'check', 'excite', 'view', 'terms'} <= having == robots


def test_the_options_are_found():
    assert {('terms', '--q', 2), ('evaluate', '--gravity', 3), ('validate', '--seed', 1)} <= {
        *CASES
    }
    assert {verb for verb, *_ in CASES} <= {*BASE, *RECORDED}


def words_of(verb, option, many, value, request):
    """Return the words of a verb with a value, or as many as the option takes."""
    if verb in RECORDED:
        base = [request.getfixturevalue('bag'), '--robot', ELBOW, *RECORDED[verb]]
    else:
        base = BASE[verb]
    given = [f'{option}={value}'] if many == 1 else [option, *[value] * many]
    return [verb, *base, *given]


def assert_one_line(errors, words):
    # Lines of progress begin with the elapsed time.
    lines = [line for line in errors.splitlines() if not line.startswith('[')]
    assert len(lines) == 1, words
    assert 'Traceback' not in errors, words


@pytest.mark.parametrize('verb', [*BASE, *RECORDED])
def test_what_is_no_number_is_rejected_by_name(verb, request, capsys):
    for option, many in options_with_numbers(verb):
        for value in NO_NUMBER:
            words = words_of(verb, option, many, value, request)
            code, _, errors = ending(words, capsys)
            assert code == 2, words
            assert option in errors, words
            assert_one_line(errors, words)


@pytest.mark.parametrize('values', [FEW, *soak([EXTREME])], ids=['few', 'extreme'])
@pytest.mark.parametrize(
    'verb', [*(verb for verb in BASE if verb != 'excite'), *slow(['excite', *RECORDED])]
)
def test_a_number_is_accepted_or_rejected_in_one_line(verb, values, request, capsys):
    for option, many in options_with_numbers(verb):
        for value in values:
            words = words_of(verb, option, many, value, request)
            code, _, errors = ending(words, capsys)
            # A limit may report FAIL, with exit code 1; nothing may be compared or told, with 3.
            allowed = {0, 2, *([1] if (verb, option) in GATES else [])}
            assert code in allowed | ({3} if verb in ('identify', 'validate') else set()), words
            if code == 2:
                assert_one_line(errors, words)


@pytest.mark.parametrize(
    ('arguments', 'named'),
    [
        (['terms', ELBOW, '--q', 'nan', 'nan'], '--q'),
        (['validate', ELBOW, '--tolerance', 'inf'], '--tolerance'),
        (['validate', ELBOW, '--seed', '-1'], '--seed'),
        (['validate', ELBOW, '--states', '1000000000000'], '--states'),
        (['evaluate', 'bag', '--max-rms', 'nan'], '--max-rms'),
        (['evaluate', 'bag', '--effort-scale', '0'], '--effort-scale'),
        (['simulate', ELBOW, '--duration', '1e6', '--time-step', '1e-6'], '--duration'),
        (['simulate', ELBOW, '--duration', '1e-9'], '--duration'),
    ],
)
def test_inconsistent_options_are_rejected_by_name(arguments, named, capsys):
    code, output, errors = ending(arguments, capsys)
    assert (code, output) == (2, '')
    assert named in errors
    assert 'expected' in errors
    assert errors.count('\n') == 1


@pytest.mark.parametrize(
    'words', [['--lock', 'joint2=nan'], ['--payload', 'link2', 'inf'], ['--payload', 'link2', 'x']]
)
def test_numbers_within_words_are_checked(words, bag, capsys):
    code, output, errors = ending(['evaluate', bag, '--robot', ELBOW, *words], capsys)
    assert (code, output) == (2, '')
    assert f'{words[0]}: is ' in errors


def test_positions_of_any_sign_are_accepted(capsys):
    assert ending(['terms', ELBOW, '--q', '-0.5', '1000000'], capsys)[0] == 0
