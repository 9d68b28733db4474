# SPDX-License-Identifier: Apache-2.0
"""Contrast of text and its ground."""

import numpy as np


def contrast(colour, ground):
    """Return the contrast of two colours, (3,) of 0 to 1, by WCAG 2."""
    both = np.array([colour, ground])
    linear = np.where(both > 0.04045, ((both + 0.055) / 1.055) ** 2.4, both / 12.92)
    dark, light = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return (light + 0.05) / (dark + 0.05)
