# SPDX-License-Identifier: Apache-2.0
"""Stamps: time as whole nanoseconds, as messages have it."""

SECOND = 1_000_000_000  # ns
