#!/bin/sh
# The table of machines, one of them in full with its sources, and a machine of your own, on paper so far: which of the
# two is better for a perceptron?
set -eu
out=${OUT:-.}
${HEADROOM:-headroom} machine list
${HEADROOM:-headroom} machine show h200
cat >"$out/mine.json" <<'END'
{"name": "mine", "title": "half the arithmetic, twice the memory rate", "kind": "gpu",
 "peak_flops": {"fp32": 33e12, "fp16": 495e12}, "launch": {"host_s": 2.4e-6},
 "levels": [{"name": "memory", "bytes": 150e9, "bytes_per_s": 9600e9}]}
END
${HEADROOM:-headroom} predict mlp --machine "h200,$out/mine.json" --batch 64
