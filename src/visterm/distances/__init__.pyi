from .base_distances import PRECOMPUTED as PRECOMPUTED
from .base_distances import WEIGHABLE as WEIGHABLE
from .base_distances import BaseDistances as BaseDistances
from .base_distances import Tables as Tables
from .base_distances import as_given as as_given
from .base_distances import means_of_rows as means_of_rows
from .base_distances import select as select
from .base_distances import weighted_sum as weighted_sum
from .metrics import METRICS as METRICS
from .metrics import Metric as Metric
from .metrics import automatic_metric as automatic_metric
from .metrics import metric_named as metric_named
from .nearest_rows import BLOCK_BYTES as BLOCK_BYTES
from .nearest_rows import nearest as nearest

__all__ = [
    "BLOCK_BYTES",
    "METRICS",
    "PRECOMPUTED",
    "WEIGHABLE",
    "BaseDistances",
    "Metric",
    "Tables",
    "as_given",
    "automatic_metric",
    "means_of_rows",
    "metric_named",
    "nearest",
    "select",
    "weighted_sum",
]
