"""Files of this machine as attachments of a message; an image that is not too large travels with its bytes.

Knows no model. Invariant: what is not an image, or too large, is named and sized and nothing more.
"""

import base64
import mimetypes
from pathlib import Path

from phasewalk.machine.text import storable
from phasewalk.machine.trigger import Attachment

IMAGE_BYTES = 5 * 1024 * 1024
"""Larger images are not shown to a model."""

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What models read."""


def attachment(path: Path) -> Attachment:
    """The file as an attachment; raises `OSError` when it cannot be read."""
    media_type = mimetypes.guess_type(path.name)[0] or ""
    size = path.stat().st_size
    url = path.absolute().as_uri()
    if media_type in IMAGES and size <= IMAGE_BYTES:
        url = f"data:{media_type};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
    return Attachment(storable(path.name), url, size, media_type)
