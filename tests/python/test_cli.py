"""The command line: the demo, heads of one's own, and what it says when something is wrong."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import boxdecode
import numpy as np
import pytest
from boxdecode import cli
from PIL import Image

DATA = Path(boxdecode.__file__).with_name("data")


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit status, standard output, standard error."""
    status = cli.main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def demo_boxes() -> list[tuple[float, list[float]]]:
    """The sample's detections, decoded here in NumPy: best first, (score, x1, y1, x2, y2)."""
    plan = json.loads((DATA / "sample.json").read_text())
    model, image = plan["model_input_size"], plan["original_image_size"]
    gain = min(model[0] / image[0], model[1] / image[1])
    found: list[tuple[float, list[float]]] = []
    with np.load(DATA / "sample.npz") as heads:
        for stride in (8, 16, 32):
            raw = {
                role: heads[f"{role}_{stride}"][0].astype(np.float64)
                for role in ("boxes", "objectness", "scores")
            }
            score = 1 / (1 + np.exp(-raw["objectness"][0])) / (1 + np.exp(-raw["scores"][0]))
            for y, x in zip(*np.nonzero(score >= plan["detection_threshold"]), strict=True):
                dx, dy, w, h = raw["boxes"][:, y, x]
                centre_x, centre_y = (dx + x) * stride, (dy + y) * stride
                half_w, half_h = np.exp(w) * stride / 2, np.exp(h) * stride / 2
                corners = [
                    centre_x - half_w,
                    centre_y - half_h,
                    centre_x + half_w,
                    centre_y + half_h,
                ]
                found.append((float(score[y, x]), [float(corner / gain) for corner in corners]))
    kept: list[tuple[float, list[float]]] = []
    for score, box in sorted(found, key=lambda item: -item[0]):
        if all(overlap(box, other) <= plan["nms_iou_threshold"] for _, other in kept):
            kept.append((score, box))
    return kept


def overlap(a: list[float], b: list[float]) -> float:
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
    return width * height / union


def test_demo_prints_what_an_independent_decode_finds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "demo.png"
    status, text, errors = run(capsys, "demo", "--out", out)
    assert status == 0
    lines = text.splitlines()
    assert lines[0].split() == ["class", "score", "x", "y", "width", "height"]
    expected = demo_boxes()
    assert len(expected) >= 8
    rows = [line.split() for line in lines[1:-1]]
    assert len(rows) == len(expected)
    for (name, score, *box), (wanted_score, (x1, y1, x2, y2)) in zip(rows, expected, strict=True):
        assert name == "character"
        assert abs(float(score) - wanted_score) <= 0.0006  # three decimals are printed
        x, y, width, height = (int(number) for number in box)
        # Rounded corners, and the integer content size of the resize: 416 x 237 for 416 x 237.71.
        np.testing.assert_allclose([x, y, x + width, y + height], [x1, y1, x2, y2], atol=1.5)
    pattern = rf"{len(expected)} detections, [\d.]+ microseconds per frame \(median of \d+ calls\)"
    assert re.fullmatch(pattern, lines[-1])
    assert str(out) in errors
    with Image.open(out) as picture, Image.open(DATA / "sample.png") as sample:
        assert picture.size == sample.size
        assert np.any(np.asarray(picture.convert("RGB")) != np.asarray(sample.convert("RGB")))


def test_demo_without_pillow_still_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "PIL" else find_spec(name)
    )
    out = tmp_path / "demo.png"
    status, text, errors = run(capsys, "demo", "--out", out)
    assert status == 0
    assert "detections" in text
    assert "pip install 'boxdecode[cli]'" in errors
    assert not out.exists()


def test_the_table_shows_the_whole_picture_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text, _ = run(capsys, "demo", "--json", "--out", tmp_path / "demo.png")
    assert status == 0
    result = json.loads(text)
    assert len(result["detections"]) == len(demo_boxes())
    first = result["detections"][0]
    assert set(first) == {"class_id", "class_name", "score", "box"}
    assert (first["class_id"], first["class_name"]) == (0, "character")
    assert len(first["box"]) == 4
    assert result["microseconds_per_frame"] > 0


