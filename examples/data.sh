#!/bin/sh
# Which data sets there are and where they were found; then a set of drawn digits as files named like MNIST's, and a
# perceptron trained on those files.
set -eu
out=${OUT:-.}
${HEADROOM:-headroom} data list
${HEADROOM:-headroom} data make glyphs "$out/digits" --train-size "${SIZE:-6000}" --test-size 1000
${HEADROOM:-headroom} train mlp:hidden=32 --data "idx:$out/digits"
