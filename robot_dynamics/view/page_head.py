# SPDX-License-Identifier: Apache-2.0
"""A script and a style in the head of viser's page, for what viser 1.1 has no setting.

Each part relies on one name of viser or Mantine, its library of controls. If a new version drops
the name, the part has no effect and the page is that of viser.
"""

from __future__ import annotations

import gzip
from functools import lru_cache

SMALL = 900  # px: a narrower page has one sheet below the scene instead of two columns
BRIGHT = 1.6  # brightness of the torques on a dark page: the colours are those for a white one
HIGH = 33  # % of the height of a small page that the sheet takes at most
SHEET = '.mantine-Paper-root[style*="position: fixed"]'
TORQUES = '.mantine-Tabs-root > [aria-label$="panel Joint torques"]'

# viser reads __VISER_EMBED_CONFIG__ before it draws (App.tsx), and shows its sheet below Mantine's
# breakpoint xs, 36em. The state is the server's, so a page that is loaded again shows the same.
SCRIPT = f"""
const media = window.matchMedia.bind(window);
const dark = media('(prefers-color-scheme: dark)');
const chosen = new URLSearchParams(location.search).get('theme');
window.__VISER_EMBED_CONFIG__ = {{darkMode: chosen ? chosen === 'dark' : dark.matches}};
if (!chosen) dark.addEventListener('change', () => location.reload());
window.matchMedia = query => media(query.replace('36em', '{SMALL - 0.02}px'));
"""
STYLE = f"""
.mantine-Slider-root + .mantine-NumberInput-root {{width: 4rem !important}}
.mantine-Slider-mark {{display: none}}
:root[data-mantine-color-scheme=light] {{--mantine-color-dimmed: #5c636a !important}}
:root[data-mantine-color-scheme=dark] {{--mantine-color-dimmed: #b8b8b8 !important}}
.mantine-Slider-markLabel {{
    margin-top: 8px; line-height: 1; font-size: 11px !important;
    color: var(--mantine-color-dimmed) !important;
}}
[data-mantine-color-scheme=light] [role=tab][aria-selected=true] {{color: #2d69b4 !important}}
[data-mantine-color-scheme=dark] [role=tab][aria-selected=true] {{color: #79a5dd !important}}
[data-mantine-color-scheme=dark] :is(.rd, [data-contact], .uplot canvas) {{
    filter: brightness({BRIGHT});
}}
@media (max-width: {SMALL - 0.02}px) {{
    div:has(> {SHEET}) {{flex-direction: column}}
    div:has(> {SHEET}) > [style*="flex-grow: 1"] {{height: 0 !important}}
    {SHEET} {{
        position: relative !important; flex-shrink: 0;
        width: 100% !important; max-height: {HIGH}dvh !important; min-height: 2.5em !important;
    }}
    {SHEET} div:has(> div > {TORQUES}) {{display: flex; flex-direction: column}}
    {SHEET} div:has(> {TORQUES}) {{order: -1}}
    .mantine-Slider-thumb {{width: 16px !important; height: 16px !important}}
    .mantine-Slider-markLabel {{margin-top: 10px}}
    div:has(> .mantine-Slider-root + .mantine-NumberInput-root) {{padding-bottom: 4px}}
    {SHEET} [style*="width: 20em"] {{width: auto !important}}
    {SHEET} [style*="height: 3.5em"] {{height: 2.5em !important}}
}}
"""
HEAD = f'<head><script>(() => {{{SCRIPT}}})()</script><style>{STYLE}</style>'.encode('ascii')


@lru_cache(maxsize=2)
def with_head(page: bytes, compressed: bool) -> bytes:
    """Return a page of HTML with `HEAD`; `compressed` says whether both are gzip."""
    html = gzip.decompress(page) if compressed else page
    html = html.replace(b'<head>', HEAD, 1)
    return gzip.compress(html) if compressed else html
