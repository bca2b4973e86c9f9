#!/bin/bash
# One GPU of one node, without ranks. Submit with: sbatch examples/slurm/one-gpu.sh
#SBATCH --job-name=headroom
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=8
#SBATCH --time=01:00:00
# A minute before its time is up the run is told to stop: it saves a checkpoint and ends. Requeued, or submitted
# again, it goes on from there.
#SBATCH --signal=TERM@60
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu

srun "${HEADROOM:-headroom}" train lenet5 --data glyphs --device "${DEVICE:-cuda}" --epochs "${EPOCHS:-20}" \
  --train-size "${SIZE:-60000}" --batch 256 --checkpoint-dir one-gpu --resume auto --record one-gpu.json
