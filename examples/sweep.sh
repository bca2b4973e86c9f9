#!/bin/sh
# Trains a perceptron with every combination of three rates and two widths, several at once, and marks the best. The
# finished rows are kept: the second command runs only the rows that are new.
set -eu
rows=${OUT:-.}/rows.jsonl
${HEADROOM:-headroom} sweep mlp --lr 0.01,0.05,0.1 --hidden 16,64 --epochs 2 --train-size "${SIZE:-6000}" \
  --test-size 500 --resume "$rows" --svg "${OUT:-.}/sweep.svg"
${HEADROOM:-headroom} sweep mlp --lr 0.05,0.1,0.2 --hidden 64 --epochs 2 --train-size "${SIZE:-6000}" \
  --test-size 500 --resume "$rows"
