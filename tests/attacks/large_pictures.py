"""Pictures of 30 and 200 megapixels: added, and made small, each in a process of its own; time and peak memory.

python tests/attacks/large_pictures.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from attack_harness import environment

SIZES = {30: (6720, 4480), 200: (17280, 11520)}
_MAKE = """
import sys; from PIL import Image; Image.MAX_IMAGE_PIXELS = None
Image.effect_noise((int(sys.argv[2]) // 8, int(sys.argv[3]) // 8), 60).resize((int(sys.argv[2]), int(sys.argv[3]))
    ).convert("RGB").save(sys.argv[1], quality=80)
"""
_NOTHING = "import sys, visterm; visterm.open(sys.argv[1], create=True).close()"
_ADD = "import sys, visterm; visterm.open(sys.argv[1]).add()"
_SMALL = """
import sys, visterm
photos = visterm.open(sys.argv[1])
picture = next(photos.catalogue.pictures())
photos.thumbnails.file(picture.sha256, "large", photos.catalogue.file_of(picture))
"""


def measured(code: str, *arguments: object) -> dict[str, float | str]:
    """Run Python code in a process of its own: processor seconds, peak memory in MB, and what it complained of."""
    with tempfile.TemporaryFile() as complaints:
        child = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)], env=environment(), stderr=complaints
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        complaints.seek(0)
        last = complaints.read().decode().strip().splitlines()[-1:]
    found = {"seconds": round(used.ru_utime + used.ru_stime, 1), "peak_mb": round(used.ru_maxrss / 1024)}
    return found | ({"refused": last[0]} if child.returncode else {})


def main() -> int:
    report: dict[str, object] = {}
    for megapixels, (width, height) in SIZES.items():
        with tempfile.TemporaryDirectory() as place:
            file = Path(place, "large.jpg")
            subprocess.run([sys.executable, "-c", _MAKE, str(file), str(width), str(height)], check=True)
            started = time.time()
            report[f"{megapixels} megapixels"] = {
                "file_mb": round(file.stat().st_size / 1e6, 1),
                "nothing": measured(_NOTHING, place),
                "add": measured(_ADD, place),
                "thumbnail": measured(_SMALL, place),
                "status": _state(place),
                "wall_seconds": round(time.time() - started, 1),
            }
    print(json.dumps(report, indent=1))
    return 0


def _state(folder: str) -> str:
    import visterm

    with visterm.open(folder) as photos:
        picture = next(photos.catalogue.pictures())
        return picture.reason or picture.state


if __name__ == "__main__":
    sys.exit(main())
