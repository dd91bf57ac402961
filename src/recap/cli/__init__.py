"""The command line: one thin module per command. Heavy imports stay inside the commands, so that help is quick."""
