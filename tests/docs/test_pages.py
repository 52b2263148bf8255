"""The pages: links and headings, examples, commands, and the worked numbers of each table."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import boxdecode
import contributing
import frames
import numpy as np
import pytest
from reference import layouts, numeric, priors, suppress

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
EXAMPLE = re.compile(r"<!-- test:python -->\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def outside_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def slug(heading: str) -> str:
    """The name that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def headings(page: Path) -> set[str]:
    text = outside_code(page.read_text(encoding="utf-8"))
    return {slug(found) for found in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def table(page: str, first_header: str) -> list[list[str]]:
    """The rows of the table whose first header cell is this."""
    found = re.search(
        rf"^\| {re.escape(first_header)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", read(page), re.MULTILINE
    )
    assert found is not None, f"{page} has no table that begins with {first_header}"
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in found[1].splitlines()]
    assert rows
    return rows


def numbers(text: str) -> list[float]:
    """Numbers with commas between thousands or blanks between numbers."""
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?", text)]


# ---- links, examples, commands ---------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = outside_code(page.read_text(encoding="utf-8"))
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in headings(target)):
            broken.append(link)
    assert broken == []


def python_examples() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        if page.name == "README.md":
            continue  # tests/python runs that one
        for index, code in enumerate(EXAMPLE.findall(page.read_text(encoding="utf-8"))):
            yield f"{page.name}-{index}", code


EXAMPLES = dict(python_examples())


def test_there_are_examples() -> None:
    assert {name.split("-")[0] for name in EXAMPLES} == {"faq.md"}


