"""The domain of a checkpoint and its two files: `domain.json` for people, `domain.npz` for the measure's arrays."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recap.arrays import Floats
from recap.claims import Statement
from recap.errors import RecapError, quoted
from recap.files import atomic_write, reading, write_text
from recap.models.domain.near import nearest_known
from recap.validation import explain

KIND, VERSION = "recap-domain", 1
TEXT, ARRAYS = "domain.json", "domain.npz"
NAMES = ("mean", "scale", "axes", "variances")
Statistic = Literal["mean", "std", "log-std", "log-change"]
"""of a layer, over the places of a picture"""
MOMENTS: tuple[Statistic, ...] = ("mean", "std")
"""those that a domain reads if it names no others"""


@dataclass(frozen=True)
class Domain:
    """Where a checkpoint's answers mean something."""

    pictures: str
    """what it was made for, in words that follow "the": drawn scenes, photographs"""
    things: tuple[str, ...]
    """every noun that it knows, in lower case"""
    layers: tuple[int, ...]
    """of the vision tower, that the measure reads: its maps, finest first, or hidden states; −1 is the last of these"""
    threshold: float
    """pictures at a greater distance are foreign"""
    mean: Floats = field(repr=False)
    """(d,) of the features of its own pictures"""
    scale: Floats = field(repr=False)
    """(d,) their standard deviations"""
    axes: Floats = field(repr=False)
    """(k, d) principal axes of the standardised features"""
    variances: Floats = field(repr=False)
    """(k,) along these axes"""
    rest: float = 1.0
    """mean variance along all further axes"""
    statistics: tuple[str, ...] = MOMENTS
    """of each channel of these layers, over the places of the picture"""
    record: dict[str, Any] = field(default_factory=dict[str, Any])
    """how it was fitted, for people"""

    def distance(self, features: Floats) -> Floats:
        """How far pictures lie from those of the domain, per dimension: (n, d) features → (n,).

        The Mahalanobis distance under a Gaussian whose variance beyond the principal axes is the same everywhere
        (probabilistic PCA). Its mean over the pictures it was fitted on is about 1.
        """
        z = (features - self.mean) / self.scale
        along = z @ self.axes.T
        beyond = (z**2).sum(1) - (along**2).sum(1)
        return ((along**2 / self.variances).sum(1) + beyond.clip(0) / self.rest) / z.shape[1]

    def strangeness(self, features: Floats) -> Floats:
        """The distance as a share of the threshold: above 1 a picture is foreign."""
        return self.distance(features) / self.threshold

    def unknown(self, statement: Statement) -> list[str]:
        """What a statement names and the model has no word for."""
        named = dict.fromkeys(filter(None, (statement.subject, statement.object)))  # what exists has no object
        return [name for name in named if " ".join(name.lower().split()) not in self.things]

    def objection(self, model: str, statement: Statement, strangeness: float) -> str | None:
        """Why there is no verdict on what this model says of such a picture and these things; None where there is."""
        if strangeness > 1:
            return f"this picture is unlike the {self.pictures} that {model} was made for"
        unknown = self.unknown(statement)
        return f"{model} does not know {' and '.join(map(quoted, unknown))}" if unknown else None

    def notes(self, model: str, statement: Statement, strangeness: float) -> tuple[str, ...]:
        """What it knows instead, for somebody who asked about something else in a picture of its own."""
        unknown = self.unknown(statement) if strangeness <= 1 else []
        if not unknown:
            return ()
        told = f"{model} knows {', '.join(sorted(self.things))}"
        simpler = {name: known for name in unknown if (known := self.simpler(name)) is not None}
        return (told, *self._hints(model, statement, simpler))

    def _hints(self, model: str, statement: Statement, simpler: Mapping[str, str]) -> Iterator[str]:
        """How to ask with known words; of two things under one word, that they cannot be told apart."""
        both = [name for name in dict.fromkeys((statement.subject, statement.object)) if name]
        words = {simpler.get(name, " ".join(name.lower().split())) for name in both}
        if simpler and len(words) < len(both):
            yield f"{model} has only the word {quoted(words.pop())} for {' and '.join(map(quoted, both))}"
        elif simpler:
            instead = (f"about {quoted(known)} instead of {quoted(name)}" for name, known in simpler.items())
            yield f"{model} can be asked {' and '.join(instead)}"

    def simpler(self, name: str) -> str | None:
        """The known thing that a name says more about or is a kind of: cat for "black cat", person for "man"."""
        return nearest_known(name, self.things)


class _Measure(BaseModel):
    model_config = ConfigDict(extra="forbid")
    layers: list[int] = Field(min_length=1)
    statistics: list[Statistic] = Field(list[Statistic](MOMENTS), min_length=1)
    threshold: float = Field(gt=0, allow_inf_nan=False)
    rest: float = Field(gt=0, allow_inf_nan=False)


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: str
    version: int
    pictures: str
    things: list[str] = Field(min_length=1)
    measure: _Measure
    record: dict[str, Any] = {}


def save_domain(domain: Domain, folder: str | Path) -> None:
    """Write both files beside the weights; the readable one last, without which there is no domain."""
    place = Path(folder)
    with atomic_write(place / ARRAYS) as stream:
        # Half precision moves distances by less than a thousandth, and halves the file.
        halved: dict[str, Any] = {name: np.asarray(getattr(domain, name), np.float16) for name in NAMES}
        np.savez_compressed(stream, **halved)
    document = {
        "kind": KIND,
        "version": VERSION,
        "pictures": domain.pictures,
        "things": list(domain.things),
        "measure": {
            "layers": list(domain.layers),
            "statistics": list(domain.statistics),
            "threshold": domain.threshold,
            "rest": domain.rest,
        },
        "record": domain.record,
    }
    write_text(place / TEXT, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def load_domain(folder: str | Path) -> Domain | None:
    """The domain of a checkpoint's folder; None where it has none."""
    text, arrays = Path(folder) / TEXT, Path(folder) / ARRAYS
    if not text.is_file():
        return None
    try:
        with reading(text, "domain"):
            told = _Document.model_validate_json(text.read_bytes())
        if (told.kind, told.version) != (KIND, VERSION):
            raise RecapError(f"{text}: this is not a domain file of version {VERSION}")
        with reading(arrays, "domain"), np.load(arrays, allow_pickle=False) as held:
            found = {name: held[name].astype(np.float64) for name in NAMES}
    except RecapError:
        raise
    except ValidationError as error:
        raise RecapError(f"{text}: {explain(error, 'the domain')}") from None
    except (KeyError, ValueError, zipfile.BadZipFile):
        raise RecapError(f"{arrays}: the arrays of the domain cannot be read") from None
    k, d = found["axes"].shape if found["axes"].ndim == 2 else (0, 0)
    if not k or found["mean"].shape != (d,) or found["scale"].shape != (d,) or found["variances"].shape != (k,):
        raise RecapError(f"{arrays}: the arrays of the domain do not fit together")
    measure = told.measure
    return Domain(
        told.pictures,
        tuple(told.things),
        tuple(measure.layers),
        measure.threshold,
        rest=measure.rest,
        statistics=tuple(measure.statistics),
        record=told.record,
        **found,
    )
