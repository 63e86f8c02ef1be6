#!/usr/bin/env python3
"""What `diagnose` costs, whole process, beside what ONNX Runtime needs for the same network.

usage: diagnose_bench.py --binary qnn-debug --case DIR [--onnx FILE] [--runs N]

DIR is a recorded run: its folder holds dump/, the folder above model.mnn and input/inputs.json. Two figures, both from this run:
  time    median wall time of `qnn-debug diagnose`, over the median of ONNX Runtime creating a session for FILE and running it once
          (2 threads, import not counted) plus one `cat` of the dump; wanted: at most 3
  memory  the largest RssAnon of the process (sampled from /proc), wanted: at most model + 3 x the largest operator's
          tensors in fp32 + 64 MB
Without --onnx the model that the package rapidocr ships is used (PP-OCRv6_rec_small.onnx, for the recorded run ppocr6_rec/clean).
Exit status 1 if a figure is beyond what is wanted.
"""
import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

MB = 1024 * 1024


def ocr_onnx():
    found = importlib.util.find_spec("rapidocr")
    if found is None or not found.submodule_search_locations:
        return None
    return os.path.join(found.submodule_search_locations[0], "models", "PP-OCRv6_rec_small.onnx")


def session_seconds(onnx, feed):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])
    session.run(None, {session.get_inputs()[0].name: feed})
    return time.perf_counter() - start


def cat_seconds(directory):
    files = [os.path.join(directory, f) for f in os.listdir(directory)]
    start = time.perf_counter()
    subprocess.run(["cat", *files], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def diagnose_seconds(command):
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    elapsed = time.perf_counter() - start
    if done.returncode not in (0, 1):
        sys.exit(f"diagnose failed: {done.stderr.decode()}")
    return elapsed, done.stdout


def peak_rss_anon(command):
    """Samples RssAnon as often as the kernel answers; a peak shorter than a sample is missed, so three runs are taken."""
    peak = 0
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None:
                try:
                    with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
                        for line in f:
                            if line.startswith("RssAnon:"):
                                peak = max(peak, int(line.split()[1]) * 1024)
                except OSError:
                    break
    return peak


def largest_operator_bytes(document):
    """fp32 bytes of inputs and outputs of the operator that has most of them, and its dims from the dumped tensors."""
    size = {}
    for tensor in document["tensors"]:
        if tensor.get("tensor"):
            size[tensor["tensor"]] = 4 * int(np.prod(tensor["dims"], dtype=np.int64))
    return max(sum(size.get(t, 0) for t in {*op["inputs"], *op["outputs"]}) for op in document["operators"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--case", required=True)
    parser.add_argument("--onnx", default=None)
    parser.add_argument("--runs", type=int, default=7)
    args = parser.parse_args()
    folder = os.path.dirname(os.path.abspath(args.case))
    model = os.path.join(folder, "model.mnn")
    inputs = os.path.join(folder, "input", "inputs.json")
    dump = os.path.join(args.case, "dump")
    command = [args.binary, "diagnose", "--model", model, "--inputs", inputs, "--dump", dump, "--format", "json", "--threads", "2"]
    with open(inputs, encoding="utf-8") as f:
        spec = json.load(f)["inputs"][0]
    feed = np.fromfile(os.path.join(folder, "input", spec["file"]), dtype="<f4").reshape(spec["dims"])

    bad = False
    onnx = args.onnx or ocr_onnx()
    if onnx is None or importlib.util.find_spec("onnxruntime") is None:
        print("time: SKIPPED, onnxruntime or the ONNX model is not there")
        _, out = diagnose_seconds(command)
    else:
        ours, theirs, cats = [], [], []
        session_seconds(onnx, feed)
        for _ in range(args.runs):  # in turn, so that a machine that slows down slows all three
            elapsed, out = diagnose_seconds(command)
            ours.append(elapsed)
            theirs.append(session_seconds(onnx, feed))
            cats.append(cat_seconds(dump))
        a, b, c = (statistics.median(x) for x in (ours, theirs, cats))
        limit = 3 * b + c
        bad |= a > limit
        print(f"time: diagnose {a * 1e3:.0f} ms; ONNX Runtime create + run {b * 1e3:.0f} ms, cat of the dump {c * 1e3:.1f} ms;"
              f" {a / limit:.2f} of the limit, 3 x ONNX Runtime + cat")
    document = json.loads(out)
    tensors = largest_operator_bytes(document)
    limit = os.path.getsize(model) + 3 * tensors + 64 * MB
    peak = peak_rss_anon(command)
    bad |= peak > limit
    dumped = sum(os.path.getsize(os.path.join(dump, f)) for f in os.listdir(dump))
    print(f"memory: peak RssAnon {peak / MB:.1f} MB; limit {limit / MB:.1f} MB = model {os.path.getsize(model) / MB:.1f}"
          f" + 3 x {tensors / MB:.1f} + 64; the dump has {dumped / MB:.1f} MB")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
