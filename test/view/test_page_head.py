# SPDX-License-Identifier: Apache-2.0
"""Dark and small pages: what is added to the head of viser's page, measured in a browser."""

import gzip
import http.client

import browser
import numpy as np
import pytest
from contrast import contrast
from recorded_runs import lively, samples, torque, write_bag

from robot_dynamics.urdf.loading import load_urdf
from robot_dynamics.view.page_head import HEAD, SMALL
from robot_dynamics.view.server import open_server

pytest.importorskip('viser')

WIDE, TABLET, PHONE = (1440, 900), (768, 1024), (390, 844)
SHEET = '.mantine-Paper-root:has(> div > .mantine-ScrollArea-root)'
FOLD = '[aria-label$="panel Joint torques"]'
# Colours of the nearest backgrounds that are not transparent, and of a text: 0 black, 1 white
SHADES = """
const shade = css => { const [r, g, b] = css.match(/[\\d.]+/g).map(Number);
    return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255 };
const behind = e => { for (; e; e = e.parentElement) {
    const css = getComputedStyle(e).backgroundColor;
    if (!/^rgba\\(.*, 0\\)$/.test(css)) return shade(css) } return 1 };
const find = s => document.querySelector(s);
const text = find('[data-joint] span');
if (!text) return null;
return [behind(find('canvas')), behind(find('.mantine-Slider-root')), behind(text),
    1 - shade(getComputedStyle(text).color)]
"""


@pytest.fixture(scope='module')
def window():
    browser.require_browser()
    window = browser.Browser()
    yield window
    window.close()


@pytest.fixture(scope='module')
def posed(window):
    with browser.view('panda') as (_, url):
        yield url


@pytest.fixture(scope='module')
def recorded(window, tmp_path_factory):
    model = load_urdf('panda')
    t, q, qd, qdd = lively(model, duration=8.0, rate=200.0)
    states = samples(model.joint_names, t, q, qd, 1.2 * torque(model, q, qd, qdd))
    bag = write_bag(tmp_path_factory.mktemp('recorded') / 'run', {'/joint_states': states})
    with browser.view('panda', '--bag', str(bag)) as (_, url):
        yield url


@pytest.mark.parametrize('coding', ['gzip', 'identity'])
def test_the_page_has_the_head_once(coding):
    server = open_server('localhost', 0, 'arm')
    try:
        connection = http.client.HTTPConnection('localhost', server.get_port(), timeout=30)
        connection.request('GET', '/', headers={'Accept-Encoding': coding})
        answer = connection.getresponse()
        body = answer.read()
        assert int(answer.headers['Content-Length']) == len(body)
        page = gzip.decompress(body) if coding == 'gzip' else body
        assert page.count(HEAD) == 1
        assert page.index(HEAD) < page.index(b'<title>')
    finally:
        connection.close()
        server.stop()


def shades(window):
    """Return the shades of scene, controls and torques, and the inverse of that of the text."""
    return np.array(window.driver.execute_script(SHADES) or 4 * [np.nan])


def are_dark(window):
    return bool(np.all(shades(window) < 0.25))


def are_light(window):
    return bool(np.all(shades(window) > 0.75))


@pytest.mark.slow
@pytest.mark.browsers
def test_the_page_is_dark_where_the_system_is(window, posed):
    window.size(SMALL, 600)
    try:
        window.prefer('dark')
        window.open(posed)
        window.until(lambda: are_dark(window), 'a dark page')
        # The ground of the scene and its grid
        window.until(lambda: np.median(window.picture()) < 60, 'a dark scene')
        window.prefer('light')
        window.until(lambda: are_light(window), 'a light page after the system has changed')
        window.open(f'{posed}?theme=dark')
        window.until(lambda: are_dark(window), 'the theme of the address')
    finally:
        window.prefer('light')


# Size, colour and nearest background of labels, limits of sliders and the selected tabs
TEXTS = """
const numbers = css => css.match(/[\\d.]+/g).map(Number);
const behind = e => { for (; e; e = e.parentElement) {
    const css = getComputedStyle(e).backgroundColor;
    if (!/^rgba\\(.*, 0\\)$/.test(css)) return numbers(css) } return [255, 255, 255] };
return [...document.querySelectorAll('label, .mantine-Slider-markLabel, [aria-selected=true]')]
    .filter(e => e.checkVisibility() && e.textContent.trim()).map(e => {
        const style = getComputedStyle(e);
        return [parseFloat(style.fontSize), ...numbers(style.color).slice(0, 3),
            ...behind(e).slice(0, 3)] })
"""


@pytest.mark.slow
@pytest.mark.browsers
@pytest.mark.parametrize('theme', ['light', 'dark'])
def test_labels_limits_and_tabs_can_be_read(window, posed, theme):
    window.size(*WIDE)
    window.open(f'{posed}?theme={theme}')
    window.until(lambda: (are_dark if theme == 'dark' else are_light)(window), 'the theme')
    texts = np.array(window.driver.execute_script(TEXTS))
    assert len(texts) >= 3 * 7 + 2
    assert texts[:, 0].min() >= 11
    for row in texts / 255:
        assert contrast(row[1:4], row[4:]) >= 4.5


