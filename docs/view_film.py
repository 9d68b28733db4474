# SPDX-License-Identifier: Apache-2.0
"""Films the view: view.gif, guides/view_recording.png, view.png. Needs Chromium and its driver.

A recording of a Panda that carries 1.5 kg, simulated with noise, is shown in the view of a model
without it. As 1.5 is typed, bars and curves of the model fall on those measured.
"""

import io
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageColor

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / 'test'))

import browser  # noqa: E402
from payload_film import MASS, motion  # noqa: E402
from recorded_runs import samples, torque, write_bag  # noqa: E402

import robot_dynamics as rd  # noqa: E402
from robot_dynamics.view.bars import COLOURS as TERMS  # noqa: E402
from robot_dynamics.view.bars import MEASURED, MOTOR  # noqa: E402

LINK = 'panda_link8'
NOISE = 0.1  # N m
SIZE = 1120, 700  # px
COLOURS = 128
STEP = 0.08  # s of the recording between two pictures
MOVING, KEY, PAUSE = 100, 700, 1800  # ms that a picture is shown


def record():
    """Write the recording into a new folder of the working directory."""
    model = rd.load_urdf('panda')
    t = np.arange(0.0, 9.0, 5e-3)
    q, qd, qdd = motion(t)
    tau = torque(model.with_payload(LINK, MASS), q, qd, qdd)
    tau += np.random.default_rng(0).normal(0.0, NOISE, tau.shape)
    states = samples(model.joint_names, t, q, qd, tau)
    write_bag(Path('run'), {'/joint_states': states})


def palette_of(picture, colours):
    """Return a palette of the colours of the torques and the others of a picture."""
    exact = [x for torque in (*TERMS.values(), MOTOR, MEASURED) for x in ImageColor.getrgb(torque)]
    others = 3 * colours - len(exact)
    palette = Image.new('P', (1, 1))
    palette.putpalette(exact + picture.quantize(others // 3).getpalette()[:others])
    return palette


class Film:
    """Pictures of a window, and for how long each is shown."""

    def __init__(self, window):
        self.window, self.pictures, self.times = window, [], []

    def take(self, duration):
        """Take a picture; return it."""
        picture = Image.open(io.BytesIO(self.window.driver.get_screenshot_as_png()))
        self.pictures.append(picture.convert('RGB'))
        self.times.append(duration)
        return self.pictures[-1]

    def settle(self, duration):
        """Take a picture once nothing changes any more; return it."""
        before = None
        while before != (now := self.window.driver.get_screenshot_as_png()):
            before = now
            time.sleep(0.5)
        return self.take(duration)

    def play(self, start, end):
        """Take pictures of a part of the recording."""
        for t in np.arange(start, end + STEP / 2, STEP):
            self.window.field('time [s]', f'{t:.2f}')
            self.settle(MOVING)
        self.times[-1] = PAUSE

    def write(self, path):
        """Write the film, with the colours of all its pictures."""
        every = Image.new('RGB', (SIZE[0], SIZE[1] * 2))
        for k, picture in enumerate((self.pictures[0], self.pictures[-1])):
            every.paste(picture, (0, SIZE[1] * k))
        palette = palette_of(every, COLOURS)
        frames = [p.quantize(palette=palette, dither=Image.Dither.NONE) for p in self.pictures]
        frames[0].save(
            path,
            save_all=True,
            append_images=frames[1:],
            duration=self.times,
            loop=0,
            optimize=True,
        )


def opened(window, url):
    """Open a page in a window of SIZE, without the notice on rendering in software."""
    window.driver.set_window_size(*SIZE)
    inner = window.driver.execute_script('return [innerWidth, innerHeight]')
    window.driver.set_window_size(*(2 * w - i for w, i in zip(SIZE, inner, strict=True)))
    window.open(url)
    close = '[class*=Notification-closeButton]'
    found = window.until(lambda: window.driver.find_elements('css selector', close), 'the notice')
    found[0].click()
    return Film(window)


def write(picture, path):
    """Write a picture with 256 colours."""
    picture.quantize(palette=palette_of(picture, 256), dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def film_a_payload(window):
    """Find a payload by hand in a recording."""
    record()
    with browser.view('panda', '--bag', 'run') as (_, url):
        film = opened(window, url)
        film.play(0.6, 1.8)
        write(film.pictures[-1], DOCS / 'guides' / 'view_recording.png')
        window.button('Load')
        film.settle(PAUSE)
        for text, duration in (('1', KEY), ('1.5', PAUSE)):
            window.field('mass [kg]', text)
            film.settle(duration)
        window.button('Recording')
        film.settle(PAUSE)
        film.play(1.88, 3.4)
        film.write(DOCS / 'view.gif')


def show_loads(window):
    """Show a payload, a force and the ellipsoid of manipulability."""
    with browser.view('panda') as (_, url):
        film = opened(window, url)
        window.field('posture', '0.3 0.3 0 -1.8 0 2.1 0.7')
        window.button('Set posture')
        window.button('Show')
        window.check('manipulability at the tip')
        window.button('Load')
        window.field('mass [kg]', '2')
        for axis, newtons in enumerate(('15', '0', '40')):
            window.field('F [N]', newtons, axis)
        time.sleep(1.0)  # the page sends a change after 50 ms, or another one instead
        window.check('drag in the scene')
        time.sleep(2.0)
        write(film.settle(PAUSE), DOCS / 'view.png')


def main():
    """Take all pictures, or those of one function that is named."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        window = browser.Browser()
        try:
            for take in (film_a_payload, show_loads):
                if take.__name__ in sys.argv[1:] or not sys.argv[1:]:
                    take(window)
        finally:
            window.close()


if __name__ == '__main__':
    main()
