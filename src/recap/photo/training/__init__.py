"""Training the model for photographs, apart from the product: `python -m recap.photo.training train --help`."""
