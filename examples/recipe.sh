#!/bin/sh
# Published cases and their figures, each of which is one command; here the one that needs no download, shortened.
set -eu
${HEADROOM:-headroom} recipe list
${HEADROOM:-headroom} train --recipe lenet5-glyphs --train-size "${SIZE:-6000}" --test-size 1000
