"""Models by name: a checkpoint's folder or hub name, one that comes with the package, or the address of a server."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from recap.errors import RecapError
from recap.models.contract import LikelihoodModel
from recap.models.domain import Domain, load_domain
from recap.models.remote.address import is_remote
from recap.plugins import FAILURES, installed, load_plugin, told_by
from recap.schemes import scheme_of
from recap.statistics.sampling import check_samples

LOCAL = "revision dtype device attention plain compiled tokens called pad"
SELF_CHECK = Path("record", "self_check.json")
"""where a bundled checkpoint keeps what its self-check found: a downloaded one is never believed"""
REMOTE = "server concurrency timeout patience template"


def load_model(
    name: str, *, samples: int | None = None, say: Callable[[str], None] = lambda _: None, **options: Any
) -> LikelihoodModel:
    """A model, ready to be asked. `options` are those of `LocalModel.load` or `RemoteModel.load`; None is not given.

    `samples`: margins by counting so many sampled answers to each question, for models without log-probabilities and
    models that think before they answer.

    A checkpoint that comes with the package is small: it runs in fp32 wherever it runs.
    """
    given: dict[str, Any] = {
        option: value
        for option, value in options.items()
        if value is not None and (value is not False or option == "compiled")
    }
    if samples is not None:
        check_samples(samples)
    kind = name.partition(":")[0]
    if kind in installed("models") and not Path(name).exists():
        return _packaged(kind, name, given if samples is None else given | {"samples": samples})
    if is_remote(name):
        _refuse(name, given, LOCAL, "a model on this machine, and this is a server")
        if samples is not None:
            from recap.models.remote.sampled import SampledRemoteModel

            _refuse(name, given, "server template answers", "log-probabilities, and --samples counts whole answers")
            return SampledRemoteModel.load(name, samples, say=say, **given)
        from recap.models.remote.model import RemoteModel

        return RemoteModel.load(name, say=say, **given)
    _refuse(name, given, REMOTE, "a served model (http://host:port/v1#name)")
    require_local()
    from recap.models.local import LocalModel

    scheme = scheme_of(name)
    if scheme is None:
        _check_folder(name)
    else:
        record = scheme.checkpoint_folder(name) / SELF_CHECK
        given = {"dtype": "float32", "called": name, "check_record": record, **given}
    folder = name if scheme is None else str(scheme.checkpoint_folder(name))
    if samples is None:
        return LocalModel.load(folder, say=say, **given)
    from recap.models.sampled import SampledLocalModel

    return SampledLocalModel(LocalModel.load(folder, **given), samples, say=say)


def _packaged(kind: str, name: str, given: dict[str, Any]) -> LikelihoodModel:
    """A model that another package brings: its entry point is a function of the name and the options given."""
    load = load_plugin("models", kind)
    if not callable(load):
        raise RecapError(f"{told_by('models', kind)} is no function that loads a model")
    try:
        model = load(name, **given)
    except RecapError:
        raise
    except FAILURES as error:
        raise RecapError(f"{name}: cannot load the model: {type(error).__name__}: {error}") from error
    if not (hasattr(model, "identity") and callable(getattr(model, "margins", None))):
        raise RecapError(f"{told_by('models', kind)} gave no model, but a {type(model).__name__}")
    return cast(LikelihoodModel, model)


def default_policy(model: str, graph: str | Path | None) -> Path | None:
    """The policy to use where none is given: the one that comes with a model, unless a graph of one's own is used."""
    scheme = scheme_of(model)
    return None if scheme is None or graph is not None else scheme.policy_file(model)


def bundled_domain(model: str) -> Domain | None:
    """The domain of a checkpoint that comes with the package; None for every other model."""
    scheme = scheme_of(model)
    return None if scheme is None else load_domain(scheme.checkpoint_folder(model))


def require_local() -> None:
    """Say clearly when the parts for local models are not installed."""
    try:
        for part in ("torch", "transformers", "safetensors"):
            importlib.import_module(part)
    except ImportError as error:
        raise RecapError(f"{error.name} is not installed: local models need pip install 'recap-vlm[local]'") from None


def _check_folder(name: str) -> None:
    """What is clearly a path and leads nowhere is not looked for on the hub, whose names are `owner/model`."""
    if not name.strip():
        raise RecapError("the model has no name: give a folder, a name on the hub or an address")
    if (name.startswith(("/", "./", "../", "~")) or name.count("/") > 1) and not Path(name).exists():
        raise RecapError(f"{name}: there is no such folder (a name on the hub looks like Qwen/Qwen3-VL-8B-Instruct)")


def _refuse(name: str, given: dict[str, Any], others: str, whose: str) -> None:
    for option in others.split():
        if option in given:
            flag = "compile" if option == "compiled" else option.replace("_", "-")
            raise RecapError(f"{name}: --{flag} is for {whose}")
