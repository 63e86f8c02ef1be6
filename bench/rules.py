#!/usr/bin/env python3
"""Finds the first bad operator of labelled runs by the usual rules and by `qnn-debug diagnose`, and prints both side by side.

usage: rules.py --binary qnn-debug --corpus DIR_OF_ARCHIVES [--only NAME ...] [--work DIR]

A usual rule compares every dumped tensor with the fp32 baseline (`qnn-debug baseline`, once per model), in the model's order, and
blames the operator of the first one beyond its threshold. Each archive NAME.tar.zst is unpacked once under --work; every
run in it has a truth.json. Judged are runs that are sound or have a wrong operator; quantized models are left out, because
an fp32 baseline says nothing about their rounding.

  localized     the operator named first is the first wrong one
  wrong         another one is named
  missed        none is named
  every bug     runs with several wrong operators: all of them are named, and no other (a rule names one)
  false alarms  sound runs in which an operator is named
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

QUANTIZED = ("miniq",)
# data_type of the manifest: QNN's numbers of float16, float32, int32.
TYPES = {534: np.float16, 562: np.float32, 50: np.int32}


def relative_error(device, reference):
    return np.abs(device - reference).max() / max(np.abs(reference).max(), np.finfo(np.float64).tiny)


def cosine(device, reference):
    norms = np.linalg.norm(device) * np.linalg.norm(reference)
    if norms == 0:
        return 1.0 if np.array_equal(device, reference) else 0.0
    return float(device.ravel() @ reference.ravel() / norms)


def sqnr(device, reference):
    noise = np.sum((device - reference) ** 2)
    return np.inf if noise == 0 else 10 * np.log10(max(np.sum(reference**2), np.finfo(np.float64).tiny) / noise)


# A NaN is beyond every threshold.
RULES = {
    "error above 1 % of the maximum": lambda d, r: not relative_error(d, r) <= 0.01,
    "cosine below 0.95": lambda d, r: not cosine(d, r) >= 0.95,
    "cosine below 0.99": lambda d, r: not cosine(d, r) >= 0.99,
    "SQNR below 10 dB": lambda d, r: not sqnr(d, r) >= 10,
    "SQNR below 26 dB": lambda d, r: not sqnr(d, r) >= 26,
}
OURS = "qnn-debug"


def unpack(archive, work):
    """As tools/score_corpus.py does it, so that both share the directory."""
    name = os.path.basename(archive)[: -len(".tar.zst")]
    stamp, key = os.path.join(work, name + ".ok"), str(os.path.getsize(archive))
    if not os.path.exists(stamp) or read(stamp) != key:
        os.makedirs(work, exist_ok=True)
        with subprocess.Popen(["zstd", "-dcq", "--long=27", archive], stdout=subprocess.PIPE) as zstd:
            subprocess.run(["tar", "-x", "-C", work], stdin=zstd.stdout, check=True)
        if zstd.returncode:
            sys.exit(f"rules: {archive} cannot be unpacked")
        with open(stamp, "w", encoding="ascii") as f:
            f.write(key)
    return os.path.join(work, name)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def cases(root):
    """(directory of the model, directory of the run, truth) of every run with a dump."""
    shared = os.path.exists(os.path.join(root, "model.mnn"))
    for name in sorted(os.listdir(root)):
        run = os.path.join(root, name)
        truth = os.path.join(run, "truth.json")
        if os.path.exists(truth) and os.path.isdir(os.path.join(run, "dump")):
            truth = json.loads(read(truth))
            if truth["verdict"] in ("clean", "bug"):
                yield root if shared else run, run, truth


class Baseline:
    """The fp32 tensors of a model by name."""

    def __init__(self, binary, model_dir):
        self.directory = tempfile.TemporaryDirectory(prefix="qnn-debug-rules-")
        command = [binary, "baseline", *model_arguments(model_dir), "--output", self.directory.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):  # 1: some operators could not be computed
            sys.exit(f"rules: {' '.join(command)}: {done.stderr}")
        rows = json.loads(read(os.path.join(self.directory.name, "index.json")))["tensors"]
        self.files = {row["name"]: os.path.join(self.directory.name, row["file"]) for row in rows}

    def get(self, name):
        return np.load(self.files[name]).astype(np.float64) if name in self.files else None


def model_arguments(model_dir):
    inputs = os.path.join(model_dir, "input", "inputs.json")
    return ["--model", os.path.join(model_dir, "model.mnn"), "--inputs", inputs]


def diagnose(binary, model_dir, run):
    command = [binary, "diagnose", *model_arguments(model_dir), "--dump", os.path.join(run, "dump"), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode in (0, 1) else None


def device_tensors(run, document):
    """(operator, name in the model, values in the model's order of dims) in the model's order. Layouts come from the document; the
    values are read here."""
    manifest = sorted(f for f in os.listdir(os.path.join(run, "dump")) if re.fullmatch(r"manifest_\d+\.tsv", f))[-1]
    rows = {}
    for line in read(os.path.join(run, "dump", manifest)).splitlines()[1:]:
        fields = line.split("\t")
        rows[fields[1]] = fields
    names = {op["index"]: op["name"] for op in document["operators"]}
    for tensor in sorted(document["tensors"], key=lambda t: -1 if t["op_index"] is None else t["op_index"]):
        fields = rows.get(tensor["name"])
        if tensor["tensor"] is None or tensor["op_index"] is None or fields is None or int(fields[3]) not in TYPES:
            continue
        values = np.fromfile(os.path.join(run, "dump", fields[2]), dtype=TYPES[int(fields[3])]).astype(np.float64)
        if values.size != int(np.prod(tensor["device_dims"], dtype=np.int64)):
            continue
        values = values.reshape(tensor["device_dims"])
        if tensor["layout"] in ("NHWC", "channel-last"):
            values = np.moveaxis(values, -1, 1)
        yield names[tensor["op_index"]], tensor["tensor"], values


def first_beyond(tensors, baseline):
    """The operator that each rule blames, or None."""
    blamed = dict.fromkeys(RULES)
    for op, name, values in tensors:
        reference = baseline.get(name)
        if reference is None or reference.shape != values.shape:
            continue
        for rule, beyond in RULES.items():
            if blamed[rule] is None and beyond(values, reference):
                blamed[rule] = op
    return blamed


def wrong_operators(truth):
    """Those of a bug in the model's order; None where the label only says that the convolutions around are sound (probes)."""
    if "bugs" in truth:
        return [bug["op"] for bug in truth["bugs"]]
    return [truth["first_bad_op"]] if "first_bad_op" in truth else None


class Score:
    def __init__(self):
        self.localized = self.wrong = self.missed = self.every_bug = self.false_alarms = 0

    def add(self, truth, named):
        """`named`: operators in the order in which they are blamed."""
        if truth["verdict"] == "clean":
            self.false_alarms += bool(named)
            return
        bad = wrong_operators(truth)
        right = bool(named) and (named[0] == bad[0] if bad else not {"c0", "c2"} & set(named))
        self.localized += right
        self.wrong += bool(named) and not right
        self.missed += not named
        self.every_bug += is_stacked(truth) and set(named) == set(bad)


def is_stacked(truth):
    return len(truth.get("bugs", [])) > 1


def print_table(scores, counts):
    bad, stacked, sound = counts
    print(f"| rule | localized of {bad} | wrong | missed | every bug of {stacked} | false alarms on {sound} sound runs |")
    print("|---|---|---|---|---|---|")
    for name, s in scores.items():
        print(f"| {name} | {s.localized} | {s.wrong} | {s.missed} | {s.every_bug} | {s.false_alarms} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--work", default=os.path.join(os.environ.get("TMPDIR", "/tmp"), "qnn-debug-corpus"))
    args = parser.parse_args()
    np.seterr(all="ignore")  # what overflows is beyond the thresholds

    scores = {name: Score() for name in (*RULES, OURS)}
    bad = stacked = sound = 0
    for archive in sorted(f for f in os.listdir(args.corpus) if f.endswith(".tar.zst")):
        name = archive[: -len(".tar.zst")]
        if name in QUANTIZED or (args.only and name not in args.only):
            continue
        baseline, baseline_of = None, None
        for model_dir, run, truth in cases(unpack(os.path.join(args.corpus, archive), args.work)):
            document = diagnose(args.binary, model_dir, run)
            if document is None:
                print(f"rules: {run}: no answer, left out", file=sys.stderr)
                continue
            if baseline_of != model_dir:
                baseline, baseline_of = Baseline(args.binary, model_dir), model_dir
            for rule, op in first_beyond(device_tensors(run, document), baseline).items():
                scores[rule].add(truth, [op] if op is not None else [])
            scores[OURS].add(truth, [f["op"] for f in document["findings"] if f["kind"] in ("bug", "input")])
            bad += truth["verdict"] == "bug"
            stacked += is_stacked(truth)
            sound += truth["verdict"] == "clean"
    if bad + sound == 0:
        sys.exit("rules: no run to judge")
    print_table(scores, (bad, stacked, sound))
    return 0


if __name__ == "__main__":
    sys.exit(main())
