"""What is done to the site after it was built: it must load nothing from another host, whatever happens on it.

The theme's script holds the addresses of three things that this site never asks for: a stand-in for old browsers, a
library for diagrams, and the counts of stars of a repository.
"""

from pathlib import Path
from typing import Any

ELSEWHERE = {
    "https://unpkg.com/resize-observer-polyfill": "data:text/javascript,",
    "https://unpkg.com/mermaid@11/dist/mermaid.min.js": "data:text/javascript,",
    "https://api.github.com/": "data:application/json,",
    "https://${e}/api/v4/": "data:application/json,",
}


def on_post_build(config: Any) -> None:
    """Take the addresses out, and the source maps, which only developers of the theme need."""
    site = Path(config["site_dir"])
    for script in site.rglob("*.js"):
        text = script.read_text(encoding="utf-8")
        for address, instead in ELSEWHERE.items():
            text = text.replace(address, instead)
        script.write_text(text, encoding="utf-8")
    for unneeded in site.rglob("*.map"):
        unneeded.unlink()
