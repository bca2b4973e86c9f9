#!/bin/sh
# Four convolutional networks in headroom and in PyTorch, side by side: time of a training step, size, lines of
# description; on a GPU also kernels, their counters and what to tune. FULL=1 runs the published sizes on a GPU. NETS
# names some of the networks: several calls with the same OUT, one network each, end with the whole table.
set -eu
program=${HEADROOM:-headroom} out=${OUT:-.} threads=${THREADS:-0} python=${PYTHON:-python3} here=$(dirname "$0")
device=cpu batch=4 steps=6 watched=3 size=64 small=,width=0.25 width=0.25
nets="alexnet/96 overfeat/107 vgg/64 googlenet/64"
if [ "${FULL:-0}" = 1 ]; then
  device=${DEVICE:-cuda} batch=64 steps=60 watched=20 size=4096 small= width=1
  nets="alexnet/224 overfeat/231 vgg/224 googlenet/224"
fi
counters= torch=yes
if [ "$device" = cuda ]; then counters="--counters seed"; fi
"$python" -c "import torch; torch.zeros(1, device='$device')" 2>/dev/null || torch=

lines() { grep -Evc '^ *(#|//|$)' "$1"; } # of a description: neither empty nor comments
row() { printf '%-10s %-9s %13s %10s %6s\n' "$@"; }
for net in $nets; do
  name=${net%/*} side=${net#*/} depth=
  case " ${NETS:-$name} " in *" $name "*) ;; *) continue ;; esac
  if [ "$name" = vgg ]; then depth=depth=11,; fi
  model=$name:${depth}input=$side,channels=1,classes=10$small
  "$program" profile "$model" --data glyphs --train-size $size --test-size 8 --batch $batch --steps $watched \
    --clip-norm 0 --device "$device" --threads "$threads" $counters -o "$out/$name-headroom" >"$out/$name.txt"
  row "$name" headroom "$("$program" model show "$model" | sed -n 's/^parameters *//p' | tr -d ,)" \
    "$(awk -F, '$1 == "step" { printf "%.3f", $2 }' "$out/$name-headroom/tables/step.csv")" \
    "$(lines "$here/../../src/models/$name.cc")" >"$out/$name.steps"
  if [ -z "$torch" ]; then continue; fi
  set -- "$python" "$here/$name.py" --batch $batch --steps $steps --input "$side" --width $width --channels 1 \
    --classes 10 --threads "$threads" --device "$device"
  "$@" | while read -r _ parameters _ ms _; do
    row "$name" pytorch "$parameters" "$ms" "$(lines "$here/$name.py")" >>"$out/$name.steps"
  done
  if [ -z "$counters" ]; then continue; fi
  "$program" profile --layers torch $counters -o "$out/$name-pytorch" -- "$@" >/dev/null 2>"$out/$name-pytorch.txt"
done
echo "== The time of a training step, and the lines that describe the network"
row network framework parameters "step ms" lines
for net in $nets; do
  if [ -f "$out/${net%/*}.steps" ]; then cat "$out/${net%/*}.steps"; fi
done
echo "== Kernels of a step, and their counters as ratios of sums"
"$python" "$here/side_by_side.py" ratios "$out" 2>&1 || echo "Nothing to show: Python is missing."
echo "== What to tune first"
"$python" "$here/side_by_side.py" tuning "$out" 2>&1 || echo "Nothing to show: Python is missing."
echo "== What is missing here"
if [ -z "$torch" ]; then echo "PyTorch: $python cannot run torch on $device. PYTHON names another Python."; fi
if [ -z "$counters" ]; then echo "Counters of a GPU: FULL=1 runs the published sizes on one."; fi
