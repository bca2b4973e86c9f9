#!/bin/sh
# Measures what this machine can do at the most: multiply-adds per second, bytes per second from each cache and from
# memory. The result is kept as the machine "here", which every other verb compares with; that of a GPU as "here-gpu".
set -eu
${HEADROOM:-headroom} roofline --seconds "${SECONDS_TO_MEASURE:-6}"
