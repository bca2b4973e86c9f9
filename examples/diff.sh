#!/bin/sh
# Trains the same network twice, the second time with another kernel for convolutions, and compares the two runs by
# layer and kernel. In CI, --fail-over 5% makes the last command fail if the step became slower by more.
set -eu
out=${OUT:-.}
${HEADROOM:-headroom} train lenet5 --train-size "${SIZE:-6000}" --test-size 500 --batch 16 \
  --record "$out/before.json" >/dev/null
${HEADROOM:-headroom} train lenet5 --train-size "${SIZE:-6000}" --test-size 500 --batch 16 \
  --kernel conv2d=cpu:im2col_gemm --record "$out/after.json" >/dev/null
${HEADROOM:-headroom} diff "$out/before.json" "$out/after.json"
