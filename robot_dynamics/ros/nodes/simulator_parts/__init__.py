# SPDX-License-Identifier: Apache-2.0
"""Parts that serve simulator_node alone: effort commands, services, the state at the start."""
