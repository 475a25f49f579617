"""What all tests share: properties are tried on the same examples every time.

``HYPOTHESIS_PROFILE=explore`` tries new ones, to look for what nobody has thought of.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
