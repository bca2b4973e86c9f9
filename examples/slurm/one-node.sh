#!/bin/bash
# All GPUs of one node, a rank each, batches shared. Submit with: sbatch examples/slurm/one-node.sh
#SBATCH --job-name=headroom
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --time=01:00:00
#SBATCH --signal=TERM@60
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu

# GPUs are counted per node, not per task: each rank sees all four, takes its own by its number on the node, and the
# exchange goes from GPU to GPU. --mpi=pmix is how Open MPI's ranks find each other under srun.
# The batch is what all ranks share: four times as many ranks need four times the batch to have as much to do each.
srun --mpi=pmix "${HEADROOM:-headroom}" train lenet5 --data glyphs --device "${DEVICE:-cuda}" --parallel data \
  --epochs "${EPOCHS:-20}" --train-size "${SIZE:-60000}" --batch 1024 --lr 0.04 --warmup 1 \
  --checkpoint-dir one-node --resume auto --record one-node.json
