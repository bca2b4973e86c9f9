#!/bin/sh
# Trains a network of your own with Adam and a cosine schedule. Leaves the weights, a record of the run that holds every
# number printed and many more, and curves and histograms for TensorBoard: tensorboard --logdir board.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-.}
${HEADROOM:-headroom} train "$here/tiny-net.json" --train-size "${SIZE:-6000}" --test-size 1000 --epochs 2 \
  --optimizer adam --schedule cosine --save "$out/tiny.safetensors" --record "$out/tiny-run.json" \
  --tensorboard "$out/board"
