#!/bin/sh
# Times the candidates of the kernels that a model would use and keeps the winners for later runs. On a CPU no kernel has
# candidates; on a GPU cuDNN's convolutions do. Then prints the table of winners and where it is kept.
set -eu
${HEADROOM:-headroom} tune lenet5 --batch 64
${HEADROOM:-headroom} tune --list
