#!/bin/sh
# Four convolutional networks under a profiler: time and memory by layer and by kernel, and the networks beside each
# other. FULL=1 runs them at the published sizes on a GPU.
set -eu
program=${HEADROOM:-headroom}
out=${OUT:-.}
threads=${THREADS:-0}
device=cpu size=64 batch=4 small=,width=0.25
nets="alexnet:input=96$small overfeat:input=107$small vgg:depth=11,input=64$small googlenet:input=64$small"
if [ "${FULL:-0}" = 1 ]; then
  device=${DEVICE:-cuda} size=4096 batch=64 nets="alexnet overfeat vgg:depth=11 googlenet"
fi

watch() { # NETWORK FOLDER [OPTION...]
  net=$1 folder=$2
  shift 2
  "$program" profile "$net" --data glyphs --train-size $size --test-size 8 --batch $batch --steps 3 --device "$device" \
    --threads "$threads" -o "$out/$folder" "$@"
}

for net in $nets; do
  echo "== ${net%%:*}: the most expensive layers, the kernels, and what could be saved"
  watch "$net" "${net%%:*}" --sort "total ms" --top 5
done
first=${nets%% *}
echo "== The memory of the first network, over the steps of its plan"
watch "$first" memory --memory
echo "== The first network with the library's convolutions: which layers changed beyond noise"
watch "$first" library --kernel conv2d=library >/dev/null
"$program" diff "$out/alexnet" "$out/library"
echo "== All four beside each other"
if [ "${FULL:-0}" = 1 ]; then
  "$program" bench nets --set convnets --device "$device"
else
  "$program" bench forward $nets --step --batch $batch --seconds 0.2 --threads "$threads"
fi
