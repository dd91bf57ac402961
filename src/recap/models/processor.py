# torch and transformers type their own functions only in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Loading a model's released processor, also where its video part cannot be imported."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from recap.errors import RecapError


def load_processor(name: str, revision: str | None = None) -> Any:
    """The processor with tokenizer, image processor and chat template.

    Some processors bring a video part that needs torchvision. We show single images, so without torchvision the
    same class is put together without that part.
    """
    import transformers

    where: dict[str, Any] = {"revision": revision} if revision else {}
    try:
        return transformers.AutoProcessor.from_pretrained(name, **where)
    except (ImportError, OSError, ValueError) as error:
        if not any(word in str(error).lower() for word in ("torchvision", "video processor", "video_processor")):
            raise
    config = transformers.ProcessorMixin.get_processor_dict(name, **where)[0]
    kind = getattr(transformers, str(config.get("processor_class")), None)
    if kind is None:
        raise RecapError(f"{name}: its processor needs torchvision, which is not installed")
    return image_only(kind).from_pretrained(name, **where)


def image_only(kind: Any) -> Any:
    """A processor class without its video part."""
    parts = [part for part in kind.get_attributes() if part != "video_processor"]

    def get_attributes(_: Any) -> list[str]:
        return parts

    # Some templates look at the absent part's settings even for a picture.
    absent = SimpleNamespace(num_frames=None, fps=None)
    return type(kind.__name__, (kind,), {"get_attributes": classmethod(get_attributes), "video_processor": absent})
