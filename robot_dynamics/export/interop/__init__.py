# SPDX-License-Identifier: Apache-2.0
"""Dynamics as differentiable functions of the arrays of other libraries.

=================  ===============================================================================
`differentiable`   the functions and their partial derivatives, of NumPy arrays
`jax`              for JAX; extra `[jax]`
`torch`            for PyTorch; extra `[torch]`
=================  ===============================================================================
"""
