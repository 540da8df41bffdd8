"""Prometheus metrics, exported by Ray at each node's metrics port as `ray_morphorder_*`."""

from ray.util.metrics import Counter, Gauge

from evaluator.executor import ShardDone


class WorkerMetrics:
    """What a worker counts. Rates are the scraper's business: `rate(ray_morphorder_rows_total[1m])`."""

    def __init__(self) -> None:
        self.rows = Counter("morphorder_rows", "Distinct model inputs scored.")
        self.pieces = Counter("morphorder_pieces", "Pieces scored.")
        self.padded = Counter("morphorder_padded_pieces", "Pieces computed, padding included.")
        self.failed = Counter("morphorder_failed_rows", "Rows that could not be scored.")
        self.busy = Counter("morphorder_busy_seconds", "Seconds spent on shards.")

    def count(self, done: ShardDone) -> None:
        """Counts a finished shard. Ray's counters refuse zeros."""
        for counter, value in (
            (self.rows, done.rows),
            (self.pieces, done.pieces),
            (self.padded, done.padded_pieces),
            (self.failed, done.failed),
            (self.busy, done.wall_s),
        ):
            if value:
                counter.inc(value)


class DriverMetrics:
    """What the driver knows: shards still to do, and shards that lost their worker."""

    def __init__(self) -> None:
        self.queue = Gauge("morphorder_queued_shards", "Shards not yet scored.")
        self.lost = Counter("morphorder_lost_shards", "Shards whose worker died, retries included.")
