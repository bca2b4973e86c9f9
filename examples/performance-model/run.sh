#!/bin/sh
# The performance-model lab: FLOPs of networks, times by layer and as a whole, predictions for a GPU that is not here, time
# to an accuracy, and how busy the machine is. FULL=1 runs the lab's sizes on a GPU.
set -eu
program=${HEADROOM:-headroom}
out=${OUT:-.}
threads=${THREADS:-0}
device=cpu nets="alexnet:input=96,width=0.25 googlenet:input=64,width=0.25" runs=3
training="lenet5 --data glyphs --train-size 2000 --test-size 500 --epochs 4 --target 0.8"
if [ "${FULL:-0}" = 1 ]; then
  device=${DEVICE:-cuda} nets="alexnet vgg:depth=16 googlenet resnet:depth=50" runs=5
  training="resnet:depth=50,stem=cifar --data cifar10 --batch 128 --epochs 200 --augment crop,flip --target 0.92"
fi

echo "== 1.2 FLOPs of VGG-19 by layer, and the share of its convolutions"
"$program" model show vgg:depth=19
echo "== 1.3 The sum of layer times, each waited for, beside the time of the whole network"
for net in $nets; do
  "$program" eval "$net" --sync-layers --random --batch 1 --samples 5 --device "$device" --threads "$threads"
done
echo "== 1.4 One image on a K80, in single and in double precision"
for precision in fp32 fp64; do
  "$program" predict vgg:depth=16 --machine k80 --batch 1 --mode eval --precision $precision --summary
  "$program" predict googlenet --machine k80 --batch 1 --mode eval --precision $precision --summary
  "$program" predict resnet:depth=50 --machine k80 --batch 1 --mode eval --precision $precision --summary
done
echo "== 2.1 Time to an accuracy: several runs, their mean, deviation and coefficient of variation"
"$program" tta $training --runs "$runs" --device "$device" --threads "$threads"
echo "== 2.3 How busy the machine is meanwhile"
"$program" watch --sample-ms 50 --csv "$out/samples.csv" -o "$out/watch.txt" -- \
  "$program" train $training --device "$device" --threads "$threads" >/dev/null
cat "$out/watch.txt"
