#!/bin/sh
# Watches the machine while a training runs: how busy the cores and the GPUs are, memory, clocks, power. The report goes
# to standard error, because standard output belongs to the training. Every sample is kept in samples.csv.
set -eu
${HEADROOM:-headroom} watch --sample-ms 50 --csv "${OUT:-.}/samples.csv" -- \
  ${HEADROOM:-headroom} train lenet5 --train-size "${SIZE:-6000}" --epochs 1