def write_frame(folder: Path, **changes: Any) -> tuple[Path, Path]:
    """A plan file and heads with one detection: class 2, box 8, 8, 32, 32 of a 128 x 64 image."""
    plan: dict[str, Any] = {
        "inputs": [
            {"shape": [4, 8, 4], "dtype": "Float32", "name": "boxes"},
            {"shape": [4, 8, 3], "dtype": "Float32", "name": "scores"},
        ],
        "profile": "Yolo26V1",
        "heads": [[0, 1]],
        "model_input_size": [64, 32],
        "original_image_size": [128, 64],
        "num_classes": 3,
        "max_detections": 5,
        "detection_threshold": 0.25,
        "nms_iou_threshold": 0.5,
        "score_activation": "Identity",
    }
    plan |= changes
    (folder / "plan.json").write_text(json.dumps(plan))
    boxes, scores = np.ones((4, 8, 4), np.float32), np.zeros((4, 8, 3), np.float32)
    scores[1, 1, 2] = 0.5
    np.savez(folder / "heads.npz", boxes=boxes, scores=scores)
    return folder / "plan.json", folder / "heads.npz"


def test_decode_prints_a_frame_of_ones_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, heads = write_frame(tmp_path)
    status, text, errors = run(capsys, "decode", heads, "--plan", plan)
    assert status == 0
    assert text.splitlines()[1].split() == ["2", "0.500", "8", "8", "32", "32"]
    assert errors == ""
    plan, heads = write_frame(tmp_path, class_names=["a", "b", "small cat"])
    status, text, errors = run(capsys, "decode", heads, "--plan", plan, "--describe")
    assert "small cat" in text
    assert "Yolo26V1" in errors


def test_decode_uses_the_size_of_the_image_and_draws_on_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, heads = write_frame(tmp_path)
    Image.new("RGB", (256, 128), (10, 20, 30)).save(tmp_path / "frame.png")
    out = tmp_path / "out.png"
    status, text, _ = run(
        capsys, "decode", heads, "--plan", plan, "--image", tmp_path / "frame.png", "--draw", out
    )
    assert status == 0
    assert text.splitlines()[1].split() == ["2", "0.500", "16", "16", "64", "64"]
    with Image.open(out) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    assert pixels.shape == (128, 256, 3)
    assert tuple(pixels[79, 40]) != (10, 20, 30)
    assert tuple(pixels[60, 60]) == (10, 20, 30)


def test_decode_takes_one_array_of_a_one_tensor_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, _ = write_frame(
        tmp_path,
        inputs=[{"shape": [1, 10, 7], "dtype": "Float32", "layout": "Planar"}],
        profile="YoloDecodedV1",
        heads=[[0, 0]],
        original_image_size=[64, 32],
    )
    export = np.zeros((1, 7, 10), np.float32)
    export[0, :, 3] = [20, 16, 10, 12, 0.25, 0, 0.5]
    np.save(tmp_path / "export.npy", export)
    status, text, _ = run(capsys, "decode", tmp_path / "export.npy", "--plan", plan)
    assert status == 0
    assert text.splitlines()[1].split() == ["2", "0.500", "15", "10", "10", "12"]


