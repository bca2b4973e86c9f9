#!/bin/bash
# Several nodes, a rank for each of their GPUs. Submit with: sbatch examples/slurm/many-nodes.sh
#SBATCH --job-name=headroom
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --time=01:00:00
#SBATCH --signal=TERM@60
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu

# Where several networks lead from node to node, name the fast one: MPI otherwise uses them all.
if [ -n "${NETWORK:-}" ]; then
  export OMPI_MCA_btl_tcp_if_include=$NETWORK NCCL_SOCKET_IFNAME=$NETWORK
fi

# --shard scatter: the first rank reads the data and hands it on, so that only one node needs it on its disks. The
# folder of checkpoints must be one that all nodes see.
srun --mpi=pmix "${HEADROOM:-headroom}" train lenet5 --data glyphs --device "${DEVICE:-cuda}" --parallel data \
  --shard scatter --epochs "${EPOCHS:-20}" --train-size "${SIZE:-60000}" --batch 4096 --lr 0.08 --warmup 1 \
  --checkpoint-dir many-nodes --resume auto --record many-nodes.json
