"""What pydantic found wrong at an edge (a row, a policy, an annotation), said in one line of our own words."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError

from recap.errors import RecapError, misspelt, quoted


def explain(error: ValidationError, what: str = "the row") -> str:
    """The first thing wrong: which field, and why. The caller says in which file and line."""
    first = error.errors(include_url=False)[0]
    context: dict[str, Any] = first.get("ctx", {})
    where = ".".join(str(part) for part in first["loc"])
    match first["type"]:
        case "json_invalid":
            return f"not valid JSON: {context['error']}"
        case "missing":
            return f'field "{where}" is missing'
        case "finite_number":
            return f"{where} is NaN or infinite; it must be a finite number"
        case "literal_error":
            return f"{where} is {quoted(str(first['input']))}, but must be {context['expected']}"
        case "value_error":
            return f"{where or what}: {context['error']}"
        case "unexpected_keyword_argument":
            return f"{where}: extra inputs are not permitted"
        case "model_type" | "model_attributes_type" | "dataclass_type" | "dict_type":
            return f"{where or what} is not a JSON object"
        case _:
            return f"{where or what}: {first['msg'][0].lower()}{first['msg'][1:]}"


def refuse_near_misses(part: BaseModel, prefix: str = "") -> None:
    """Extra fields may stand, but not one that is a slip of a field's name."""
    for name in part.model_extra or {}:
        if meant := misspelt(name, type(part).model_fields):
            raise RecapError(f'"{prefix}{name}" is not a field; did you mean "{meant}"?')
