#!/bin/sh
# Which networks there are; layers, shapes, multiply-adds and memory of one of them, and of a net.json.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
${HEADROOM:-headroom} model list
${HEADROOM:-headroom} model show lenet5 --batch 64
${HEADROOM:-headroom} model show "$here/tiny-net.json" --csv
