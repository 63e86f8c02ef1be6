#!/usr/bin/env python3
"""The fp32 baseline against independent results: MNN's own CPU backend, and ONNX Runtime.

usage: agreement.py --binary qnn-debug [--corpus DIR]

On examples/mini always. With --corpus (unpacked recorded runs: ppocr_cls, ppocr6_rec) on those too; ONNX Runtime's part needs
the packages onnxruntime and rapidocr (for the model file). What is missing is skipped visibly. The limits: against MNN's CPU the
largest error of every tensor below 5e-5 of its maximum and the median over tensors below 1e-5; against ONNX Runtime 1e-3 of the
output's maximum, since the two programs approximate GELU and the exponential differently.
"""
import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

COUNTS = {"passed": 0, "failed": 0, "skipped": 0}


def report(name, outcome, note):
    COUNTS[outcome] += 1
    print(f"{outcome:8}{name}: {note}")


def run_baseline(binary, model, inputs, directory):
    out = os.path.join(directory, "baseline")
    subprocess.run([binary, "baseline", "--model", model, "--inputs", inputs, "--output", out],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(os.path.join(out, "index.json"), encoding="utf-8") as f:
        index = json.load(f)
    return out, index["tensors"]


def cpu_rows(directory):
    """Rows of cpu.tsv: operator name, output number, dims, file, type, layout, operator type."""
    with open(os.path.join(directory, "cpu.tsv"), encoding="utf-8") as f:
        for line in f:
            op, output, dims, file, kind = line.rstrip("\n").split("\t")[:5]
            if kind.split()[0] != "2":
                continue
            shape = [int(d) for d in dims.split("x")]
            yield op, int(output), shape, np.fromfile(os.path.join(directory, file), dtype="<f4")


def against_mnn(binary, name, model, inputs, cpu):
    with tempfile.TemporaryDirectory() as work:
        out, tensors = run_baseline(binary, model, inputs, work)
        known = {(t["op"], t["output"]): t for t in tensors}
        errors, compared = {}, 0
        for op, output, shape, expected in cpu_rows(cpu):
            tensor = known.get((op, output))
            if tensor is None or tensor["dims"] != shape:
                continue
            ours = np.load(os.path.join(out, tensor["file"])).ravel()
            errors[op] = float(np.abs(ours - expected).max() / max(np.abs(expected).max(), 1e-30))
            compared += 1
    worst = max(errors, key=errors.get)
    median = float(np.median(list(errors.values())))
    good = compared >= 20 and errors[worst] < 5e-5 and median < 1e-5
    report(f"{name} against MNN CPU", "passed" if good else "failed",
           f"{compared} tensors, largest error {errors[worst]:.2g} of the maximum ({worst}), median {median:.2g}")


def ocr_onnx():
    """The model that ppocr6_rec was converted from, as the package rapidocr ships it; None if it is not installed."""
    found = importlib.util.find_spec("rapidocr")
    if found is None or not found.submodule_search_locations:
        return None
    path = os.path.join(found.submodule_search_locations[0], "models", "PP-OCRv6_rec_small.onnx")
    return path if os.path.exists(path) else None


def against_onnxruntime(binary, name, model, inputs, onnx):
    import onnxruntime
    with open(inputs, encoding="utf-8") as f:
        spec = json.load(f)["inputs"]
    feed = {i["name"]: np.fromfile(os.path.join(os.path.dirname(inputs), i["file"]), dtype="<f4").reshape(i["dims"]) for i in spec}
    session = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: next(iter(feed.values()))} if len(feed) == 1 else feed
    expected = session.run(None, feed)[0]
    with tempfile.TemporaryDirectory() as work:
        out, tensors = run_baseline(binary, model, inputs, work)
        last = max(tensors, key=lambda t: t["op_index"])
        ours = np.load(os.path.join(out, last["file"]))
    error = float(np.abs(ours.ravel() - expected.ravel()).max() / np.abs(expected).max())
    same = bool((ours.reshape(expected.shape).argmax(-1) == expected.argmax(-1)).all())
    report(f"{name} against ONNX Runtime", "passed" if error < 1e-3 and same else "failed",
           f"output {last['name']}: largest error {error:.2g} of the maximum, {'same' if same else 'other'} arg max in every row")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--corpus")
    args = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    mini = os.path.join(root, "examples", "mini")
    against_mnn(args.binary, "mini", os.path.join(mini, "model.mnn"), os.path.join(mini, "input", "inputs.json"), os.path.join(mini, "cpu"))

    cls = os.path.join(args.corpus or "", "ppocr_cls")
    if args.corpus and os.path.isdir(cls):
        against_mnn(args.binary, "ppocr_cls", os.path.join(cls, "model.mnn"), os.path.join(cls, "input", "inputs.json"), os.path.join(cls, "mnn_cpu"))
    else:
        report("ppocr_cls against MNN CPU", "skipped", "the recorded runs are not there")

    rec, onnx = os.path.join(args.corpus or "", "ppocr6_rec"), ocr_onnx()
    if not args.corpus or not os.path.isdir(rec):
        report("ppocr6_rec against ONNX Runtime", "skipped", "the recorded runs are not there")
    elif onnx is None or importlib.util.find_spec("onnxruntime") is None:
        report("ppocr6_rec against ONNX Runtime", "skipped", "rapidocr or onnxruntime is not installed")
    else:
        against_onnxruntime(args.binary, "ppocr6_rec", os.path.join(rec, "model.mnn"), os.path.join(rec, "input", "inputs.json"), onnx)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**COUNTS))
    return 1 if COUNTS["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
