# SPDX-License-Identifier: Apache-2.0
"""Programs as Python source, C, LLVM assembly and machine code, and the cache of machine code.

=====================  ===========================================================================
`python`               Python source of straight-line and loop programs; the interpreter
`c`                    functions in C99 and C++17
`scalarize`            replaces vectors of a program by scalars
`llvm_writer`          writes LLVM's assembly language, one instruction per line
`llvm_elementary`      sine, cosine and hyperbolic tangent, with stated errors
`llvm_arithmetic`      the operations of a program
`llvm_straight_line`   functions of straight-line programs: sample, batch, scan, rollout
`llvm_loops`           the same functions of loop programs
`machine_code`         compiles and loads, by llvmlite
`cache`                machine code on disk, verified before use
=====================  ===========================================================================
"""
