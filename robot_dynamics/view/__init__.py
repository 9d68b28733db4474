# SPDX-License-Identifier: Apache-2.0
"""Interactive view of a robot and its torques in the browser.

Input: a robot, a recording or live joint states. Output: a page with poses and arrows.
Other wings use `open_server` (server), `ViewState` (state) and `Follow` (viewed_motion).

state      posture, load and external force: the values that the page sets, checked
scene      poses, arrows, ellipsoids and torques of a state, as plain data
link_shapes  shapes of the links of a robot description, and their colours
bars       torques of the joints as HTML
viewed_motion  motions that change the state over time: free fall, recordings, live joint states
session    the one state that all browsers share, and the motion that changes it
drawing    the scene as nodes of viser
page       the page, with load, layers and torques; its first tab is one of
           joint_controls, playback_controls, live_controls
torque_plot  torques of one joint over the time of a recording
server     the web server, its address and which pages may open it: the one file that imports
           viser (extra `[view]`)
update_loop  the loop that updates the page
"""
