"""RECAP in other people's tools: one thin adapter per host. Each imports its host when it is used, and not before."""
