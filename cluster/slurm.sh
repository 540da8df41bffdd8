#!/bin/bash
# One Ray cluster inside one Slurm job: a head on the first node, a worker on each other, one config run on it.
#
#   sbatch --nodes=4 --gpus-per-node=4 cluster/slurm.sh config.toml
#
# The config needs engine = "ray" and a run folder on a disk that all nodes share (or s3://…). After a time limit or a
# lost node submit it again: it goes on from its finished shards.
#SBATCH --job-name=morphorder
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=08:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail

config=${1:?usage: sbatch cluster/slurm.sh CONFIG [morphorder run options]}
port=${RAY_PORT:-6379}
cpus=${SLURM_CPUS_PER_TASK:-16}
gpus=${SLURM_GPUS_ON_NODE:-0}

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
head_ip=$(srun --nodes=1 --ntasks=1 -w "$head" hostname --ip-address | awk '{print $1}')

# Everyone on the network of a cluster may reach these ports: a token keeps them out. Never on a command line.
export RAY_AUTH_MODE=token
RAY_AUTH_TOKEN=$(od -An -tx1 -N32 /dev/urandom | tr -d ' \n')
export RAY_AUTH_TOKEN

srun --nodes=1 --ntasks=1 -w "$head" \
    ray start --head --node-ip-address="$head_ip" --port="$port" --num-cpus="$cpus" --num-gpus="$gpus" --block &
for _ in $(seq 60); do
    ray status --address="$head_ip:$port" > /dev/null 2>&1 && break
    sleep 2
done
if ((${#nodes[@]} > 1)); then
    srun --nodes=$((${#nodes[@]} - 1)) --ntasks=$((${#nodes[@]} - 1)) --exclude="$head" \
        ray start --address="$head_ip:$port" --num-cpus="$cpus" --num-gpus="$gpus" --block &
fi

export RAY_ADDRESS="$head_ip:$port"
python -m cluster.main "$config" "${@:2}"
