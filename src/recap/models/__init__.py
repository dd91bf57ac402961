"""Models: who turns questions into margins. torch is imported only by the modules that need it."""

from recap.models.contract import ANSWERS, Identity, LikelihoodModel, Request

__all__ = ["ANSWERS", "Identity", "LikelihoodModel", "Request"]
