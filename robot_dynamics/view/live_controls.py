"""Description of the topics that a live view follows."""

from __future__ import annotations

from robot_dynamics.view.page import Page
from robot_dynamics.view.state import ViewState


class LiveControls:
    """The names of the topics; the robot moves as its joint states say."""

    title = 'Live'

    def __init__(self, topics: str) -> None:
        """Show a text about the topics."""
        self._topics = topics

    def add(self, page: Page) -> None:
        """Add the text to the present tab of a page."""
        page.gui.add_markdown(self._topics)

    def show(self, state: ViewState) -> None:
        """Show nothing that changes."""

    def restore(self, state: ViewState) -> None:
        """Restore nothing: there are no controls."""
