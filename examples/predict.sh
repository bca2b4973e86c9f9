#!/bin/sh
# What one training step must cost on GPUs that are not here, for three sizes of batch; then one image, forward
# alone; then a larger network on every machine of the table.
set -eu
${HEADROOM:-headroom} predict lenet5 --machine k80,v100,h200 --batch 64,256,1024
${HEADROOM:-headroom} predict lenet5 --machine k80,v100,h200 --batch 1 --mode eval
${HEADROOM:-headroom} predict resnet:depth=50 --machine all --batch 64 --precision bf16
