# SPDX-License-Identifier: Apache-2.0
"""Programs of a robot as source code for other languages.

=================  ===============================================================================
`functions`        what is exported: programs, their documentation, and numbers to test them with
`control_steps`    steps of observers and impedances, which have a state
`c_header`         a header in C, its self-test and its CMake file
`casadi_source`    external functions of CasADi, with their Jacobians
`cuda_source`      device functions of CUDA, with kernels for batches
`nvrtc`            NVIDIA's compiler, and what kernels occupy
=================  ===============================================================================
"""
