#!/bin/sh
# Training steps of the published networks, timed, as a share of what the matrix library reaches on this machine.
set -eu
${HEADROOM:-headroom} bench nets --rounds "${ROUNDS:-5}"
# Matrix products from plain loops to the library, one idea at a time.
${HEADROOM:-headroom} bench gemm --size "${SIZE:-256}" --seconds "${SECONDS_EACH:-0.2}"
# A convolution, likewise, with a sentence on each kernel.
${HEADROOM:-headroom} bench conv2d --batch 4 --channels 8 --height 28 --maps 16 --kernel 5 --seconds 0.2 --explain
