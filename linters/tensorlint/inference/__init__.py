"""What every expression of a file is: an abstract interpreter over the standard library's `ast`."""
