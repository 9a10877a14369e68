"""`python -m tensorlint`."""

import sys

from tensorlint.cli import main

if __name__ == "__main__":
    sys.exit(main())
