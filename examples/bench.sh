#!/bin/sh
# Training steps of the published networks, timed, as a share of what the matrix library reaches on this machine.
set -eu
${HEADROOM:-headroom} bench nets --rounds "${ROUNDS:-5}"
