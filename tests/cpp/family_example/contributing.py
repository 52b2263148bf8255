"""Reads the blocks of CONTRIBUTING.md that add a family, and applies them to a copy of the tree.

A block follows a marker ``<!-- family:GROUP -->``. With ``file:PATH`` the block is a new file.
Otherwise it is a list of hunks: ``--- PATH`` names a file, ``@@`` begins another hunk in it, lines
with a leading ``+`` are added, with ``-`` removed, all others show the place, which must be found
exactly once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(
    r"^<!-- family:(?P<group>\w+)(?: file:(?P<file>\S+))? -->\n```\w+\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    group: str
    file: str | None
    text: str


class Hunk(NamedTuple):
    path: str
    lines: list[str]  # each with its leading "+", "-" or " "


def read_blocks(page: str) -> list[Block]:
    """Every marked block, in the order of the page."""
    blocks = [Block(*match.group("group", "file", "text")) for match in _BLOCK.finditer(page)]
    if len(blocks) != page.count("<!-- family:"):
        raise ValueError("CONTRIBUTING.md: a family marker is not followed by a code block")
    return blocks


def hunks_of(text: str) -> Iterator[Hunk]:
    """The hunks of a block."""
    path = ""
    lines: list[str] = []
    for line in [*text.splitlines(), "@@"]:
        if line == "@@" or line.startswith("--- "):
            if lines:
                yield Hunk(path, lines)
            lines = []
            path = line[4:] if line.startswith("--- ") else path
            continue
        if line and line[0] not in "+- ":
            raise ValueError(f"CONTRIBUTING.md: a line of a hunk begins with {line[0]!r}: {line}")
        lines.append(line or " ")


def apply_hunk(root: Path, hunk: Hunk) -> None:
    """Edits one file of the copy. Spaces and line breaks of the place do not matter."""
    old = [line for line in hunk.lines if line[0] != "+" and line.strip("- ")]
    pattern = r"\s+".join(
        "(" + r"\s+".join(re.escape(word) for word in line[1:].split()) + ")" for line in old
    )
    path = root / hunk.path
    text = path.read_text(encoding="utf-8")
    places = list(re.finditer(r"(?<!\S)" + pattern + r"(?!\S)", text))
    if len(places) != 1:
        shown = "\n".join(line[1:] for line in old)
        raise ValueError(
            f"CONTRIBUTING.md: {hunk.path} has {len(places)} places that read\n{shown}"
        )
    place = places[0]
    result = text[: place.start()]
    indent = result[result.rfind("\n") + 1 :]
    result = result[: len(result) - len(indent)]
    group = 0
    for line in hunk.lines:
        if line[0] == "+":
            result += line[1:] + "\n"
        elif line.strip("- "):
            group += 1
            start = text.rfind("\n", 0, place.start(group)) + 1
            result += "" if line[0] == "-" else text[start : place.end(group)] + "\n"
    path.write_text(result + text[place.end() :].removeprefix("\n"), encoding="utf-8")


def apply_group(page: str, root: Path, group: str) -> None:
    """Applies the blocks of one group to the tree at `root`."""
    blocks = [block for block in read_blocks(page) if block.group == group]
    if not blocks:
        raise ValueError(f"CONTRIBUTING.md has no block of the group {group}")
    for block in blocks:
        if block.file is not None:
            (root / block.file).write_text(block.text, encoding="utf-8")
            continue
        for hunk in hunks_of(block.text):
            apply_hunk(root, hunk)
