"""Makes the sample that `boxdecode demo` decodes: raw heads of a real detector for a drawn picture.

    pip install ddddocr==1.6.1 onnx onnxruntime pillow
    python tools/make_sample.py python/boxdecode/data

The detector is common_det.onnx of the PyPI wheel ddddocr 1.6.1 (MIT licence): a YOLOX with one
class, here called "character", for 416 x 416 pixels. Its graph ends with sigmoids and a
concatenation; the heads are taken before those, as float32 [1, C, H, W], just as ONNX Runtime gives
them. Only heads are stored, no weights.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

# Not part of any environment of this project, so type checkers need not find them.
onnx: Any = importlib.import_module("onnx")
onnxruntime: Any = importlib.import_module("onnxruntime")

MODEL_SIDE = 416
STRIDES = (8, 16, 32)


def draw_picture() -> Image.Image:
    """A picture like a captcha: turned characters of many colours and sizes, lines and dots."""
    chance = random.Random(20)
    picture = Image.new("RGB", (560, 320), (236, 240, 244))
    pen = ImageDraw.Draw(picture)
    for _ in range(14):
        ends = [(chance.randrange(560), chance.randrange(320)) for _ in range(2)]
        pen.line(ends, fill=tuple(chance.randrange(150, 220) for _ in range(3)), width=2)
    for _ in range(300):
        x, y = chance.randrange(560), chance.randrange(320)
        pen.ellipse((x, y, x + 2, y + 2), fill=tuple(chance.randrange(120, 220) for _ in range(3)))
    for index, character in enumerate("B7KXR4MAE9"):
        side = chance.randrange(54, 84)
        tile = Image.new("RGBA", (2 * side, 2 * side), (0, 0, 0, 0))
        ImageDraw.Draw(tile).text(
            (side, side),
            character,
            font=ImageFont.load_default(side),
            anchor="mm",
            fill=(*(chance.randrange(0, 140) for _ in range(3)), 255),
        )
        tile = tile.rotate(chance.uniform(-30, 30), resample=Image.Resampling.BICUBIC)
        x = 60 + (index % 5) * 110 + chance.randrange(-14, 15)
        y = 85 + (index // 5) * 150 + chance.randrange(-22, 23)
        picture.paste(tile, (x - side, y - side), tile)
    return picture.quantize(64).convert("RGB")


def model_input(picture: Image.Image) -> npt.NDArray[np.float32]:
    """BGR, 0..255, [1, 3, 416, 416]: aspect kept, at the top left, the rest grey."""
    ratio = min(MODEL_SIDE / picture.width, MODEL_SIDE / picture.height)
    size = (int(picture.width * ratio), int(picture.height * ratio))
    canvas = Image.new("RGB", (MODEL_SIDE, MODEL_SIDE), (114, 114, 114))
    canvas.paste(picture.resize(size, Image.Resampling.BILINEAR), (0, 0))
    bgr = np.asarray(canvas, dtype=np.float32)[:, :, ::-1]
    return np.ascontiguousarray(bgr.transpose(2, 0, 1)[np.newaxis])


def raw_head_names(model: Any) -> list[tuple[str, str, str]]:
    """(boxes, objectness, scores) of each level: what goes into its sigmoids and concatenation."""
    producer = {name: node for node in model.graph.node for name in node.output}
    levels = []
    for node in model.graph.node:
        if node.op_type != "Concat" or len(node.input) != 3:
            continue
        makers = [producer[name] for name in node.input]
        if [maker.op_type for maker in makers] == ["Conv", "Sigmoid", "Sigmoid"]:
            levels.append((node.input[0], makers[1].input[0], makers[2].input[0]))
    return levels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where sample.npz, sample.json and sample.png go")
    folder: Path = parser.parse_args().folder

    package = importlib.util.find_spec("ddddocr")
    if package is None or package.origin is None:
        parser.error("install ddddocr 1.6.1 first")
    model = onnx.load(Path(package.origin).with_name("common_det.onnx"))
    levels = raw_head_names(model)
    if len(levels) != len(STRIDES):
        raise SystemExit(f"expected {len(STRIDES)} levels in the graph, found {len(levels)}")
    names = [name for level in levels for name in level]
    del model.graph.output[:]
    model.graph.output.extend(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names
    )

    picture = draw_picture()
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    outputs = session.run(names, {session.get_inputs()[0].name: model_input(picture)})

    heads = {}
    inputs = []
    for index, output in enumerate(outputs):
        role = ("boxes", "objectness", "scores")[index % 3]
        name = f"{role}_{STRIDES[index // 3]}"
        _, channels, height, width = output.shape
        heads[name] = output.astype(np.float32)
        inputs.append(
            {
                "name": name,
                "shape": [1, height, width, channels],
                "dtype": "Float32",
                "layout": "Planar",
            }
        )
    plan = {
        "inputs": inputs,
        "profile": "YoloXV1",
        "heads": [
            {"boxes": 3 * level, "objectness": 3 * level + 1, "scores": 3 * level + 2}
            for level in range(len(STRIDES))
        ],
        "model_input_size": [MODEL_SIDE, MODEL_SIDE],
        "original_image_size": list(picture.size),
        "num_classes": 1,
        "max_detections": 100,
        "detection_threshold": 0.5,
        "nms_iou_threshold": 0.45,
        "score_activation": "Sigmoid",
        "resize": "TopLeftLetterbox",
        "class_names": ["character"],
    }
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / "sample.npz", **heads)
    text = json.dumps(plan, indent=1)
    (folder / "sample.json").write_text(text + "\n")
    picture.quantize(64).save(folder / "sample.png", optimize=True)
    for path in sorted(folder.glob("sample.*")):
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
