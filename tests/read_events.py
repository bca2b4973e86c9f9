"""Prints the events of a folder as TensorBoard itself reads them, as JSON. Needs pip's tensorboard only."""
import json
import logging
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

logging.disable(logging.WARNING)
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
events.Reload()
tags = events.Tags()


def histogram(h):
    return [h.min, h.max, h.num, h.sum, h.sum_squares, list(h.bucket_limit), list(h.bucket)]


print(json.dumps({
    "scalars": {t: [[e.step, e.value] for e in events.Scalars(t)] for t in tags["scalars"]},
    "histograms": {t: [[e.step, histogram(e.histogram_value)] for e in events.Histograms(t)]
                   for t in tags["histograms"]},
    "texts": {t: [[e.step, tensor_util.make_ndarray(e.tensor_proto).item().decode()] for e in events.Tensors(t)]
              for t in tags["tensors"]},
    "plugins": {t: events.SummaryMetadata(t).plugin_data.plugin_name for t in tags["tensors"]},
}))
