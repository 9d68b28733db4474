"""Geometry of robot descriptions.

solids         uniform solids of the links: volumes, centroids, second moments
meshes         names and files of meshes
mesh_process   mesh files, read in a process of its own
"""
