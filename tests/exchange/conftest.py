"""Makes the builders of labelled pictures importable, which tests use before any fixture exists."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
