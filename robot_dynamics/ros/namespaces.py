# SPDX-License-Identifier: Apache-2.0
"""Namespaces of nodes, as users write them."""

import re

NAMESPACE = re.compile(r'(/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*/?)?|/', re.ASCII)
LONGEST = 245  # characters with the first /, of the middleware
EXPECTED = (
    'expected names of letters, digits and underscores that begin with no digit, with / between '
    f'them, at most {LONGEST} characters'
)


def is_namespace(text: str) -> bool:
    """Return whether a text is a namespace, such as '', 'left' or '/cell/left/'."""
    absolute = '/' + text.strip('/')
    return len(absolute) <= LONGEST and NAMESPACE.fullmatch(text) is not None
