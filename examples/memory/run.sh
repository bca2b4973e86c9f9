#!/bin/sh
# The memory lab: what copies, allocation and managed memory cost around a kernel, and what each remedy is worth in a
# training. FULL=1 runs the course's sizes on a GPU.
set -eu
program=${HEADROOM:-headroom}
out=${OUT:-.}
threads=${THREADS:-0}
device=cpu elements=1M,5M bytes=4194304 product="--m 200 --n 200 --k 196" net="--model mlp:hidden=32 --batch 100"
switches="--model mlp:hidden=64 --batch 100 --images 500 --rounds 1"
if [ "${FULL:-0}" = 1 ]; then
  device=${DEVICE:-cuda} elements=1M,5M,10M,50M,100M bytes=1073741824 product= net= switches=
fi

echo "== Vector addition, with copies and with managed memory"
"$program" bench vadd --elements $elements --svg "$out/vadd.svg" --device "$device" --threads "$threads"
echo "== Copies, from 4 KB on: latency, then bandwidth"
"$program" bench copy --max-bytes $bytes --svg "$out/copy.svg" --device "$device" --threads "$threads"
echo "== The product of the course, kernel by kernel"
"$program" bench gemm ${product:---workload course} --alpha 2 --beta 5 --precision fp64 --seconds 0.1 --device "$device" \
  --threads "$threads"
echo "== The same product with fresh buffers and with buffers that stay; then a training step"
"$program" bench alloc $product $net --device "$device" --threads "$threads"
echo "== What each remedy is worth in a training, alone and together"
"$program" bench switches $switches --device "$device" --threads "$threads"
