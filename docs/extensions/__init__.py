# SPDX-License-Identifier: Apache-2.0
"""Extensions of Sphinx for this site: pages generated from the code, and its docstrings."""
