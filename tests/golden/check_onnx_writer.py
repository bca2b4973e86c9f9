"""Checks that onnxruntime runs the files the program writes and gets the same results.

python check_onnx_writer.py PROGRAM [MODEL...]   needs numpy, onnx and onnxruntime

Each model is written with its initial weights, checked by onnx, and run by both programs on the same random input.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

MODELS = [
    "mlp", "lenet5", "lenet5:activation=tanh,pool=avg", "lenet-caffe", "ece408", "ece408:term=2019sp",
    "ece408:term=2020fa", "autoencoder", "alexnet", "overfeat", "vgg:depth=11", "vgg:depth=16,input=64", "googlenet",
    "resnet:depth=18", "resnet:depth=50", "resnet:depth=50,stem=cifar", "squeezenet", "mobilenet", "mobilenet:version=1",
    "vit:depth=2", "gpt2:size=tiny",
]
BATCH = 2


def check(program, model, folder):
    def headroom(*words):
        done = subprocess.run([program, *words], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().splitlines()[0])

    file = folder / "net.onnx"
    headroom("model", "export", model, "-o", str(file), "--seed", "3")
    read = onnx.load(file)
    onnx.checker.check_model(read, full_check=True)
    session = onnxruntime.InferenceSession(str(file))
    random = np.random.default_rng(5)
    feeds, words = {}, []
    for i, port in enumerate(session.get_inputs()):
        shape = [n if isinstance(n, int) else BATCH for n in port.shape]
        if port.type == "tensor(float)":
            feeds[port.name] = random.standard_normal(shape, dtype=np.float32)
        else:
            feeds[port.name] = random.integers(0, 20, shape, dtype=np.int32 if "int32" in port.type else np.int64)
        np.save(folder / f"{i}.npy", feeds[port.name])
        words += ["--input", f"{port.name}={folder}/{i}.npy"]
    theirs = session.run(None, feeds)[0]
    for source, out in ((model, folder / "ours"), (str(file), folder / "again")):
        headroom("run", source, *words, "--output", str(out), "--seed", "3")
    ours = np.load(next((folder / "ours").iterdir()))
    again = np.load(next((folder / "again").iterdir()))
    largest = np.abs(theirs).max()
    error = np.abs(theirs - ours).max() / largest
    same = "same bits" if ours.tobytes() == again.tobytes() else f"{np.abs(again - ours).max() / largest:.1e}"
    return f"{read.opset_import[0].version:5} {len(read.graph.node):5}  {str(theirs.shape):16} {error:11.1e}  {same}", error


def main():
    program, models = sys.argv[1], sys.argv[2:] or MODELS
    worst = 0.0
    print(f"{'model':34} opset nodes  output           onnxruntime  read again")
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            try:
                line, error = check(program, model, Path(folder))
            except Exception as why:  # tries every model; prints the reason
                line, error = f"FAILED: {why}", np.inf
        print(f"{model:34} {line}", flush=True)
        worst = max(worst, error)
    sys.exit(0 if worst < 1e-4 else 1)


if __name__ == "__main__":
    main()
