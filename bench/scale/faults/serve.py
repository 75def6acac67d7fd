"""A scheduler of Dask and some workers. Its processes import nothing else before they are asked to.

python -m bench.scale.faults.serve 2        prints the address, and ends when its standard input does.
"""

import sys


def main() -> None:
    """Serve until nobody listens."""
    import dask
    import distributed

    # A worker that says nothing is given up: by default after five minutes.
    dask.config.set({"distributed.worker.profile.enabled": False, "distributed.scheduler.worker-ttl": "10s"})
    options = {"n_workers": int(sys.argv[1]), "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
