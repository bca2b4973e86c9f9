#!/bin/sh
# Watches some steps of a training as they really run: where the time of a step goes, layer by layer and kernel by
# kernel. The folder then holds the record, every table as CSV, and traces for chrome://tracing, ui.perfetto.dev and
# speedscope.app. The last command shows the operators of one layer.
set -eu
out=${OUT:-.}/lenet5-profile
${HEADROOM:-headroom} profile lenet5 --data glyphs --train-size "${SIZE:-6000}" -o "$out"
ls "$out"
${HEADROOM:-headroom} profile lenet5 --data glyphs --train-size "${SIZE:-6000}" --open C3
