# SPDX-License-Identifier: Apache-2.0
"""Dynamics as differentiable functions of the arrays of other libraries.

=================  ===============================================================================
`differentiable`   the functions and their partial derivatives, of NumPy arrays; made from
                   programs by `differentiable_function`
`jax`              for JAX; extra `[jax]`
`torch`            for PyTorch; extra `[torch]`
=================  ===============================================================================
"""
