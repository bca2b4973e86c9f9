#!/bin/sh
# What this machine offers: processor, GPUs, libraries, data sets, what was measured. For what is missing, how to get it.
set -eu
${HEADROOM:-headroom} doctor
