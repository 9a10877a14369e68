"""tensorlint: finds silent bugs of PyTorch and NumPy code by inferring shapes, strides and modules.

The package imports neither torch nor numpy nor pytest, and never runs the code it reads.
"""
