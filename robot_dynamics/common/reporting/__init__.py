# SPDX-License-Identifier: Apache-2.0
"""Results for people: tables as text, numbers with their errors, figures, JSON and CSV files."""
