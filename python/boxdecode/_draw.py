"""Pictures of detections, for the command line. Needs Pillow (pip install 'boxdecode[cli]')."""

from __future__ import annotations

import colorsys
from pathlib import Path
from typing import TYPE_CHECKING

from boxdecode._decoder import Detections
from boxdecode.plan_file import PlanFile

if TYPE_CHECKING:
    from PIL.Image import Image


def class_colour(class_id: int) -> tuple[int, int, int]:
    """A strong colour; steps of the golden angle keep neighbouring classes apart."""
    red, green, blue = colorsys.hsv_to_rgb((0.02 + class_id * 0.381966) % 1.0, 0.9, 0.85)
    return round(255 * red), round(255 * green), round(255 * blue)


def draw_detections(image: Image, detections: Detections, plan_file: PlanFile) -> Image:
    """A copy of the image with boxes, labels and keypoints."""
    from PIL import ImageDraw, ImageFont

    picture = image.convert("RGB")
    pen = ImageDraw.Draw(picture)
    width = max(2, round(min(picture.size) / 200))
    font = ImageFont.load_default(max(11, round(min(picture.size) / 28)))
    for detection in reversed(list(detections)):
        colour = class_colour(detection.class_id)
        x1, y1, x2, y2 = detection.xyxy
        pen.rectangle((x1, y1, x2, y2), outline=colour, width=width)
        label = f"{plan_file.class_name(detection.class_id)} {detection.score:.2f}"
        left, top, right, bottom = pen.textbbox((0, 0), label, font=font)
        text_y = max(0, y1 - (bottom - top) - 4)
        pen.rectangle((x1, text_y, x1 + right - left + 4, text_y + bottom - top + 4), fill=colour)
        pen.text((x1 + 2 - left, text_y + 2 - top), label, fill=(255, 255, 255), font=font)
        if detection.keypoints is not None:
            for x, y, visibility in detection.keypoints.tolist():
                if visibility >= 0.5:
                    pen.ellipse((x - width, y - width, x + width, y + width), fill=colour)
    return picture


def read_upright(path: Path) -> Image:
    """The picture as it is shown: turned as its EXIF orientation says.

    What reads pictures for a network turns them as well (OpenCV, browsers), so boxes belong to the
    turned picture. Raises OSError, and whatever Pillow raises for a damaged file.
    """
    from PIL import Image, ImageOps

    with Image.open(path) as picture:
        upright = ImageOps.exif_transpose(picture)
        upright.load()
        return upright
