"""The command line: thin commands over the public functions. Heavy imports stay inside them, so that help is quick."""
