#!/bin/sh
# What memory costs: vector addition, copies and allocation, with charts. Add --device cuda on a machine with a GPU.
set -eu
out=${OUT:-.}
program=${HEADROOM:-headroom}
"$program" bench vadd --elements 1M,5M --svg "$out/vadd.svg"
"$program" bench copy --max-bytes 16777216 --svg "$out/copy.svg"
"$program" bench alloc --m 200 --n 200 --k 200
