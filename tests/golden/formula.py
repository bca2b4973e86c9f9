"""Numbers from integer arithmetic, and digests of tensors: the same as golden.h in C++. README.md beside this
file describes both."""

import json
import math

import numpy as np
import torch

MASK = 0xFFFFFFFF


def mix(h):
    """Spreads the high bits of a Weyl sequence over the word; h is an array of uint64 below 2^32."""
    h = h ^ (h >> np.uint64(15))
    h = (h * np.uint64(2246822519)) & np.uint64(MASK)
    return h ^ (h >> np.uint64(13))


def unit(tensor, elements):
    """Values in [-1, 1) of the given elements (uint64) of a tensor."""
    h = (elements * np.uint64(2654435761) + np.uint64(tensor * 40503 + 12345)) & np.uint64(MASK)
    return (mix(h).astype(np.float64) / 2.0**32 - 0.5) * 2.0


def units(tensor, shape):
    return torch.from_numpy(unit(tensor, np.arange(math.prod(shape), dtype=np.uint64)).reshape(shape))


def labels(count, classes, first=0):
    h = (np.arange(first, first + count, dtype=np.uint64) * np.uint64(7) + np.uint64(3)) & np.uint64(MASK)
    return (mix(h) % np.uint64(classes)).astype(np.int64)


def parameter(tensor, shape):
    scale = 0.1 if len(shape) == 1 else 1.0 / math.sqrt(math.prod(shape[1:]))
    return units(tensor, shape) * scale


def digest(values):
    """A tensor in 24 numbers: enough to detect any wrong element, and to show a few."""
    flat = values.detach().numpy().reshape(-1)
    n = flat.size
    weights = np.cos(0.37 * np.arange(n, dtype=np.float64) + 0.1)
    return {
        "n": n,
        "sum": math.fsum(flat),
        "sum_of_squares": math.fsum(flat * flat),
        "weighted": math.fsum(flat * weights),
        "first": flat[:4].tolist(),
        "samples": [float(flat[k * (n - 1) // 15]) for k in range(16)],
    }


def digests(named_tensors):
    return {name: digest(tensor) for name, tensor in named_tensors}


def is_leaf(value):
    """True if a value goes on one line: a number, a list, or a record of them such as a digest."""
    return not isinstance(value, dict) or not any(isinstance(v, dict) for v in value.values())


def write_lines(value, indent=0):
    """JSON, one tensor per line. Floats are written by repr: the shortest text that reads back equal."""
    if is_leaf(value):
        return json.dumps(value, separators=(",", ":"))
    pad = " " * (indent + 1)
    rows = [f"{pad}{json.dumps(key)}: {write_lines(item, indent + 1)}" for key, item in value.items()]
    return "{\n" + ",\n".join(rows) + "\n" + " " * indent + "}"
