"""A small character-level transformer: the one next door, with the mistakes people make."""
