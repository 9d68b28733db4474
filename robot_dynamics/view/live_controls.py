# SPDX-License-Identifier: Apache-2.0
"""The contact of a live robot in words, and the topics that a live view follows."""

from __future__ import annotations

from robot_dynamics.view.bars import contact_html
from robot_dynamics.view.page import Page, code
from robot_dynamics.view.state import ViewState
from robot_dynamics.view.viewed_motion import LATE, Follow


class LiveControls:
    """Contact, where the motion comes from, and for how long no joint state has arrived."""

    title = 'Live'

    def __init__(self, follow: Follow, sources: dict[str, str]) -> None:
        """Show where each thing comes from: names of topics or files."""
        self._follow = follow
        self._topics = '\n\n'.join(f'{what}: {code(name)}' for what, name in sources.items())

    def add(self, page: Page) -> None:
        """Add the texts to the present tab of a page."""
        self._contact = page.gui.add_html('')
        self._text = page.gui.add_markdown(self._topics)

    def show(self, state: ViewState) -> None:
        """Show the contact, and whether joint states arrive."""
        self._contact.content = contact_html(state)
        silence = self._follow.silence
        late = f'\n\n**no joint states for {silence:.0f} s**' if silence > LATE else ''
        if self._text.content != self._topics + late:
            self._text.content = self._topics + late

    def restore(self) -> None:
        """Restore nothing: there are no controls."""
