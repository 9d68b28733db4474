# SPDX-License-Identifier: Apache-2.0
"""The topics that a live view follows."""

from __future__ import annotations

from robot_dynamics.view.page import Page, code
from robot_dynamics.view.state import ViewState
from robot_dynamics.view.viewed_motion import LATE, Follow


class LiveControls:
    """Names of the topics, and for how long no joint state has arrived."""

    title = 'Live'

    def __init__(self, follow: Follow, joint_states: str, description: str) -> None:
        """Show the names of the topics, or of the file of the description."""
        self._follow, self._joint_states = follow, joint_states
        self._topics = f'joint states: {code(joint_states)}\n\ndescription: {code(description)}'

    def add(self, page: Page) -> None:
        """Add the text to the present tab of a page."""
        self._text = page.gui.add_markdown(self._topics)

    def show(self, state: ViewState) -> None:
        """Show whether joint states arrive."""
        silence = self._follow.silence
        late = f'\n\n**no joint states for {silence:.0f} s**' if silence > LATE else ''
        if self._text.content != self._topics + late:
            self._text.content = self._topics + late

    def restore(self, state: ViewState) -> None:
        """Restore nothing: there are no controls."""