def failures(folder: Path) -> dict[str, tuple[list[object], list[str]]]:
    plan, heads = write_frame(folder)
    (folder / "typo.json").write_text(plan.read_text().replace("num_classes", "num_class"))
    (folder / "enum.json").write_text(plan.read_text().replace("Yolo26V1", "Yolo26"))
    (folder / "shape.json").write_text(plan.read_text().replace("[4, 8, 3]", "[4, 8, 5]"))
    (folder / "names.json").write_text(plan.read_text().replace('"scores"', '"score"'))
    (folder / "text.npz").write_text("no heads")
    np.savez(folder / "wide.npz", boxes=np.zeros((4, 8, 4)), scores=np.zeros((4, 8, 3)))
    np.savez(folder / "turned.npz", boxes=np.zeros((4, 4, 8), "f"), scores=np.zeros((4, 8, 3), "f"))
    np.savez(folder / "objects.npz", boxes=np.array([{}]), scores=np.zeros((4, 8, 3), "f"))
    Image.new("RGB", (8, 8)).save(folder / "frame.png")
    return {
        "key": ([heads, "--plan", folder / "typo.json"], ["typo.json", "'num_classes'?"]),
        "enum": ([heads, "--plan", folder / "enum.json"], ["enum.json", "did you mean 'Yolo26V1'"]),
        "shape": ([heads, "--plan", folder / "shape.json"], ["inputs[1]", "5 channels", "3"]),
        "names": ([heads, "--plan", folder / "names.json"], ["no array 'score'", "boxes, scores"]),
        "no plan": ([heads, "--plan", folder / "none.json"], ["none.json"]),
        "no heads": ([folder / "none.npz", "--plan", plan], ["none.npz"]),
        "no arrays": ([folder / "text.npz", "--plan", plan], ["text.npz", "no .npz"]),
        "objects": ([folder / "objects.npz", "--plan", plan], ["objects.npz", "no .npz"]),
        "dtype": ([folder / "wide.npz", "--plan", plan], ["inputs[0]", "float64", "float32"]),
        "order": ([folder / "turned.npz", "--plan", plan], ["inputs[0]", "Planar()"]),
        "draw alone": ([heads, "--plan", plan, "--draw", folder / "x.png"], ["--image"]),
        "no image": ([heads, "--plan", plan, "--image", folder / "n.png"], ["n.png"]),
        "image": ([heads, "--plan", plan, "--image", folder / "text.npz"], ["no image"]),
        "ending": (
            [heads, "--plan", plan, "--image", folder / "frame.png", "--draw", folder / "x.abc"],
            ["x.abc"],
        ),
    }


@pytest.mark.parametrize(
    "name",
    ["key", "enum", "shape", "names", "no plan", "no heads", "no arrays", "objects", "dtype",
     "order", "draw alone", "no image", "image", "ending"],
)  # fmt: skip
def test_mistakes_get_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    arguments, parts = failures(tmp_path)[name]
    status, _, errors = run(capsys, "decode", *arguments)
    assert status == 2
    assert errors.startswith("boxdecode: ")
    assert errors.count("\n") == 1
    for part in parts:
        assert part in errors


