"""The rooms of cpp/src: who includes whom, and that no file and no function grows out of hand.

The order of the rooms stands in CONTRIBUTING.md, from the ground up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "cpp" / "src"
LONGEST_FILE = 450
LONGEST_FUNCTION = 60
#: Operators stand side by side: none includes the other.
OPERATORS = ("boxdecode", "nms")

FILES = {
    path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(SOURCE.rglob("*"))
    if path.suffix in (".h", ".cpp")
}


def rooms() -> list[str]:
    """The rooms from the ground up."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- rooms -->\n```\w*\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert block is not None, "CONTRIBUTING.md does not say the order of the rooms"
    return [line.split()[0] for line in block[1].splitlines() if line.strip()]


def room_of(path: str) -> str:
    return path.rpartition("/")[0]


def includes_of(text: str) -> list[str]:
    """The files of cpp/src that a file includes."""
    found = re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE)
    return [path for path in found if path in FILES]


def arrows() -> list[tuple[str, str]]:
    """(file, included file) between rooms; a header that includes nothing of ours is for all."""
    return [
        (path, target)
        for path, text in FILES.items()
        for target in includes_of(text)
        if room_of(path) != room_of(target) and includes_of(FILES[target])
    ]


def test_every_room_has_its_place() -> None:
    assert sorted(rooms()) == sorted({room_of(path) for path in FILES})


def test_each_room_includes_only_rooms_below() -> None:
    order = {room: height for height, room in enumerate(rooms())}
    found = arrows()
    assert len(found) > 20
    upward = [
        f"{path} includes {target}"
        for path, target in found
        if order.get(room_of(target), 0) >= order.get(room_of(path), 0)
    ]
    assert not upward, "\n".join(upward)


def test_operators_do_not_include_each_other() -> None:
    crossing = [
        f"{path} includes {target}"
        for path, text in FILES.items()
        for target in includes_of(text)
        if path.split("/")[0] in OPERATORS
        and target.split("/")[0] in OPERATORS
        and path.split("/")[0] != target.split("/")[0]
    ]
    assert not crossing


def test_no_cycle_among_files() -> None:
    """Also inside a room, where the order says nothing."""
    state: dict[str, bool] = {}  # False: on the way, True: done

    def visit(path: str, way: tuple[str, ...]) -> None:
        assert state.get(path, True), " -> ".join((*way, path))
        if path not in state:
            state[path] = False
            for target in includes_of(FILES[path]):
                visit(target, (*way, path))
            state[path] = True

    for path in FILES:
        visit(path, ())


def test_no_file_is_too_long() -> None:
    long = {path: text.count("\n") for path, text in FILES.items()}
    assert {path: lines for path, lines in long.items() if lines > LONGEST_FILE} == {}


# ---- functions -----------------------------------------------------------------------------------


class Function(NamedTuple):
    """A function: the lines from its signature to its closing brace, counted from 1."""

    name: str
    first: int
    last: int

    @property
    def lines(self) -> int:
        return self.last - self.first + 1


_WORDLESS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\((?:.*?)\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.DOTALL | re.MULTILINE,
)


def bare(text: str) -> str:
    """Code without comments, literals and directives; every character keeps its place."""
    return _WORDLESS.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def function_name(header: str) -> str | None:
    """The name before the parameters, where this is what comes before a function's body."""
    if re.match(r"\s*(?:inline\s+)?(?:namespace|extern|enum)\b", header):
        return None
    outside = header
    while re.search(r"\([^()]*\)", outside):  # innermost parameters first
        outside = re.sub(r"\([^()]*\)", " @ ", outside)
    named = re.search(r"(operator\s*\W{1,3}|~?\w+)\s+@", outside)
    if named is None or re.search(r"(?<![<>=!])=(?!=)", outside.replace("operator=", "")):
        return None
    return named[1].strip()


def functions(text: str) -> Iterator[Function]:
    """Every function of a file. Lambdas and local classes belong to the function around them."""
    code = bare(text)
    start, depth, inside = 0, 0, None  # where the header begins; braces; the open function
    skipped = 0  # depth of a braced initializer
    opened = 0
    for place, character in enumerate(code):
        if character == "{":
            depth += 1
            # Bodies stand behind a blank, initializers behind a name: clang-format sees to it.
            if inside is None and not skipped:
                if re.match(r"\w|>|\]", code[place - 1]):
                    skipped = depth
                    continue
                inside = function_name(code[start:place])
                if inside is not None:
                    header = code[start:place]
                    opened, start = depth, place - len(header.lstrip())
                else:
                    start = place + 1
        elif character == "}":
            if inside is not None and depth == opened:
                yield Function(
                    inside, code.count("\n", 0, start) + 1, code.count("\n", 0, place) + 1
                )
                inside, start = None, place + 1
            elif skipped == depth:
                skipped = 0
            elif inside is None and not skipped:
                start = place + 1
            depth -= 1
        elif character == ";" and inside is None and not skipped:
            start = place + 1
    assert depth == 0, "braces do not match"


def has_reason(text: str, function: Function) -> bool:
    """Whether the comment above the function, or one in its first lines, says why it is long."""
    lines = text.splitlines()
    above = function.first - 1
    while above > 0 and lines[above - 1].lstrip().startswith("//"):
        above -= 1
    beside = "\n".join(lines[above : function.first + 3])
    return re.search(r"//+ long: \S+ \S+ \S+", beside) is not None


SAMPLE = """\
#include <x>
#define MACRO(a) \\
  { a
namespace {

constexpr int table[] = {1, 2};
constexpr std::array<int, 2> other{{1, 2}};

struct Thing {
  int member() const { return '{' + 1'000; }
  Thing() : value{1}, text("}") {
  }
  bool operator==(const Thing &that) const = default;
  int value = 0;
};

// long: it has no parts, see above
template <typename T>
int three(T value = T{},
          int other = 0) noexcept {
  const auto lambda = [&](int inner) {
    return inner;
  };
  if (value) {
    return lambda(1);
  }
}

}  // namespace
int last() { return 0; }
"""


def test_functions_are_found_and_measured() -> None:
    found = list(functions(SAMPLE))
    assert [(one.name, one.lines) for one in found] == [
        ("member", 1),
        ("Thing", 2),
        ("three", 10),
        ("last", 1),
    ]
    assert [has_reason(SAMPLE, one) for one in found] == [False, False, True, False]
    assert not has_reason(SAMPLE.replace("it has no parts, see above", "because"), found[2])
    with pytest.raises(AssertionError, match="do not match"):
        list(functions("int f() {"))


def test_no_function_is_long_without_a_reason() -> None:
    measured = {(path, one) for path, text in FILES.items() for one in functions(text)}
    assert len(measured) > 300
    long = [
        f"cpp/src/{path}:{one.first}: {one.name} has {one.lines} lines"
        for path, one in sorted(measured)
        if one.lines > LONGEST_FUNCTION and not has_reason(FILES[path], one)
    ]
    assert not long, "\n".join(long)
