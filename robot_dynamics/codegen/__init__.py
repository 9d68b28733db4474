# SPDX-License-Identifier: Apache-2.0
"""Compiler of scalar programs: a Python function of scalars becomes a function of arrays.

It knows no robots. Input: a function of scalars, and the sizes of its arguments. Output: a
`CompiledFunction` of arrays, with batches, threads and `out=`. Other wings use `compile_program`
and `CompiledFunction` (calls.function), and `Dialect` (backends.c). Each stage imports only the
stages before it.

==============  ==================================================================================
`tracing`       records what a function of scalars computes, as a straight-line program
`loops`         records functions that traverse a tree as loops over its bodies
`backends`      programs as Python, C, LLVM assembly and machine code, and the cache on disk
`calls`         machine code as functions of arrays: arguments, batches, threads, iteration
==============  ==================================================================================
"""
