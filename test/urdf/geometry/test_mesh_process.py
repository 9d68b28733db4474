# SPDX-License-Identifier: Apache-2.0
"""Meshes of strangers end the process that reads them, and nothing else."""

import base64
import json
import os
import signal
import struct
from multiprocessing.connection import Connection

import numpy as np
import pytest

from robot_dynamics import cli
from robot_dynamics.urdf.geometry import mesh_process
from robot_dynamics.urdf.geometry.mesh_process import read_scene
from robot_dynamics.urdf.geometry.meshes import MeshError

trimesh = pytest.importorskip('trimesh')

COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="decimeter" meter="0.1"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="tetrahedron"><mesh>
<source id="points"><float_array id="numbers" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
<technique_common><accessor source="#numbers" count="4" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
</accessor></technique_common></source>
<vertices id="corners"><input semantic="POSITION" source="#points"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#corners" offset="0"/>
<p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry></library_geometries>
<library_nodes>NODES</library_nodes>
<library_visual_scenes><visual_scene id="scene"><node><instance_node url="#nTOP"/></node>
</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#scene"/></scene></COLLADA>
"""


def nested(levels):
    """Return a COLLADA file in which each node has the one below twice: 2^levels tetrahedra."""
    nodes = ['<node id="n0"><instance_geometry url="#tetrahedron"/></node>'] + [
        f'<node id="n{k + 1}">{2 * f"""<instance_node url="#n{k}"/>"""}</node>'
        for k in range(levels)
    ]
    return COLLADA.replace('NODES', ''.join(nodes)).replace('TOP', str(levels))


def gltf(count, buffer):
    """Return a glTF file of one triangle mesh whose points are in a buffer."""
    position = {'componentType': 5126, 'count': count, 'type': 'VEC3', 'bufferView': 0}
    if buffer is None:
        del position['bufferView']  # zeros
    return json.dumps(
        {
            'asset': {'version': '2.0'},
            'scene': 0,
            'scenes': [{'nodes': [0]}],
            'nodes': [{'mesh': 0}],
            'meshes': [{'primitives': [{'attributes': {'POSITION': 0}}]}],
            'accessors': [position],
            'bufferViews': [{'buffer': 0, 'byteLength': 36}] if buffer else [],
            'buffers': [{'uri': buffer, 'byteLength': 36}] if buffer else [],
        }
    )


@pytest.fixture
def soon(monkeypatch):
    """Let the process have a second for a file."""
    monkeypatch.setattr(mesh_process, 'MAX_SECONDS', 1)
    mesh_process._reader.cache_clear()
    yield
    mesh_process._reader.cache_clear()


def test_instances_are_read_in_metres(tmp_path):
    file = tmp_path / 'a.dae'
    file.write_text(nested(3))
    scene, mesh = read_scene(file)
    assert len(scene.graph.nodes_geometry) == 8
    assert len(mesh.faces) == 8 * 4
    assert mesh.volume == pytest.approx(8 * 0.1**3 / 6)


def test_points_in_a_buffer_are_read(tmp_path):
    file = tmp_path / 'a.gltf'
    corners = np.eye(3, dtype=np.float32).tobytes()
    data = 'data:application/octet-stream;base64,' + base64.b64encode(corners).decode()
    file.write_text(gltf(3, data))
    np.testing.assert_array_equal(np.sort(read_scene(file)[1].vertices, axis=0)[-1], 1.0)


@pytest.mark.slow
@pytest.mark.parametrize('kind', ['2^30 instances', 'pipe'])
@pytest.mark.usefixtures('soon')
def test_a_file_that_is_never_read_to_its_end_is_left(tmp_path, kind):
    if kind == 'pipe':
        os.mkfifo(tmp_path / 'buffer')
        file = tmp_path / 'a.gltf'
        file.write_text(gltf(3, 'buffer'))
    else:
        file = tmp_path / 'a.dae'
        file.write_text(nested(30))
    with pytest.raises(MeshError, match='takes more than 1 s'):
        read_scene(file)


def test_memory_is_bounded(tmp_path):
    file = tmp_path / 'a.gltf'
    file.write_text(gltf(1_000_000_000, None))
    with pytest.raises(MeshError, match=r'allocate|Memory|GiB'):
        read_scene(file)


def test_the_next_mesh_is_read_after_the_process_has_ended(tmp_path):
    file = tmp_path / 'a.stl'
    trimesh.creation.box((1, 2, 3)).export(file)
    assert read_scene(file)[1].volume == pytest.approx(6)
    process = mesh_process._reader(os.getpid())._process
    process.send_signal(signal.SIGKILL)
    with pytest.raises(MeshError, match='reading it ended the process that may use 4 GiB'):
        read_scene(file)
    assert read_scene(file)[1].volume == pytest.approx(6)


def test_an_interrupted_reader_does_not_answer_for_the_next_file(tmp_path, monkeypatch):
    files = [tmp_path / 'small.stl', tmp_path / 'large.stl']
    for file, size in zip(files, (1, 2), strict=True):
        trimesh.creation.box((size, 1, 1)).export(file)

    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(Connection, 'recv', interrupted)
        with pytest.raises(KeyboardInterrupt):
            read_scene(files[0])
    assert read_scene(files[1])[1].volume == pytest.approx(2)


def test_a_claimed_size_is_not_allocated(tmp_path):
    """A binary STL file that claims 2^32 - 1 triangles."""
    file = tmp_path / 'a.stl'
    file.write_bytes(bytes(80) + struct.pack('<I', 2**32 - 1) + bytes(50))
    with pytest.raises(MeshError):
        read_scene(file)


@pytest.mark.slow
@pytest.mark.usefixtures('soon')
def test_check_names_the_mesh_and_goes_on(tmp_path, capsys):
    (tmp_path / 'bomb.dae').write_text(nested(30))
    (tmp_path / 'a.urdf').write_text(
        '<robot name="a"><link name="b"><visual><geometry><mesh filename="bomb.dae"/></geometry>'
        '</visual></link></robot>'
    )
    cli.main(['check', str(tmp_path / 'a.urdf')])
    shown = capsys.readouterr().out
    assert 'bomb.dae' in shown
    assert 'reading it takes more than 1 s' in shown
