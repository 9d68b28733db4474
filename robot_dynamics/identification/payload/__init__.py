# SPDX-License-Identifier: Apache-2.0
"""Mass, centre of mass and inertia of a payload.

payload         from a motion by payload_fit, or from postures by payload_bounds
payload_pieces  efforts that the model leaves, and torques of a unit payload
payload_report  text and JSON
"""
