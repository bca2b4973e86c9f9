#!/bin/sh
# The whole story at once: trains LeNet-5 on the embedded digits, then prints for each layer the time it took beside the
# least time this machine allows.
set -eu
${HEADROOM:-headroom} demo
