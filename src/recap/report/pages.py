"""Pages that need nothing but themselves: templates filled in with everything escaped, style sheets inside."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("recap", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(template: str, **values: Any) -> str:
    """A template of the package (`world/demo.html`, `report/report.html`), filled in."""
    return _environment().get_template(template).render(**values)
