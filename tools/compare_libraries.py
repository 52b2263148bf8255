"""Compares two builds of the package on the same frames and the same wrong requests.

    python tools/compare_libraries.py OLD NEW [--frames 100000] [--requests 5000] [--tests DIR]

OLD and NEW are folders that hold a package `boxdecode` each. Both run the frames and the faults of
the conformance suite, in processes of their own: every output byte, and the code, field and message
of every refusal must be the same. Kernels and layouts take turns. DIR is the folder `tests` to draw
from; give the older checkout's where the newer one uses what the older package does not know.
Exit code 1: something differs.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SEPARATOR = "\t"


def frame_lines(count: int) -> Iterator[str]:
    """A line a frame: its name, and a digest of every output byte or the refusal."""
    import adapter
    import boxdecode
    import frames

    kernels = adapter.available_kernels()
    variants = ("Contiguous", "Strided", "MlaCBlocked", "Planar", "mixed")
    turns = itertools.count()
    for index, recipe in itertools.islice(
        ((index, recipe) for index in itertools.count() for recipe in frames.RECIPES), count
    ):
        turn = next(turns)
        variant = variants[(turn + index) % len(variants)]
        kernel = kernels[turn % len(kernels)]
        frame = frames.make_frame(*recipe, index)
        request = frames.with_layouts(frame, variant)
        name = f"{'-'.join(recipe)} {index} {variant} {kernel}"
        try:
            with adapter.forced_kernels(kernel):
                plan = adapter.make_plan(request)
        except boxdecode.Error as error:
            yield f"{name}{SEPARATOR}{refusal_text(error)}"
            continue
        inputs = adapter.memory(request, frame.tensors, index)
        outputs = adapter.execute(plan, plan.create_context(), inputs)
        digest = hashlib.blake2b(digest_size=16)
        for output in outputs:
            digest.update(f"{output.dtype}{output.shape}".encode())
            digest.update(output.tobytes())
        yield f"{name}{SEPARATOR}{int(outputs[3][0])} detections {digest.hexdigest()}"


def refusal_text(error: Any) -> str:
    return f"{error.code} {error.field!r} {error!s}".replace("\n", "\\n")


def request_lines(count: int) -> Iterator[str]:
    """A line a wrong request: what was spoilt, and the refusal in full."""
    import adapter
    import boxdecode
    import frames
    import test_refusals

    found = 0
    for index in itertools.count():
        for recipe in frames.RECIPES:
            request = test_refusals.valid_request(*recipe, index)
            for fault in test_refusals.FAULTS:
                arguments = adapter.plan_arguments(request)
                if fault.apply(arguments, request) is None:
                    continue
                try:
                    boxdecode.Plan(**arguments)
                    answer = "accepted"
                except boxdecode.Error as error:
                    answer = refusal_text(error)
                yield f"{'-'.join(recipe)} {index} {fault.name}{SEPARATOR}{answer}"
                found += 1
                if found == count:
                    return


def run_worker(kind: str, count: int, package: Path) -> None:
    import boxdecode

    imported = Path(boxdecode.__file__)
    if not imported.is_relative_to(package):
        raise SystemExit(f"boxdecode comes from {imported}, not from {package}")
    for line in frame_lines(count) if kind == "frames" else request_lines(count):
        print(line, flush=False)


def started(package: Path, tests: Path, kind: str, count: int) -> subprocess.Popen[str]:
    path = os.pathsep.join(str(folder) for folder in (package, tests / "conformance", tests))
    return subprocess.Popen(
        [sys.executable, __file__, "--worker", kind, str(count), str(package)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )


def compare(kind: str, count: int, old: Path, new: Path, tests: Path) -> int:
    """Prints the differences and a summary; the number of differences."""
    workers = [started(package, tests, kind, count) for package in (old, new)]
    answers: Counter[str] = Counter()
    differences = seen = 0
    streams = [worker.stdout or () for worker in workers]
    for left, right in itertools.zip_longest(*streams):
        seen += 1
        if left != right:
            differences += 1
            if differences <= 10:
                print(f"  old: {left!r}\n  new: {right!r}")
        elif left is not None:
            answer = left.rstrip("\n").split(SEPARATOR)[1]
            answers["refused" if answer.startswith("ErrorCode") else "taken"] += 1
    failed = [worker.wait() for worker in workers]
    print(f"{kind}: {seen} compared ({dict(answers)}), {differences} differences", flush=True)
    if any(failed) or seen != count:
        print(f"  exit codes {failed}, {seen} of {count} lines")
        differences += 1
    return differences


def main() -> int:
    if sys.argv[1:2] == ["--worker"]:
        run_worker(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--tests", type=Path, default=Path(__file__).parents[1] / "tests")
    options = parser.parse_args()
    folders = [path.resolve() for path in (options.old, options.new, options.tests)]
    differences = compare("requests", options.requests, *folders)
    differences += compare("frames", options.frames, *folders)
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
