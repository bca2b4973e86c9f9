#!/bin/sh
# Trains LeNet-5 three times, each with another seed, until 60 % of the test images are right, with a test every 10 steps.
# Prints how long it took, and how much that varies. The chart shows the accuracy of each run over time.
set -eu
${HEADROOM:-headroom} tta lenet5 --target 0.6 --runs 3 --eval-every 10 --epochs 20 \
  --train-size "${SIZE:-6000}" --test-size 500 --svg "${OUT:-.}/tta.svg"
