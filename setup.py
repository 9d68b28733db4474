# SPDX-License-Identifier: Apache-2.0
"""How pip and colcon build and install the package."""

import re
from glob import glob
from os.path import isfile
from pathlib import Path

from setuptools import find_packages, setup

VERSION = '0.1.0'
# To be filled in before the first release: test/release.py rejects a tag with example.com.
REPOSITORY = 'https://example.com/robot_dynamics'

NODES = [
    'dynamics_node',
    'feedforward_node',
    'simulator_node',
    'pybullet_validator_node',
    'momentum_observer_node',
    'markers_node',
    'state_publisher_node',
]

# Packages that the nodes need in addition to rclpy.
ROS_WHEELS = [
    'ament-index-python',
    'diagnostic-msgs',
    'geometry-msgs',
    'lifecycle-msgs',
    'nav-msgs',
    'rosgraph-msgs',
    'sensor-msgs',
    'std-msgs',
    'std-srvs',
    'trajectory-msgs',
    'visualization-msgs',
]

PYBULLET_WHEEL = (
    'sys_platform == "linux" and platform_machine == "x86_64" and python_version < "3.12"'
)
NO_PYBULLET_WHEEL = (
    'sys_platform != "linux" or platform_machine != "x86_64" or python_version >= "3.12"'
)

IDENTIFY = ['cvxpy>=1.5.2', 'clarabel>=0.10', 'threadpoolctl>=3.5']
# 200 MB; compiles without a device.
NVRTC = ['nvidia-cuda-nvrtc-cu12>=12.4; sys_platform == "linux"']
# 85 MB; its vmap_method.
JAX = ['jax>=0.6.2']
CASADI = ['casadi>=3.6']
DERIVE = ['sympy>=1.12']
# Robots of MJCF files.
MUJOCO = ['mujoco>=3.17']
CHECK = ['trimesh>=4.6', 'pycollada>=0.8']

# The documentation site; MathJax and the search work offline.
SITE = [
    'sphinx>=8.1',
    'furo>=2024.8.6',
    'myst-nb>=1.2',
    'sphinx-copybutton>=0.5.2',
    'sphinx-mathjax-offline>=0.0.2',
]


def ros(distro):
    """Return the ROS 2 wheels of a distribution (CPython 3.10 to 3.14, Linux on x86_64)."""
    return [f'ros-{distro}-rclpy[fastrtps]'] + [f'ros-{distro}-{name}' for name in ROS_WHEELS]


def share(*folders):
    """Return the data_files entries that install these folders below share/robot_dynamics."""
    return [
        (f'share/robot_dynamics/{folder}', sorted(filter(isfile, glob(f'{folder}/*'))))
        for folder in folders
    ]


def readme():
    """Return README.md with links to the repository, which package indexes cannot resolve."""
    file = Path('README.md')
    # colcon build --symlink-install runs this file in a folder without it.
    text = file.read_text(encoding='utf-8') if file.is_file() else ''
    relative = r'(!?)(\[[^\]]*\]\()(?!https?:|#)'

    def absolute(link):
        image, label = link.groups()
        return f'{image}{label}{REPOSITORY}/{"raw" if image else "blob"}/{VERSION}/'

    return re.sub(relative, absolute, text)


