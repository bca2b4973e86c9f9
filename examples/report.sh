#!/bin/sh
# Trains a network and writes a page about the run; then the same with another batch, and a page about both. Open the
# pages in a browser: they need no network. The record of a run can be taken out of its page again.
set -eu
out=${OUT:-.}
${HEADROOM:-headroom} train lenet5 --train-size "${SIZE:-6000}" --test-size 500 --record "$out/first.json" \
  --report "$out/first.html" >/dev/null
${HEADROOM:-headroom} train lenet5 --train-size "${SIZE:-6000}" --test-size 500 --batch 32 --record "$out/second.json" \
  >/dev/null
${HEADROOM:-headroom} report "$out/first.json" "$out/second.json" -o "$out/both.html"
${HEADROOM:-headroom} report "$out/first.html" --extract "$out/again.json"
