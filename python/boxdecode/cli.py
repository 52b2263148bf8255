"""The command ``boxdecode``: decode the bundled sample, or saved heads of your own."""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from boxdecode._core import __version__
from boxdecode._decoder import Decoder, Detections
from boxdecode._errors import Error
from boxdecode.plan_file import PlanFile, PlanFileError, read_plan_file

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["main"]

TIMED_CALLS = 200
NO_PILLOW = "Pillow is not installed: pip install 'boxdecode[cli]'"


def __dir__() -> list[str]:
    return sorted(__all__)


class UserError(Exception):
    """Something that the person at the command line can put right."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        run: Any = options.run
        run(options)
    except (UserError, PlanFileError, Error, OSError) as error:
        print(f"boxdecode: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="boxdecode", description="Raw output tensors of an object detector in, detections out."
    )
    parser.add_argument("--version", action="version", version=f"boxdecode {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="decode the bundled heads of a YOLOX detector")
    demo.add_argument(
        "--out", type=Path, default=Path("demo.png"), help="picture with boxes (default: demo.png)"
    )
    demo.set_defaults(run=_demo)

    decode = commands.add_parser("decode", help="decode saved heads as a plan file says")
    decode.add_argument("heads", type=Path, help="arrays of one frame: .npz, or .npy for one input")
    decode.add_argument("--plan", type=Path, required=True, help="plan file (docs/plan-file.md)")
    decode.add_argument(
        "--image", type=Path, help="the frame's image, turned upright; its size is then used"
    )
    decode.add_argument(
        "--draw", type=Path, metavar="OUT", help="picture with boxes; needs --image"
    )
    decode.add_argument(
        "--describe", action="store_true", help="also print what the plan was prepared to do"
    )
    decode.set_defaults(run=_decode)

    for command in (demo, decode):
        command.add_argument(
            "--json",
            action="store_true",
            help="print JSON, with keypoints and proposals but no masks, instead of a table",
        )
    return parser


def _demo(options: argparse.Namespace) -> None:
    folder = Path(__file__).with_name("data")
    plan_file = read_plan_file(folder / "sample.json")
    decoder = Decoder(plan_file.plan())
    arrays = plan_file.read_heads(folder / "sample.npz", decoder.plan)
    detections = _run(decoder, arrays, plan_file, as_json=options.json)
    if _has_pillow():
        _draw(_picture(folder / "sample.png"), options.out, detections, plan_file)
    else:
        print(f"no picture: {NO_PILLOW}", file=sys.stderr)


def _decode(options: argparse.Namespace) -> None:
    if options.draw is not None and options.image is None:
        raise UserError("--draw needs --image, the picture to draw on")
    if options.image is not None and not _has_pillow():
        raise UserError(f"--image: {NO_PILLOW}")
    plan_file = read_plan_file(options.plan)
    picture = None if options.image is None else _picture(options.image)
    decoder = Decoder(plan_file.plan(None if picture is None else picture.size))
    arrays = plan_file.read_heads(options.heads, decoder.plan)
    if options.describe:
        print(decoder.plan.describe(), file=sys.stderr)
    detections = _run(decoder, arrays, plan_file, as_json=options.json)
    if picture is not None and options.draw is not None:
        _draw(picture, options.draw, detections, plan_file)


def _has_pillow() -> bool:
    return importlib.util.find_spec("PIL") is not None


def _picture(path: Path) -> Image:
    from boxdecode._draw import read_upright

    try:
        return read_upright(path)
    except FileNotFoundError:
        raise
    # A picture that is damaged, or too large for Pillow's taste, raises nearly anything.
    except Exception as error:
        raise UserError(f"{path} is no image that Pillow can read: {error}") from error


def _run(
    decoder: Decoder, arrays: Sequence[npt.NDArray[Any]], plan_file: PlanFile, *, as_json: bool
) -> Detections:
    """Decodes the frame, measures it, prints the result."""
    detections = decoder(arrays)
    seconds = []
    for _ in range(TIMED_CALLS):
        start = time.perf_counter()
        decoder(arrays)
        seconds.append(time.perf_counter() - start)
    microseconds = 1e6 * statistics.median(seconds)
    print(
        _as_json(detections, plan_file, microseconds)
        if as_json
        else _as_table(detections, plan_file, microseconds)
    )
    return detections


def _as_json(detections: Detections, plan_file: PlanFile, microseconds: float) -> str:
    found = []
    for detection in detections:
        entry = detection._replace(mask=None).to_dict()
        first = {
            "class_id": detection.class_id,
            "class_name": plan_file.class_name(detection.class_id),
            "score": entry["score"],
        }
        found.append(first | entry)
    return json.dumps(
        {"detections": found, "microseconds_per_frame": round(microseconds, 1)}, allow_nan=False
    )


def _as_table(detections: Detections, plan_file: PlanFile, microseconds: float) -> str:
    rows: list[tuple[str, ...]] = [("class", "score", "x", "y", "width", "height")]
    for detection in detections:
        name = plan_file.class_name(detection.class_id)
        rows.append((name, f"{detection.score:.3f}", *(str(number) for number in detection.box)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    lines.append(
        f"{len(detections)} detections, {microseconds:.1f} microseconds per frame"
        f" (median of {TIMED_CALLS} calls)"
    )
    return "\n".join(lines)


def _draw(picture: Image, out: Path, detections: Detections, plan_file: PlanFile) -> None:
    from boxdecode._draw import draw_detections

    try:
        draw_detections(picture, detections, plan_file).save(out)
    except ValueError as error:  # Pillow's way to say that it does not know the file's ending
        raise UserError(f"{out}: {error}") from error
    print(f"boxes drawn: {out}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