setup(
    name='robot_dynamics',
    version=VERSION,
    description='Dynamics of robot arms for ROS 2: the terms of the equation of motion, '
    'feed-forward torque, simulation and validation',
    long_description=readme(),
    long_description_content_type='text/markdown',
    maintainer='robot_dynamics maintainers',
    maintainer_email='maintainers@example.com',
    license='Apache-2.0',
    url=REPOSITORY,
    project_urls={
        'Documentation': f'{REPOSITORY}/tree/{VERSION}/docs',
        'Changelog': f'{REPOSITORY}/blob/{VERSION}/CHANGELOG.rst',
        'Issues': f'{REPOSITORY}/issues',
    },
    keywords='robotics dynamics ROS2 URDF torque identification',
    classifiers=[
        'Development Status :: 4 - Beta',
        'Intended Audience :: Developers',
        'Intended Audience :: Education',
        'Intended Audience :: Science/Research',
        'Operating System :: OS Independent',
        *(f'Programming Language :: Python :: 3.{minor}' for minor in range(10, 15)),
        'Topic :: Scientific/Engineering',
        'Typing :: Typed',
    ],
    packages=find_packages(include=['robot_dynamics', 'robot_dynamics.*']),
    package_data={
        'robot_dynamics': ['py.typed'],
        'robot_dynamics.export.ros2_control': ['templates/*.*', 'templates/*/*.*'],
    },
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/robot_dynamics']),
        ('share/robot_dynamics', ['package.xml']),
        *share('launch', 'urdf', 'config', 'config/ros2_control'),
    ],
    zip_safe=False,
    python_requires='>=3.10',
    install_requires=[
        'numpy>=1.26',
        'scipy>=1.11',
        'urdf-parser-py>=0.0.4',
        'xacro>=2.1',
        'PyYAML>=6.0',
        'llvmlite>=0.45',
        'typing-extensions>=4.4',
    ],
    extras_require={
        'ros': ros('jazzy'),
        'ros-kilted': ros('kilted'),
        # An action type for the tests of feedforward_node's action; control_msgs has no wheel.
        'ros-test': ['ros-jazzy-test-msgs'],
        'ros-kilted-test': ['ros-kilted-test-msgs'],
        # Without a wheel of PyBullet the validator uses the other two engines.
        'sim': [
            f'pybullet>=3.2.7; {PYBULLET_WHEEL}',
            f'pin>=3.3.1; {NO_PYBULLET_WHEEL}',
            f'mujoco>=3.14; {NO_PYBULLET_WHEEL}',
        ],
        'demo': ['rich>=13', 'matplotlib>=3.8'],
        # Simulated batches on more than one machine.
        'cluster': ['distributed>=2024.1'],
        # Recordings of real robots, for comparison with a model.
        'bags': ['rosbags>=0.11.7'],
        # LeRobot data sets, which are Parquet files.
        'lerobot': ['pyarrow>=15'],
        # Dynamics as differentiable functions of the arrays of these.
        'jax': JAX,
        'torch': ['torch>=2.1'],
        # Loads exported functions; Jacobians in blocks since 3.6.
        'casadi': CASADI,
        # robot-dynamics export --language cuda --compile.
        'cuda': NVRTC,
        # Identification: a convex solver with its modelling layer.
        'identify': IDENTIFY,
        # Meshes of robot descriptions, STL and OBJ, and COLLADA.
        'check': CHECK,
        'mujoco': MUJOCO,
        # robot-dynamics derive.
        'derive': DERIVE,
        # The robot in the browser; other minor versions may change the page.
        'view': ['viser>=1.1,<1.2', 'websockets>=13.1', 'rich>=13', *CHECK],
        # examples/notebooks, kept as text.
        'notebooks': ['jupytext>=1.16', 'nbclient>=0.10', 'ipykernel>=6.29', 'matplotlib>=3.8'],
        # The site has the notebooks with their results.
        'docs': [
            *SITE,
            *('jupytext>=1.16', 'ipykernel>=6.29', 'matplotlib>=3.8'),
            *IDENTIFY,
            *CHECK,
        ],
        'test': [
            'pytest>=8',
            'pytest-xdist>=3.8',
            'pytest-rerunfailures>=15',
            'hypothesis>=6.100',
            'mpmath>=1.3',
            'distributed>=2024.1',
            'pin>=3.3.1',
            *MUJOCO,
            'example-robot-data>=6.0',
            'modern_robotics>=1.1',
            'mcap>=1.1',
            'rosbags>=0.11.7',
            'pyarrow>=15',
            *CHECK,
            *IDENTIFY,
            # The view in the browser, with Debian's packages chromium and chromium-driver.
            'viser>=1.1,<1.2',
            'selenium>=4.20',
            'jupytext>=1.16',
            'nbclient>=0.10',
            'ipykernel>=6.29',
            *SITE,
            *DERIVE,
            *JAX,
            *CASADI,
            *NVRTC,
            # examples/time_optimal.py; it needs matplotlib.
            'toppra>=0.6.10',
            'import-linter>=2.14',
            # Other minor versions format differently and report other errors.
            'ruff>=0.17,<0.18',
            'mypy>=2.4,<2.5',
            'scipy-stubs>=1.14',
            'types-PyYAML>=6.0.12',
            # test_packaging.py builds, checks and installs the package with these.
            'build>=1.2',
            'pip>=24.2',
            'setuptools>=70.1',
            'twine>=6.1',
            'wheel>=0.43',
        ],
        # Mutation testing; the mutants are made by functions that other minor versions may move.
        'mutate': ['mutmut>=3.8,<3.9'],
        'bench': ['pin>=3.3.1', *MUJOCO, 'example-robot-data>=6.0', 'modern_robotics>=1.1'],
    },
    entry_points={
        'console_scripts': [
            'robot-dynamics = robot_dynamics.cli:main',
            'robot_dynamics_nodes = robot_dynamics.ros.executables:robot_dynamics_nodes',
            *(f'{node} = robot_dynamics.ros.executables:{node}' for node in NODES),
        ],
    },
)
