# SPDX-License-Identifier: Apache-2.0
"""Robot models: immutable data, independent of joint positions."""
