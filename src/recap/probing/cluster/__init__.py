"""The cluster engine: one probing job on many Ray workers, with the table of one process."""
