#!/bin/sh
# The convolution project: one network, its convolutions from plain loops to the best kernel. FULL=1 runs the course's
# sizes on a GPU. With HEADROOM_DATA the images are Fashion-MNIST, else drawn digits.
set -eu
program=${HEADROOM:-headroom}
out=${OUT:-.}
threads=${THREADS:-0}
device=cpu train=500 images=100 ladder=10
if [ "${FULL:-0}" = 1 ]; then device=${DEVICE:-cuda} train=60000 images=100,1000,10000 ladder=100,1000,10000; fi
data=glyphs
if [ -d "${HEADROOM_DATA:-}/fashion-mnist" ]; then data=fashion-mnist; fi
weights=${HEADROOM_DATA:-}/ece408/ece408-2019sp.params

echo "== Train the network"
"$program" train ece408 --data $data --train-size $train --test-size 500 --epochs 1 --device "$device" \
  --threads "$threads" --save "$out/ece408.safetensors"
echo "== Milestones 1 to 3: op times and whole programs, the library's convolutions beside our own"
if [ -f "$weights" ] && [ $data = fashion-mnist ]; then
  "$program" eval ece408:term=2019sp --weights "$weights" --data $data --compare-kernels --images $images \
    --device "$device" --threads "$threads"
else
  "$program" eval ece408 --weights "$out/ece408.safetensors" --data $data --compare-kernels --images $images \
    --device "$device" --threads "$threads"
fi
echo "== Milestone 1: the kernels that take 90 % of the time"
"$program" profile ece408 --mode eval --weights "$out/ece408.safetensors" --data $data --batch 100 --steps 3 \
  --device "$device" --threads "$threads"
echo "== Milestone 4 and the final: one idea after another"
"$program" bench conv2d --workload ece408 --images $ladder --seconds 0.1 --explain --device "$device" --threads "$threads"
