# SPDX-License-Identifier: Apache-2.0
"""Programs of a robot as source code for other languages, and as functions of other arrays.

Input: a `Dynamics`, and the names of its functions. Output: files that compile without this
package, with a self-test; functions with derivatives for JAX and PyTorch. Other wings use
`functions` and `FUNCTIONS` (functions), and `c_files` (c_header).

=================  ===============================================================================
`functions`        what is exported: programs, their documentation, and numbers to test them with
`control_steps`    steps of observers and impedances, which have a state
`c_header`         a header in C, its self-test and its CMake file
`casadi_source`    external functions of CasADi, with their Jacobians
`cuda_source`      device functions of CUDA, with kernels for batches
`nvrtc`            NVIDIA's compiler, and what kernels occupy
=================  ===============================================================================
"""