@pytest.mark.native
def test_the_module_runs_as_a_program(tmp_path: Path) -> None:
    for arguments, status, part in (
        (["--version"], 0, boxdecode.__version__),
        (["demo", "--out", str(tmp_path / "demo.png")], 0, "character"),
        ([], 2, "COMMAND"),
        (["decode", "x.npz", "--plan", "none.json"], 2, "none.json"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "boxdecode", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert part in done.stdout + done.stderr


def test_broken_archives_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, heads = write_frame(tmp_path)
    whole = heads.read_bytes()
    flipped = bytearray(whole)
    flipped[whole.index(b"NUMPY") + 200] ^= 1
    header = b"\x93NUMPY\x01\x00\x40\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': "
    contents = {
        "cut.npz": whole[:-40],
        "flipped.npz": bytes(flipped),
        "huge.npy": (header + b"(9" + b"9" * 11 + b",)}").ljust(74, b" "),
        "bracket.npy": (header + b"(1,").ljust(74, b" "),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        status, text, errors = run(capsys, "decode", tmp_path / name, "--plan", plan)
        assert (status, text) == (2, ""), name
        assert errors.startswith(f"boxdecode: {tmp_path / name} is no .npz or .npy file"), errors


def test_plans_beyond_every_limit_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, heads = write_frame(tmp_path)
    deep = "[" * 100_000 + "]" * 100_000
    ports = plan.read_text().replace("{", '{"quantization": {"' + "9" * 5000 + '": [1, 0]}, ', 1)
    for content in (deep, '{"num_classes": ' + "9" * 5000 + "}", ports):
        plan.write_text(content)
        status, text, errors = run(capsys, "decode", heads, "--plan", plan)
        assert (status, text) == (2, "")
        assert errors.startswith(f"boxdecode: {plan}: ")


def test_json_has_null_for_numbers_that_are_not_finite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("boxes", "scores", "keypoints")
    plan, heads = write_frame(
        tmp_path,
        inputs=[
            {"shape": [4, 8, channels], "dtype": "Float32", "name": name}
            for name, channels in zip(names, (4, 1, 3), strict=True)
        ],
        heads=[[0, 1, None, 2]],
        task="Pose",
        num_classes=1,
        num_keypoints=1,
    )
    arrays = [np.zeros((4, 8, channels), np.float32) for channels in (4, 1, 3)]
    arrays[0][1, 1], arrays[1][1, 1], arrays[2][1, 1] = 1, 0.5, [np.nan, 0, 0]
    np.savez(heads, **dict(zip(names, arrays, strict=True)))
    status, text, _ = run(capsys, "decode", heads, "--plan", plan, "--json")
    assert status == 0
    found = json.loads(text, parse_constant=lambda word: pytest.fail(word))["detections"]
    assert found[0]["keypoints"][0][0] is None
    assert found[0]["keypoints"][0][1] == 24


def test_a_turned_photo_is_taken_as_it_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """EXIF orientation 6: stored 640 x 480, shown a quarter turn clockwise, 480 x 640.

    The box is 4 to 20 in x and y of the 64 x 32 model. Stretched to what is shown that is times 7.5
    and times 20; to what is stored it would be times 10 and times 15.
    """
    plan, heads = write_frame(tmp_path, resize="Stretch")
    photo = tmp_path / "photo.jpg"
    stored = Image.new("RGB", (640, 480), (200, 0, 0))
    stored.paste((0, 0, 200), (0, 0, 320, 480))  # left half blue: shown it is the upper half
    exif = Image.Exif()
    exif[0x0112] = 6
    stored.save(photo, exif=exif, quality=95)
    out = tmp_path / "out.png"
    status, text, _ = run(
        capsys, "decode", heads, "--plan", plan, "--image", photo, "--draw", out, "--json"
    )
    assert status == 0
    assert json.loads(text)["detections"][0]["box"] == [30, 80, 120, 320]
    with Image.open(out) as picture:
        assert picture.size == (480, 640)
        pixels = np.asarray(picture.convert("RGB")).astype(int)
        assert picture.getexif().get(0x0112, 1) == 1  # viewers do not turn it again
    # JPEG changes colours a little.
    assert np.abs(pixels[160, 400] - (0, 0, 200)).max() < 9
    assert np.abs(pixels[480, 400] - (200, 0, 0)).max() < 9


def write_members(path: Path, members: dict[str, tuple[str, str, bytes]]) -> None:
    """A .npz of hand-made members: name to (type, shape, bytes behind the header)."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (dtype, shape, content) in members.items():
            text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
            header = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
            archive.writestr(name + ".npy", header + content)


def test_a_header_that_does_not_fit_stops_before_any_element(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small archive may unpack to gigabytes: no array is read until every header fits its port.

    Reading is counted, because the elements here are few: 1 x 7 x 4000 where 1 x 10 x 7 belongs.
    """
    plan, _ = write_frame(
        tmp_path,
        inputs=[{"shape": [1, 10, 7], "dtype": "Float32"}],
        profile="YoloDecodedV1",
        heads=[[0, 0]],
        original_image_size=[64, 32],
    )
    heads = tmp_path / "heads.npz"
    read: list[int] = []
    readinto = zipfile.ZipExtFile.readinto
    monkeypatch.setattr(
        zipfile.ZipExtFile,
        "readinto",
        lambda self, memory: read.append(len(memory)) or readinto(self, memory),
    )
    zeros = bytes(4 * 7 * 4000)
    for member, parts in (
        (("<f4", "(1, 7, 4000)", zeros), ["inputs[0]", "(1, 7, 4000)", "(10, 7)"]),
        (("<f8", "(1, 10, 7)", zeros[:560]), ["inputs[0]", "float64", "float32"]),
        ((">f4", "(1, 10, 7)", zeros[:280]), ["inputs[0]", ">f4"]),
        (("<f4", "(28000,)", zeros), ["inputs[0]", "exactly 400 times the 280 bytes"]),
        (("<f4", "(1, 10, 7)", zeros), ["heads.npz is no .npz", "280 bytes", "112000"]),
        (("<f4", "(1, 10, 7)", zeros[:279]), ["heads.npz is no .npz", "280 bytes", "279"]),
        (("<f4", "(1, 10, -7)", zeros[:280]), ["heads.npz is no .npz"]),
        (("|O", "(1, 10, 7)", zeros[:280]), ["heads.npz is no .npz", "objects"]),
    ):
        write_members(heads, {"export": member})
        status, text, errors = run(capsys, "decode", heads, "--plan", plan)
        assert (status, text, read) == (2, "", []), errors
        for part in parts:
            assert part in errors
    # Of a flat array that is longer by something else only a frame is read.
    write_members(heads, {"export": ("<f4", "(27999,)", zeros[:-4])})
    status, text, errors = run(capsys, "decode", heads, "--plan", plan)
    assert (status, read) == (0, [280]), errors


def test_members_that_no_input_names_are_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, heads = write_frame(tmp_path)
    with np.load(heads) as whole:
        arrays = dict(whole)
    np.savez(heads, more=np.array([{}]), **arrays)
    status, text, _ = run(capsys, "decode", heads, "--plan", plan)
    assert status == 0
    assert text.splitlines()[1].split() == ["2", "0.500", "8", "8", "32", "32"]


def test_two_arrays_in_one_file_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """numpy.save twice into one file: numpy.load gives the first array and not a word."""
    plan, _ = write_frame(
        tmp_path,
        inputs=[{"shape": [1, 10, 7], "dtype": "Float32"}],
        profile="YoloDecodedV1",
        heads=[[0, 0]],
    )
    path = tmp_path / "export.npy"
    with path.open("wb") as file:
        for _ in range(2):
            np.save(file, np.zeros((1, 10, 7), np.float32))
    status, text, errors = run(capsys, "decode", path, "--plan", plan)
    assert (status, text) == (2, "")
    assert "takes 280 bytes, but there are 688" in errors


def test_a_damaged_picture_gets_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, heads = write_frame(tmp_path)
    frame = tmp_path / "frame.png"
    noise = np.random.default_rng(3).integers(0, 256, (40, 40, 3), np.uint8)
    Image.fromarray(noise).save(frame)
    whole = frame.read_bytes()
    frame.write_bytes(whole[: len(whole) // 2])
    status, text, errors = run(capsys, "decode", heads, "--plan", plan, "--image", frame)
    assert (status, text, errors.count("\n")) == (2, "", 1)
    assert errors.startswith(f"boxdecode: {frame} is no image that Pillow can read: ")
    frame.write_bytes(whole)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 700)
    status, text, errors = run(capsys, "decode", heads, "--plan", plan, "--image", frame)
    assert (status, text, errors.count("\n")) == (2, "", 1)
    assert "frame.png is no image that Pillow can read: Image size" in errors


def test_a_plan_file_of_a_windows_editor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some editors begin UTF-8 files with a byte-order mark; it is no part of the JSON."""
    plan, heads = write_frame(tmp_path, class_names=["a", "b", "größe"])
    plan.write_bytes(b"\xef\xbb\xbf" + plan.read_bytes())
    status, text, errors = run(capsys, "decode", heads, "--plan", plan)
    assert (status, errors) == (0, "")
    assert text.splitlines()[1].split()[0] == "größe"
