#!/bin/sh
# Training steps of the published networks, timed, as a share of what the matrix library reaches on this machine.
set -eu
${HEADROOM:-headroom} bench nets --rounds "${ROUNDS:-5}"
# Matrix products from plain loops to the library, one idea at a time.
${HEADROOM:-headroom} bench gemm --size "${SIZE:-256}" --seconds "${SECONDS_EACH:-0.2}"
# A convolution, likewise, with a sentence on each kernel.
${HEADROOM:-headroom} bench conv2d --batch 4 --channels 8 --height 28 --maps 16 --kernel 5 --seconds 0.2 --explain
# What better kernels, more threads and more loaders are each worth in a training.
${HEADROOM:-headroom} bench switches --model mlp:hidden=64 --batch 100 --images 500 --rounds "${ROUNDS:-5}"
