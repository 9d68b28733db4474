# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that is driven by Selenium, and a view that it opens."""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from waiting import wait_until

from robot_dynamics.view.scene import TERMS

CHROMIUM, DRIVER = shutil.which('chromium'), shutil.which('chromedriver')
FLAGS = (
    '--headless=new',
    '--no-sandbox',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-dev-shm-usage',
    '--disable-quic',
    '--disable-sync',
    # WebGL without a graphics card
    '--use-gl=angle',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    '--window-size=1280,800',
)
DEADLINE = 150.0  # s, for what takes a second unless the machine is busy
CHECKOUT = str(Path(__file__).resolve().parents[1])


@contextmanager
def view(*arguments):
    """Run `robot-dynamics view`; yield the process and the address of its page."""
    process = subprocess.Popen(
        [sys.executable, '-m', 'robot_dynamics.cli', 'view', '--port', '0', *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, 'PYTHONPATH': CHECKOUT},
    )
    try:
        line = process.stdout.readline()
        found = re.search(r'http://\S+', line)
        assert found, line + process.stderr.read()
        yield process, found.group()
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


class Browser:
    """One window. Its methods wait for what they need."""

    def __init__(self):
        from selenium.webdriver import Chrome
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service

        options = Options()
        options.binary_location = CHROMIUM
        self._profile = tempfile.TemporaryDirectory()
        for flag in (*FLAGS, f'--user-data-dir={self._profile.name}'):
            options.add_argument(flag)
        self.driver = Chrome(options=options, service=Service(DRIVER))

    def open(self, url):
        self.driver.get(url)
        self.until(lambda: self.torques(), 'the torques')

    def size(self, width, height):
        """Show pages in a viewport of these pixels."""
        self.driver.execute_cdp_cmd(
            'Emulation.setDeviceMetricsOverride',
            {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': width < 600},
        )

    def prefer(self, scheme):
        """Prefer a colour scheme, 'light' or 'dark', as the settings of a system do."""
        media = [{'name': 'prefers-color-scheme', 'value': scheme}]
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': media})

    def boxes(self, selector):
        """Return [left, top, right, bottom] (k, 4) of the visible elements, px."""
        script = """return [...document.querySelectorAll(arguments[0])]
            .filter(e => e.checkVisibility() && e.getClientRects().length)
            .map(e => e.getBoundingClientRect()).map(b => [b.left, b.top, b.right, b.bottom])"""
        return np.array(self.driver.execute_script(script, selector), float).reshape(-1, 4)

    def close(self):
        self.driver.quit()
        self._profile.cleanup()

    def until(self, condition, what):
        """Wait until a condition holds, and return its value.

        A condition whose element the page has replaced meanwhile is evaluated again.
        """
        from selenium.common.exceptions import StaleElementReferenceException

        def holds():
            try:
                return condition()
            except StaleElementReferenceException:
                return False

        return wait_until(holds, what, DEADLINE)

    def torques(self):
        """Return the numbers of the page, {(joint, term): N m or N}; folded terms are 0."""
        joints = """return [...document.querySelectorAll('[data-joint]')].map(n => [
            n.dataset.joint, [...n.querySelectorAll('[data-term]')].map(
                t => [t.dataset.term, t.textContent])])"""
        found = {}
        for joint, numbers in self.driver.execute_script(joints):
            found |= {(joint, term): 0.0 for term in (*TERMS, 'motor')}
            found |= {(joint, term): float(text.replace('−', '-')) for term, text in numbers}
        return found

    def error(self):
        """Return the text of the error in the page, '' without one."""
        return self.driver.execute_script(
            "return document.querySelector('[data-error]')?.textContent ?? ''"
        )

    def button(self, name):
        """Press a button or a tab."""
        from selenium.common.exceptions import ElementClickInterceptedException

        def press():
            found = self._named(name)
            try:
                return found is not None and (found.click() or True)
            except ElementClickInterceptedException:
                # The notice on rendering in software
                self.driver.execute_script(
                    "document.querySelectorAll('[class*=Notification-closeButton]')"
                    '.forEach(button => button.click())'
                )
                return False

        self.until(press, f'the button {name}')

    def has_button(self, name):
        """Return whether a button or a tab is shown."""
        return self._named(name) is not None

    def field(self, label, text, place=-1):
        """Type into the input of a control; a slider has a second one for numbers."""
        from selenium.webdriver.common.keys import Keys

        def enter(box):
            box.send_keys(Keys.CONTROL, 'a')
            box.send_keys(text, Keys.ENTER)

        self._with_input(label, place, enter)

    def value(self, label, place=-1):
        """Return the text in the input of a control."""
        return self._with_input(label, place, lambda box: box.get_attribute('value'))

    def check(self, label):
        """Press a box that can be ticked."""
        self._with_input(
            label, 0, lambda box: self.driver.execute_script('arguments[0].click()', box)
        )

    def choose(self, label, option):
        """Choose an option of a menu."""
        self._with_input(label, 0, lambda box: box.click())
        script = """const found = [...document.querySelectorAll('[role=option]')]
            .find(e => e.textContent.trim() === arguments[0] && e.checkVisibility());
            found?.click(); return Boolean(found)"""
        self.until(lambda: self.driver.execute_script(script, option), f'the option {option}')

    def point(self, x, y):
        """Move the pointer to a place of the scene."""
        self._pointer_at(x, y).perform()

    def drag(self, x, y, right, down):
        """Drag what is at a place of the scene by some pixels."""
        chain = self._pointer_at(x, y)
        chain.pause(0.5).click_and_hold().pause(0.5)
        for _ in range(8):
            chain.move_by_offset(right / 8, down / 8).pause(0.1)
        chain.release().perform()

    def _pointer_at(self, x, y):
        from selenium.webdriver import ActionChains

        canvas = self.driver.find_element('css selector', 'canvas')
        width, height = canvas.size['width'], canvas.size['height']
        chain = ActionChains(self.driver, duration=50)
        return chain.move_to_element_with_offset(canvas, x - width // 2, y - height // 2)

    def press_slider(self, label, key, times):
        """Press a key several times on the thumb of a slider."""
        from selenium.webdriver.common.keys import Keys

        script = """return arguments[0].closest('[class*=Slider-root]')
            .querySelector('[role=slider]')"""

        def press(box):
            thumb = self.driver.execute_script(script, box)
            thumb.send_keys(getattr(Keys, key) * times)

        self._with_input(label, 0, press)

    def picture(self):
        """Return the pixels of the scene (h, w, 3), without the panels."""
        return self._pixels('canvas', 'the scene')

    def plot(self):
        """Return the pixels of a plot (h, w, 3)."""
        return self._pixels('.uplot canvas', 'the plot')

    def _pixels(self, selector, what):
        from PIL import Image

        def screenshot():
            found = self.driver.find_elements('css selector', selector)
            return found and found[0].size['width'] > 0 and found[0].screenshot_as_png

        png = Image.open(io.BytesIO(self.until(screenshot, what))).convert('RGB')
        return np.asarray(png, dtype=int)

    def _named(self, name):
        found = self.driver.find_elements('css selector', 'button, [role=tab]')
        return next((b for b in found if b.text.strip() == name and b.is_displayed()), None)

    def _with_input(self, label, place, use):
        """Return what `use` returns for an input of a control."""

        def used():
            boxes = self._inputs(label)
            return boxes and (use(boxes[place]),)

        (value,) = self.until(used, f'the control {label}')
        return value

    def _inputs(self, label):
        """Return the inputs beside a label."""
        return self.driver.execute_script(
            """
            const wanted = arguments[0];
            for (const label of document.querySelectorAll('label')) {
                if (label.textContent.trim() !== wanted || !label.offsetParent) continue;
                for (let box = label; box; box = box.parentElement) {
                    const inputs = box.querySelectorAll('input, textarea');
                    if (inputs.length) return [...inputs];
                }
            }
            return null;
            """,
            label,
        )


def require_browser():
    """Skip a test where there is no browser."""
    pytest.importorskip('viser')
    pytest.importorskip('selenium')
    if not (CHROMIUM and DRIVER):
        pytest.skip("no browser: apt-get install chromium chromium-driver (Debian's)")
