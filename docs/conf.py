"""The documentation site: `make docs` builds it from the pages in this folder, without warnings."""

import re
import sys
from pathlib import Path
from typing import Any

from pygments.lexers.data import JsonLexer

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

import recap  # noqa: E402

project = "RECAP"
author = copyright = "The RECAP developers"
version = release = recap.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc"]
default_role = "literal"  # as docstrings mean their backquotes
exclude_patterns = ["_build", "notebooks/execute.py"]
html_theme = "furo"
html_title = f"RECAP {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]

# Notebooks are shown as they are stored: docs/notebooks/execute.py runs them.
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "exclude-members": "__init__, model_config"}


def adapt(_app: Any, page: str, source: list[str]) -> None:
    """The pages are written for readers of the repository; two things differ here.

    Links to files outside this folder become words, and pages that nobody has sorted into the contents come last.
    """
    if "/" not in page:
        source[0] = re.sub(r"\[([^\]]+)\]\(\.\./[^)]+\)", r"\1", source[0])
    if page == "index":
        sorted_in = {"index", *re.findall(r"^([\w/-]+)$", source[0], re.MULTILINE)}
        more = sorted({path.stem for path in Path(__file__).parent.glob("*.md")} - sorted_in)
        if more:
            source[0] += "\n:::{toctree}\n:hidden:\n:caption: More\n\n" + "\n".join(more) + "\n:::\n"


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", adapt)
    app.add_lexer("jsonl", JsonLexer)
