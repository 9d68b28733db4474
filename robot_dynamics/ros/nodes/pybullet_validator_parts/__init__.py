# SPDX-License-Identifier: Apache-2.0
"""Parts that serve pybullet_validator_node alone: the terms that dynamics_node publishes."""
