# SPDX-License-Identifier: Apache-2.0
"""A page without a browser: what it shows, and what a browser does to its controls."""

import time
from html import unescape
from types import SimpleNamespace

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.view.drawing import Drawing
from robot_dynamics.view.page import EDITING, Edit, Page
from robot_dynamics.view.server import open_server
from robot_dynamics.view.session import Session
from robot_dynamics.view.state import ViewState


class ShownPage:
    """The page of a model with the controls of a motion."""

    def __init__(self, model, controls):
        self.server = open_server('localhost', 0, model.name)
        self.session = Session(Dynamics(model), ViewState.initial(model))
        self.drawing = Drawing(self.server, model, self.session.sizes)
        self.page = Page(self.server, self.session, self.drawing, controls)

    def show(self):
        """Show the present state."""
        self.page.show(*self.session.scene())

    def control(self, label):
        """Return the handles of the controls with a label."""
        handles = self.server.gui._gui_input_handle_from_uuid.values()
        return [handle for handle in handles if handle._impl.props.label == label]

    def set(self, handle, value):
        """Do what a browser does that sets a value, and has paused since."""
        self.receive(handle, value, ago=EDITING)
        self.call(handle)
        self.page._edit = Edit()
        self.show()

    def receive(self, handle, value, ago=0.0):
        """Do what the server does when a value arrives, before it calls the callbacks."""
        handle._impl.value = value
        handle._impl.update_timestamp = time.time() - ago

    def call(self, handle):
        """Call the callbacks of a control."""
        for callback in handle._impl.update_cb:
            callback(SimpleNamespace(client_id=0, client=None, target=handle))

    @property
    def error(self):
        return unescape(self.page._status.content)
