"""``python -m boxdecode`` is the command ``boxdecode``."""

import sys

from boxdecode.cli import main

if __name__ == "__main__":
    sys.exit(main())
