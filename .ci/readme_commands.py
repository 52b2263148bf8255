#!/usr/bin/env python3
"""Prints the shell blocks of README.md that stand right after the marker ``<!-- ci:NAME -->``.

Usage: .ci/readme_commands.py NAME
So continuous integration runs what a reader is told to run, and the two cannot drift apart.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def main() -> int:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    readme = Path(__file__).resolve().parent.parent / "README.md"
    marker = f"<!-- ci:{sys.argv[1]} -->"
    blocks = re.findall(
        re.escape(marker) + r"\s*\n```(?:sh|bash|console)\n(.*?)^```$",
        readme.read_text(encoding="utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
    if not blocks:
        raise SystemExit(f"README.md has no shell block after {marker}")
    sys.stdout.write("".join(blocks))
    return 0


if __name__ == "__main__":
    sys.exit(main())
