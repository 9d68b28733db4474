# SPDX-License-Identifier: Apache-2.0
"""Settings of the documentation site, which `./run docs` builds.

Furo, notebooks, local MathJax and copy buttons are used where they are installed (the extra
`docs`); without them, as under rosdoc2, the same pages are built with what there is.
"""

import importlib.util
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]

import robot_dynamics  # noqa: E402

NOTEBOOKS = Path(robot_dynamics.__file__).parents[1] / 'examples' / 'notebooks'


def installed(*modules):
    """Return those of the modules that are installed."""
    return [module for module in modules if importlib.util.find_spec(module)]


# Sphinx reads pages below this folder only. Not every notebook of an earlier build is still one.
shutil.rmtree(DOCS / 'notebooks', ignore_errors=True)
if NOTEBOOKS.is_dir() and installed('myst_nb'):
    shutil.copytree(NOTEBOOKS, DOCS / 'notebooks', ignore=shutil.ignore_patterns('.*', '*.ipynb'))

project = 'robot_dynamics'
author = 'robot_dynamics maintainers'
copyright = author
version = release = robot_dynamics.__version__

extensions = [
    'sphinx.ext.autodoc',
    'sphinx.ext.napoleon',
    'sphinx.ext.mathjax',
    'extensions.generated_pages',
    'extensions.docstrings',
    'extensions.equation_numbers',
    'extensions.interface_tables',
    'extensions.progress',
    'extensions.search_texts',
    *(installed('myst_nb') or ['myst_parser']),
    *installed('sphinx-mathjax-offline', 'sphinx_copybutton'),
]
source_suffix = {'.md': 'myst-nb' if installed('myst_nb') else 'markdown'}
# rosdoc2 adds pages of its own, with links that lead nowhere.
exclude_patterns = ['_build', '**/.ipynb_checkpoints', 'standard_docs', 'user_docs']
html_theme = (installed('furo', 'sphinx_rtd_theme') or ['alabaster'])[0]
html_title = f'robot_dynamics {version}'
html_static_path = ['static']
html_css_files = ['site.css']
html_search_scorer = str(DOCS / 'static' / 'scorer.js')
html_theme_options = {'navigation_with_keys': True} if html_theme == 'furo' else {}
html_copy_source = False

# Markdown: equations between dollar signs, anchors of headings down to the third level.
myst_enable_extensions = ['amsmath', 'deflist', 'dollarmath']
myst_heading_anchors = 4
# Blocks of settings and shell sessions have no language.
highlight_language = 'none'

# Notebooks are executed once; their results are kept beside the built pages.
nb_execution_mode = 'cache'
nb_execution_cache_path = str(DOCS / '_build' / 'notebooks')
nb_execution_timeout = 600
nb_execution_raise_on_error = True
# rosdoc2 executes this file and extends it: the reader of Markdown is chosen above.
rosdoc2_settings = {'support_markdown': False}

autodoc_member_order = 'bysource'
autodoc_typehints = 'signature'
autodoc_typehints_format = 'short'
autodoc_type_aliases = {'Array': 'Array', 'ArrayLike': 'ArrayLike'}
add_module_names = False
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
toc_object_entries_show_parents = 'hide'
