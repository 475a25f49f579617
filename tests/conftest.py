"""What all tests share: properties are tried on the same examples every time.

``HYPOTHESIS_PROFILE=explore`` tries new ones, to look for what nobody has thought of.
"""

from __future__ import annotations

import gc
import os
from concurrent.futures import Future

import pytest
from hypothesis import settings

# A forked process must not collect what it inherited: a network that nobody needs any more would wait for its threads,
# which do not exist there.
os.register_at_fork(before=gc.freeze, after_in_parent=gc.unfreeze)

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture
def far_workers(monkeypatch):
    """An engine whose workers get everything as bytes, as processes do, but are here; what was begun is listed."""
    from visterm.compute import clusters
    from visterm.compute.travelling import work

    begun = []

    def begin(self, shard):
        begun.append(shard)
        done = Future()
        done.set_result(work(self._key, self._file, shard))
        return done

    monkeypatch.setattr(clusters._Processes, "begin", begin)
    monkeypatch.setenv("VISTERM_ENGINE", "processes:2")
    return begun
