"""A small character-level transformer: enough to train on a page of text, in a few hundred lines."""
