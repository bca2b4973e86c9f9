#!/bin/sh
# Training steps of the published networks, timed, as a share of what the matrix library reaches on this machine.
set -eu
${HEADROOM:-headroom} bench nets --rounds "${ROUNDS:-5}"
# Matrix products from plain loops to the library, one idea at a time.
${HEADROOM:-headroom} bench gemm --size "${SIZE:-256}" --seconds "${SECONDS_EACH:-0.2}"
