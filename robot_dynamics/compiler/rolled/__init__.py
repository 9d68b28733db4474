"""Loops over the rows of a tree: what grows too long for a straight line.

The same functions are recorded once per kind of rows (`trace`) and put into loops (`assembly`),
which make a program of their own (`program`): run in Python (`python`), or written in LLVM's
language (`loops`) as functions of the same form as those of straight lines (`llvm`).
"""
