"""What a bundled checkpoint knows: the things it has words for, and the pictures it was made for.

A small model answers about anything it is shown. Its domain file, beside the weights, says where its answers mean
something: a vocabulary, and a measure of how far a picture lies from those that it was trained on.
"""

from recap.models.domain.check import PictureCheck
from recap.models.domain.file import Domain, load_domain, save_domain

__all__ = ["Domain", "PictureCheck", "load_domain", "save_domain"]
