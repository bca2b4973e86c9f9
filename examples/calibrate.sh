#!/bin/sh
# Fits kernel times to a table of timings (here made up: 2 us, then 400 TFLOP/s), prints the errors on rows that no fit saw,
# and predicts other sizes with an interval.
set -eu
out=${OUT:-.}
awk 'BEGIN { print "m,n,k,us"; for (m = 64; m <= 4096; m *= 2) for (n = 256; n <= 4096; n *= 2)
  printf "%d,%d,2048,%.2f\n", m, n, 2 + m * n * 4096 / 4e8 }' > "$out/rows.csv"
${HEADROOM:-headroom} calibrate --table "$out/rows.csv" --machine h200 -o "$out/mine.json"
printf 'm,n,k\n100,1000,2048\n3000,3000,2048\n' > "$out/sizes.csv"
${HEADROOM:-headroom} predict gemm --table "$out/sizes.csv" --machine "$out/mine.json"