@pytest.mark.native
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_print_their_comments(name: str) -> None:
    code = EXAMPLES[name]
    expected = re.findall(r"^ *print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert expected
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == expected


def test_presets_and_legs_exist() -> None:
    page = read("CONTRIBUTING.md")
    presets = {one["name"] for one in json.loads(read("CMakePresets.json"))["configurePresets"]}
    named = set(re.findall(r"--preset (\w+)", page))
    for cell in re.findall(r"presets? ((?:`\w+`(?:, )?)+)", page):
        named |= set(re.findall(r"`(\w+)`", cell))
    assert {"dev", "release", "asan", "arm"} <= named <= presets
    legs = re.findall(r"\.ci/run (\w+)", page)
    assert legs
    for leg in legs:
        assert f"leg_{leg}()" in read(".ci/run")


def test_paths_exist() -> None:
    """What CONTRIBUTING names in backquotes and looks like a path of this repository is one."""
    page = outside_code(read("CONTRIBUTING.md"))
    pattern = r"`((?:cpp|tests|tools|docs|python|bench|cmake)/[\w./-]*|\.\w[\w./-]+|…/\w+/)`"
    paths = re.findall(pattern, page)
    assert len(paths) > 15
    missing = [
        path
        for path in paths
        if not (ROOT / path.replace("…", "cpp/src/boxdecode")).exists() and "NAME" not in path
    ]
    assert missing == []


def test_the_changelog_names_the_version() -> None:
    found = re.search(r"project\(SimaKernels VERSION ([\d.]+)", read("CMakeLists.txt"))
    assert found is not None
    assert re.search(rf"^## .*\b{re.escape(found[1])}\b", read("CHANGELOG.md"), re.MULTILINE)


# ---- docs/catalogue.md -----------------------------------------------------------------------


def catalogue_section(profile: str) -> str:
    found = re.search(
        rf"^## {profile}$(.*?)(?=^## |\Z)", read("docs/catalogue.md"), re.DOTALL | re.MULTILINE
    )
    assert found is not None, f"the catalogue has no section {profile}"
    return found[1]


def test_the_catalogue_has_every_profile_of_the_package_and_no_other() -> None:
    sections = re.findall(r"^## (\w+)$", read("docs/catalogue.md"), re.MULTILINE)
    assert sections == [profile.name for profile in boxdecode.Profile]
    rows = table("docs/catalogue.md", "profile")
    assert [row[0] for row in rows] == [f"[{name}](#{name.lower()})" for name in sections]
    readme = [re.findall(r"`(\w+)`", row[0]) for row in table("README.md", "profile")]
    assert sorted(name for names in readme for name in names) == sorted(sections)


@pytest.mark.parametrize("profile", frames.TASKS)
def test_the_catalogue_has_the_tasks_that_are_tested(profile: str) -> None:
    found = re.search(r" Tasks: ([\w, ]+)\.\n", catalogue_section(profile))
    assert found is not None
    assert tuple(found[1].split(", ")) == frames.TASKS[profile]


@pytest.mark.parametrize("task", ["Pose", "Segmentation"])
def test_readme_says_which_profiles_have_a_task(task: str) -> None:
    found = re.search(rf"\b{task}: (.*?)\.(?:\s|$)", read("README.md").replace("\n", " "))
    assert found is not None
    named = set(re.findall(r"`(\w+)`", found[1]))
    if "these" in found[1]:
        named |= {name for name, tasks in frames.TASKS.items() if "Pose" in tasks}
    assert named == {name for name, tasks in frames.TASKS.items() if task in tasks}


ITEMS = (
    *("Heads", "Grid", "Anchors a cell", "Channel order", "Box", "Score", "Activation"),
    *("Background", "Classes", "Suppression", "Default resize", "Layout rules", "Sources"),
)


@pytest.mark.parametrize("profile", frames.TASKS)
def test_every_section_is_complete(profile: str) -> None:
    section = catalogue_section(profile)
    for item in ITEMS:
        assert re.search(rf"^- \*\*{item}\*\*: .+\.$", section, re.MULTILINE), item
    assert len(re.findall(r"^- [^*]", section.split("Exports that fit:")[1], re.MULTILINE)) >= 1
    assert len(re.findall(r"^\| .* \|$", section.split("do not fit:")[1], re.MULTILINE)) >= 3


def prior_rows(profile: str) -> tuple[int, list[list[str]]]:
    found = re.search(
        r"^Priors at \d+x\d+: (\d+)\n\n.*\n.*\n((?:\|.*\n)+)",
        catalogue_section(profile),
        re.MULTILINE,
    )
    assert found is not None
    return int(found[1]), [
        [cell.strip() for cell in row.strip("|").split("|")] for row in found[2].splitlines()
    ]


@pytest.mark.parametrize(
    ("profile", "side", "count"),
    [
        ("Ssd300V1", 300, 8732),
        ("SsdMobile300V1", 300, 1917),
        ("SsdMobile320V1", 320, 2034),
        ("SsdLiteMobile320V1", 320, 3234),
    ],
)
def test_ssd_priors_are_those_of_the_reference(profile: str, side: int, count: int) -> None:
    total, rows = prior_rows(profile)
    assert total == count
    for level, row in enumerate(rows):
        anchors = int(row[2])
        expected = priors.ssd_priors(profile, level)[:anchors] * np.float32(side)
        assert float(row[3]) == pytest.approx(float(expected[0, 0]), rel=1e-5)
        sizes = np.array([size.split("×") for size in row[4].split(", ")], dtype=np.float64)
        assert sizes == pytest.approx(expected[:, 2:], rel=1e-5)


def test_efficientdet_and_proposal_anchors_are_those_of_the_reference() -> None:
    _, rows = prior_rows("EfficientDetV1")
    for row, grid in zip(rows, (64, 32, 16, 8, 4), strict=True):
        expected = priors.efficientdet_anchors(grid, grid, 512, 512, 4.0)[:9]
        sizes = np.array([size.split("×") for size in row[4].split(", ")], dtype=np.float64)
        assert sizes == pytest.approx(expected[:, 2:], rel=1e-5)
        assert float(row[3]) == expected[0, 0]
    _, rows = prior_rows("RcnnStage1V1")
    for row, level in zip(rows, priors.RCNN, strict=True):
        shown = [tuple(map(float, size.split("×"))) for size in row[4].split(", ")]
        assert shown == [tuple(size) for size in level]


@pytest.mark.parametrize("profile", ["Yolo5V1", "Yolo7V1"])
def test_anchor_tables_are_those_of_the_reference(profile: str) -> None:
    found = re.findall(
        r"^\| ([34]) \| [\d, ]+ \| (.*) \|$", catalogue_section(profile), re.MULTILINE
    )
    assert [heads for heads, _ in found] == ["3", "4"]
    for heads, cell in found:
        shown = [
            [tuple(map(float, size.split("×"))) for size in head.split(", ")]
            for head in cell.split("; ")
        ]
        expected = priors.yolo_anchors(profile, int(heads))
        assert expected is not None
        assert shown == [[tuple(size) for size in head] for head in expected]


# ---- docs/layouts.md -------------------------------------------------------------------------


def heat_map_bytes(spec: boxdecode.TensorSpec, quantized: bool) -> int:
    """What the library wants of a port that takes any number of channels."""
    height, width, channels = spec.shape
    pair = boxdecode.TensorSpec((height, width, 2), boxdecode.DType.Float32)
    plan = boxdecode.Plan(
        inputs=[pair, spec, pair],
        profile=boxdecode.Profile.CenterNetV1,
        heads=[(0, 1, None, 2)],
        model_input_size=(64, 64),
        original_image_size=(64, 64),
        num_classes=channels,
        max_detections=1,
        detection_threshold=0.5,
        nms_iou_threshold=0.5,
        score_activation=boxdecode.ScoreActivation.Identity,
        quantization={1: (1.0, 0)} if quantized else {},
    )
    return plan.required_bytes(1)


def test_blocked_check_values() -> None:
    rows = [row for row in table("docs/layouts.md", "type") if len(row) == 6]
    assert len(rows) == 7
    asked = 0
    for kind, shape, tile, size, element, places in rows:
        dtype = {"INT8": "Int8", "BF16": "BFloat16"}[kind]
        height, width, channels = (int(side) for side in shape.split("x"))
        sides = (height, width, channels)
        tile_h, tile_w, tile_c = (int(side) for side in tile.split("x"))
        blocked = layouts.MlaCBlocked(tile_h, tile_w, tile_c)
        assert layouts.required_bytes(sides, dtype, blocked) == int(size)
        if tile_c % 16 == 0 or tile_c >= channels:  # other tiles are for SSD alone
            layout = boxdecode.MlaCBlocked(tile_h, tile_w, tile_c)
            spec = boxdecode.TensorSpec(sides, boxdecode.DType[dtype], layout)
            assert heat_map_bytes(spec, kind == "INT8") == int(size)
            asked += 1
        if element:
            h, w, c = (int(one) for one in numbers(element))
            expected = layouts.blocked_byte_offsets(sides, dtype, blocked, h, w, c)
            assert tuple(int(place) for place in numbers(places)) == expected
    assert asked == 6


def test_the_strides_of_the_example_are_admitted() -> None:
    found = re.search(r"shape (\([\d, ]+\)): strides (\([\d, ]+\))", read("docs/layouts.md"))
    assert found is not None
    shape, strides = ([int(one) for one in numbers(part)] for part in found.groups())
    plan = boxdecode.Plan(
        inputs=[
            boxdecode.TensorSpec((*shape[:3], 4), boxdecode.DType.Float32),
            boxdecode.TensorSpec(shape, boxdecode.DType.Float32, boxdecode.Strided(strides)),
        ],
        profile=boxdecode.Profile.Yolo26V1,
        heads=[(0, 1)],
        model_input_size=(640, 640),
        original_image_size=(640, 640),
        num_classes=shape[3],
        max_detections=1,
        detection_threshold=0.5,
        nms_iou_threshold=0.5,
        score_activation=boxdecode.ScoreActivation.Sigmoid,
    )
    assert plan.required_bytes(1) == 4 * 80 * 80 * 96


# ---- docs/numerics.md ------------------------------------------------------------------------


def test_threshold_table() -> None:
    page = read("docs/numerics.md")
    found = re.search(r"^\| threshold \| (.*) \|\n\|[-|]+\|\n\| T \| (.*) \|$", page, re.MULTILINE)
    assert found is not None
    thresholds, expected = (numbers(part) for part in found.groups())
    assert len(thresholds) == len(expected) == 9
    assert [suppress.threshold_256(threshold) for threshold in thresholds] == expected
    acts = re.findall(r"(0\.\d+) as (0\.\d+)", page)
    assert len(acts) == 4
    for threshold, as_if in acts:
        assert (suppress.threshold_256(float(threshold)) + 1) / 256 == pytest.approx(
            float(as_if), abs=5e-5
        )


def test_overlap_table() -> None:
    rows = table("docs/numerics.md", "box A")
    assert len(rows) == 4
    for first, second, inter, union, iou in rows:
        corners = np.array([numbers(first), numbers(second)], dtype=np.float32)
        rounded = numeric.round_half_away(corners)
        area = numeric.round_half_away(suppress.box_areas(corners))
        low = np.maximum(rounded[0, :2], rounded[1, :2])
        high = np.minimum(rounded[0, 2:], rounded[1, 2:])
        expected = int(np.prod(np.maximum(high - low, 0)))
        assert int(inter) == expected
        assert int(union) == int(area.sum()) - expected
        got = suppress.iou_256(rounded[0], area[0], rounded[1:], area[1:])
        assert int(iou) == int(got[0])


def mapping_of(image: tuple[int, int], model: tuple[int, int]) -> list[float]:
    """The shifts and factors that a plan reports for a centred letterbox."""
    spec = boxdecode.TensorSpec((1, 1, 4), boxdecode.DType.Float32)
    plan = boxdecode.Plan(
        inputs=[spec, boxdecode.TensorSpec((1, 1, 1), boxdecode.DType.Float32)],
        profile=boxdecode.Profile.Yolo26V1,
        heads=[(0, 1)],
        model_input_size=model,
        original_image_size=image,
        num_classes=1,
        max_detections=1,
        detection_threshold=0.5,
        nms_iou_threshold=0.5,
        score_activation=boxdecode.ScoreActivation.Sigmoid,
    )
    found = re.search(
        r"x = \(x - (\S+)\) \* ([^,\s]+), y = \(y - (\S+)\) \* (\S+)", plan.describe()
    )
    assert found is not None
    return [float(one) for one in found.groups()]


def test_letterbox_table() -> None:
    rows = table("docs/numerics.md", "image")
    assert len(rows) == 4
    for image, model, content, pads in rows:
        (ow, oh), (mw, mh), (sw, sh) = (
            [int(side) for side in cell.split("x")] for cell in (image, model, content)
        )
        side, pad = pads.split()
        left, factor_x, top, factor_y = mapping_of((ow, oh), (mw, mh))
        assert (left, top) == ((float(pad), 0) if side == "left" else (0, float(pad)))
        assert factor_x == pytest.approx(ow / sw, rel=1e-6)
        assert factor_y == pytest.approx(oh / sh, rel=1e-6)


# ---- CONTRIBUTING.md -------------------------------------------------------------------------


@pytest.mark.native
def test_the_reference_of_the_example_family_decodes_its_frame(tmp_path: Path) -> None:
    """The C++ half of the example is built by ctest (tests/cpp/family_example)."""
    for folder in ("reference", "conformance"):
        shutil.copytree(ROOT / "tests" / folder, tmp_path / "tests" / folder)
    contributing.apply_group(read("CONTRIBUTING.md"), tmp_path, "reference")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "from_the_corner",
    ]
    command += ["-c", "/dev/null", "--rootdir", str(tmp_path)]
    command += [str(tmp_path / "tests" / "conformance" / "test_reference_decode.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_hunks_that_no_longer_fit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\ntwo\n")
    page = "<!-- family:x -->\n```diff\n--- a.txt\n {}\n+new\n```\n"
    with pytest.raises(ValueError, match="has 0 places"):
        contributing.apply_group(page.format("three"), tmp_path, "x")
    with pytest.raises(ValueError, match="has 2 places"):
        contributing.apply_group(page.format("two"), tmp_path, "x")
    with pytest.raises(ValueError, match="no block of the group y"):
        contributing.apply_group(page.format("one"), tmp_path, "y")
    contributing.apply_group(page.format("one"), tmp_path, "x")
    assert (tmp_path / "a.txt").read_text() == "one\nnew\ntwo\ntwo\n"