def overlap(a, b):
    """Return which boxes (k, 4) and (m, 4) overlap by more than rounding, (k, m)."""
    low, high = np.maximum(a[:, None, :2], b[:, :2]), np.minimum(a[:, None, 2:], b[:, 2:])
    return np.all(high - low > 0.5, axis=2)


@pytest.mark.slow
@pytest.mark.browsers
@pytest.mark.parametrize('size', [TABLET, PHONE])
def test_the_panels_of_a_small_page_are_a_third_of_it_and_below_the_arm(window, posed, size):
    window.size(*size)
    window.open(posed)
    assert not len(window.boxes('[data-joint]'))  # the torques are folded
    (fold,), (sheet,) = window.boxes(FOLD), window.boxes(SHEET)
    # Its first row, below the name of the robot
    assert np.all(fold[1::2] - sheet[1] < 80)
    assert fold[3] <= window.boxes('[role=tab]')[:, 1].min()
    thumbs = window.boxes('.mantine-Slider-thumb')
    assert np.all(thumbs[:, 2:] - thumbs[:, :2] >= 16)
    for _ in range(2):
        (sheet,) = window.boxes(SHEET)
        assert np.prod(sheet[2:] - sheet[:2]) <= np.prod(size) / 3
        assert not overlap(window.boxes('canvas'), sheet[None]).any()
        window.driver.execute_script(
            """document.querySelector('[aria-label$="panel Joint torques"]').click()"""
        )
        window.until(lambda: len(window.boxes('[data-joint]')), 'the torques')


@pytest.mark.slow
@pytest.mark.browsers
@pytest.mark.parametrize('size', [WIDE, PHONE])
def test_the_labels_of_sliders_cover_no_number(window, posed, size):
    window.size(*size)
    window.open(posed)
    window.field('panda_joint6', '-0.01')  # the thumb is above the label of the lower end
    labels = window.boxes('.mantine-Slider-markLabel')
    thumbs = window.boxes('.mantine-Slider-thumb')
    numbers = window.boxes('.mantine-Slider-root + * input')
    assert len(labels) >= 2 * 7
    for others in (numbers, thumbs):
        assert not overlap(labels, others).any()
    assert overlap(labels, labels).sum() == len(labels)  # each with itself
    cut = """return [...document.querySelectorAll('.mantine-Slider-root + * input')]
        .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth).length"""
    window.field('panda_joint4', '-2.0944')
    assert window.driver.execute_script(cut) == 0


@pytest.mark.slow
@pytest.mark.browsers
@pytest.mark.parametrize('size', [WIDE, PHONE])
def test_a_recording_begins_with_measured_and_model_torques_in_sight(window, recorded, size):
    window.size(*size)
    window.open(recorded)
    window.until(lambda: len(window.boxes('[data-legend]')), 'the legend')
    area = window.boxes(SHEET) if size is PHONE else np.array([[0, 0, *size]])
    names = window.driver.execute_script(
        "return document.querySelector('[data-legend]').textContent"
    )
    assert 'τ meas.' in names
    assert 'τ model' in names
    seen = [window.boxes('[data-legend]')]
    if size is WIDE:
        seen += [window.boxes(f'[data-term={term}]') for term in ('measured', 'motor')]
        assert [len(boxes) for boxes in seen] == [1, 7, 7]
    for boxes in seen:
        assert np.all(boxes[:, :2] >= area[:, :2])
        assert np.all(boxes[:, 2:] <= area[:, 2:])
    assert '--' not in window.driver.execute_script('return document.body.innerText')


@pytest.mark.slow
@pytest.mark.browsers
def test_a_zoomed_plot_follows_the_time_that_is_played(window, recorded):
    window.size(*WIDE)
    window.open(recorded)

    def shown():
        """Return the ends of the time axis and the time of the line, s."""
        return window.driver.execute_script("""
            const [{chart}] = Object.values(window.__viserTestpoints.uplots);
            const line = chart.data[3], at = line.indexOf(Math.max(...line));
            return [chart.scales.x.min, chart.scales.x.max, chart.data[0][at]]""")

    legend = window.boxes('[data-legend]')
    window.choose('zoom', '3 s')
    window.field('time [s]', '2')
    low, high, time = window.until(lambda: shown()[2] == 2.0 and shown(), 'the time')
    assert (low, high) == pytest.approx((0.5, 3.5), abs=0.02)
    window.button('Play')
    low, high, time = window.until(lambda: shown()[2] > 3.5 and shown(), 'a later time')
    assert low < time < high
    assert np.array_equal(window.boxes('[data-legend]'), legend)
    assert low > 1.5
