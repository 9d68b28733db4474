# SPDX-License-Identifier: Apache-2.0
"""Progress of a build: a line per stage and per notebook on the standard error.

`./run docs` turns off Sphinx's own progress, which has a line per page. Messages of the kernels
that run the notebooks are turned off here, but for errors.
"""

import logging
import os
import sys
import time
from pathlib import Path

# A kernel reads its settings from the profile of IPython.
KERNEL = "get_config().IPKernelApp.log_level = 'ERROR'\n"


def setup(app):
    """Register a line for each stage."""
    begin = time.monotonic()
    stages = {
        'env-before-read-docs': lambda _app, _env, names: f'reading {len(names)} pages',
        'source-read': lambda app, name, _text: notebook(app, name),
        'env-check-consistency': lambda *_: 'linking',
        'write-started': lambda app, _builder: f'writing {len(app.env.all_docs)} pages',
        'build-finished': lambda *_: f'done in {time.monotonic() - begin:.0f} s',
    }
    for event, text in stages.items():
        app.connect(event, lambda *given, text=text: report(text(*given)))
    logging.getLogger('traitlets').setLevel(logging.WARNING)
    profile = Path(app.outdir).parent / 'ipython' / 'profile_default'
    profile.mkdir(parents=True, exist_ok=True)
    (profile / 'ipython_kernel_config.py').write_text(KERNEL)
    os.environ['IPYTHONDIR'] = str(profile.parent)
    return {'parallel_read_safe': True}


def notebook(app, name):
    """Return the line of a notebook that runs unless its results are known, '' for other pages."""
    runs = name.startswith('notebooks/') and not name.endswith('README')
    return f'running {name}' if runs and app.config.nb_execution_mode != 'off' else ''


def report(text):
    """Write one line, none for ''."""
    if text:
        print(f'docs: {text}', file=sys.stderr, flush=True)
