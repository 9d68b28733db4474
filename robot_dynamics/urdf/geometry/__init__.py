# SPDX-License-Identifier: Apache-2.0
"""Geometry of robot descriptions: the one place where it is read.

shapes         the <visual> and <collision> elements of links, and their errors
link_solids    uniform solids of the links: volumes, centroids, second moments
meshes         names and files of meshes
mesh_process   mesh files, read in a process of its own
"""
