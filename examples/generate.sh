#!/bin/sh
# Trains a small GPT-2 on the README of this project, then lets it continue a text. Seconds of training teach it letters
# and a few words, not sense.
set -eu
out=${OUT:-.}
model=gpt2:size=tiny,width=64,heads=2,depth=2,context=32
${HEADROOM:-headroom} train $model --data "text:$(dirname "$0")/../README.md" --batch 8 --epochs 8 --lr 0.003 \
  --save "$out/gpt2.safetensors" >/dev/null
${HEADROOM:-headroom} generate $model --weights "$out/gpt2.safetensors" --prompt "The " --tokens 80 --temperature 0.5
