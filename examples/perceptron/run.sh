#!/bin/sh
# The perceptron on ranks: does it compute the same on every number of ranks, where does its time go, and what limits it.
# FULL=1 runs the course's sizes with a GPU for each rank. The graded cases need MNIST in HEADROOM_DATA.
set -eu
program=${HEADROOM:-headroom}
out=${OUT:-.}
threads=${THREADS:-1}
device=cpu ranks=2 size=3000 batch=600 hidden=128 cases="small1 medium" data=glyphs
if [ "${FULL:-0}" = 1 ]; then
  device=${DEVICE:-cuda} ranks=${RANKS:-4} size=60000 batch=3000 hidden=512 cases="small1 small2 small3 medium large nsys1"
fi
if [ -d "${HEADROOM_DATA:-}/mnist" ]; then data=mnist; fi
on_ranks() { "$program" "$@"; }
if command -v mpirun >/dev/null; then on_ranks() { mpirun --oversubscribe -n $ranks "$program" "$@"; }; fi
train() { "$program" train mlp:hidden=$hidden --data $data --train-size $size --batch $batch --pixels raw "$@"; }

if [ $data = mnist ]; then
  echo "== 1.1 The graded cases: weights of every number of ranks beside those of one process"
  on_ranks bench perceptron $cases --precision fp32,fp64 --device "$device" --threads "$threads"
fi
echo "== 1.2 How far fp32 and fp64 drift apart"
train --epochs 1 --lr 0.01 --device "$device" --check-against cpu/fp64 --threads "$threads"
echo "== 1.3 Learning rates"
for rate in 0.005 0.01 0.02 0.04; do
  echo "rate $rate: $(train --epochs 1 --lr $rate --device "$device" --threads "$threads" | grep '^accuracy')"
done
echo "== 2.1 Where the time of a step goes, rank by rank"
on_ranks profile mlp:hidden=$hidden --data $data --train-size $size --batch $batch --steps 3 --device "$device" \
  --threads "$threads" --parallel data -o "$out/perceptron-profile"
echo "== 2.5 The step on machines that are not here, at least and as predicted, with the copy of its images"
"$program" predict mlp:hidden=512 --machine rtx6000,h200 --batch 3000,12000 --copies
