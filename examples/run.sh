#!/bin/sh
# Writes a trained network as ONNX, runs the file on an array, and checks that it answers as the network does.
headroom=${HEADROOM:-headroom}
out=${OUT:-.}
size=${SIZE:-4000}
set -eu
cd "$out"
$headroom train mlp:hidden=16 --data glyphs --train-size "$size" --test-size "$size" --epochs 1 \
  --save mlp.safetensors --save-onnx mlp.onnx >/dev/null
# One image of grey pixels, as numpy.save would write it: a header of 118 characters, then 784 float32 of 0.5.
{
  printf '\223NUMPY\001\000v\000'
  printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 784), }"
  i=0; while [ $i -lt 784 ]; do printf '\000\000\000?'; i=$((i + 1)); done
} >grey.npy
$headroom run mlp:hidden=16 --weights mlp.safetensors --input grey.npy --output answers
$headroom run mlp.onnx --input grey.npy --expect answers/*.npy
