"""What a small network is: a module, its inputs, and how it is exported and trained."""

import dataclasses
from typing import Callable

from torch import nn


@dataclasses.dataclass
class Network:
    make: Callable[[], nn.Module]
    inputs: list  # of shapes; the first axis is the batch
    tokens: int = 0  # not 0: the inputs are integers below it
    opset: int = 17
    dynamo: bool = False  # by the newer exporter, which chooses its own operator set
    open_batch: bool = True
    folding: bool = True  # the exporter computes what depends on constants alone
    keep_norms: bool = False  # exported in training mode: batch normalisations stay apart from convolutions
    folded_norms: bool = False  # the exporter merges batch normalisations into convolutions
    fresh: bool = False  # initial values of PyTorch, many of them equal, instead of the formula's
    loss: str = "cross_entropy"  # of scores; "probabilities": of a softmax; "reconstruction" of the input
    lr: float = 0.05
    momentum: float = 0.875
    freeze: list = dataclasses.field(default_factory=list)  # buffers that a file cannot tell from parameters
    refused: str = ""  # part of headroom's message if it cannot train the network
    unreadable: str = ""  # the same if it cannot run it either
    rounded: str = ""  # numbers of the formula that the file holds in fp32, so that fp64 cannot agree fully


NETWORKS = {}


def add(name, make, *inputs, **options):
    assert name not in NETWORKS, name
    NETWORKS[name] = Network(make, list(inputs), **options)


def network(name, *inputs, **options):
    """Decorates a module without arguments."""

    def keep(kind):
        add(name, kind, *inputs, **options)
        return kind

    return keep
