#!/bin/sh
# Tests saved weights on other images: the glyphs of another seed. Shows precision and recall of each class, and which
# digits are taken for which. Then the matrix library's convolutions beside our own.
set -eu
out=${OUT:-.}
${HEADROOM:-headroom} train lenet5 --train-size "${SIZE:-6000}" --test-size 500 --save "$out/lenet5.safetensors" \
  >/dev/null
${HEADROOM:-headroom} eval lenet5 --weights "$out/lenet5.safetensors" --seed 1 --test-size 2000
${HEADROOM:-headroom} eval lenet5 --weights "$out/lenet5.safetensors" --compare-kernels --images 100,500
