#!/usr/bin/env python3
"""`htp validate` against what MNN's own runs logged, `emulate` against what they dumped, and `diagnose` of emulated runs.

usage: agreement.py --binary qnn-debug --corpus DIR [--library libQnnHtp.so]

DIR holds unpacked recorded runs: networks, and single-operator models in probes/. A probe agrees when the same nodes are refused as
in its log, for one of the same reasons; when it was finalized, or not, as there; and when an operator has no nodes exactly where the
log says that MNN could not write them. At least 95 % must agree. Of every sound run of a network at least 95 % of the dumped tensors
must be equal bit for bit, and of at least 95 % of the probes all. Emulated as the model means it, every network and at least 60
probes must be diagnosed clean, and no probe as broken but those of KNOWN_BROKEN; emulated as MNN writes it, the network whose fused
ReLU MNN drops must be named for it. `diagnose --witness htp` must tell MNN's mistakes from the library's. What is missing is
skipped visibly.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTS = {"passed": 0, "failed": 0, "skipped": 0}
NETWORKS = ("mini", "miniq", "ppocr_cls", "ppocr6_rec", "ppocr4_det")
SOUND_RUNS = ("clean", "unmodified")
DROPPED_RELU = "ppocr4_det"
ENOUGH = 0.95
CLEAN_PROBES = 60
# The library leaves the last, partial windows of an average pool wrong; a cubic resize made of several nodes is rounded between them.
KNOWN_BROKEN = re.compile(r"AvgPoolCeilOdd|Interp_cubic_.*")
TARGET = ["--soc", "57"]  # of the recorded runs


def report(name, outcome, note):
    COUNTS[outcome] += 1
    print(f"{outcome:8}{name}: {note}", flush=True)


def find_library(named):
    if named := named or os.environ.get("QNN_DEBUG_TEST_HTP"):
        return pathlib.Path(named)
    return next(ROOT.glob(".venv/lib/python3*/site-packages/onnxruntime_qnn/libQnnHtp.so"), None)


def model_and_inputs(directory):
    return ["--model", directory / "model.mnn", "--inputs", directory / "input" / "inputs.json"]


def run(binary, *args):
    return subprocess.run([binary, *map(str, args)], capture_output=True, text=True, timeout=600)


def disagreement(document, verdict, log):
    """What differs between a validation and a run's log, in words; empty: nothing."""
    refused = {node["node"]: node["reasons"] for operator in document["operators"] for node in operator["nodes"] if not node["accepted"]}
    logged = set(re.findall(r"QNN validate failed for node '([^']*)'", log))
    unmapped = [operator["op"] for operator in document["operators"] if operator["acceptance"] == "unmapped"]
    if set(refused) != logged:
        return f"refused here {sorted(refused)}, there {sorted(logged)}"
    for node, reasons in refused.items():
        if reasons and not any(reason in log for reason in reasons):
            return f"{node}: other words: {reasons[0]}"
    broke_off = (verdict == "load_failed" and not logged) or verdict == "crash"
    if broke_off and not unmapped:
        return f"MNN ended ({verdict}), here every operator has nodes"
    finalize = document["finalize"]
    if finalize is not None and finalize["finalized"] == ("graphFinalize failed" in log):
        return "finalized here, not there" if finalize["finalized"] else "finalized there, not here"
    return ""


def validate_probes(binary, library, probes):
    names = sorted(directory.name for directory in probes.iterdir() if (directory / "truth.json").exists())
    different = {}
    for name in names:
        directory = probes / name
        done = run(binary, "htp", "validate", *model_and_inputs(directory), "--library", library, *TARGET, "--format", "json")
        if done.returncode not in (0, 1):
            different[name] = done.stderr.strip()
            continue
        truth = json.loads((directory / "truth.json").read_text())
        log = (directory / "run.log").read_text(errors="replace")
        if words := disagreement(json.loads(done.stdout), truth["verdict"], log):
            different[name] = words
    for name, words in different.items():
        print(f"        {name}: {words}")
    agreeing = len(names) - len(different)
    good = len(names) >= 100 and agreeing >= ENOUGH * len(names)
    report("htp validate against the logs of probes", "passed" if good else "failed", f"{agreeing} of {len(names)} agree")


def dumped(directory):
    """name -> (type, dims, encoding and bytes)"""
    manifest = next(iter(sorted(directory.glob("manifest_*.tsv"))))
    rows = [line.split("\t") for line in manifest.read_text().splitlines()[1:]]
    return {row[1]: (row[3], row[4], row[5], float(row[6]), row[7], (directory / row[2]).read_bytes()) for row in rows}


def emulated(binary, library, directory, *options):
    """The tensors of an emulated run and what went wrong."""
    with tempfile.TemporaryDirectory() as work:
        done = run(binary, "emulate", *model_and_inputs(directory), "--dump", work, "--library", library, *TARGET, *options)
        if done.returncode not in (0, 1):
            return {}, done.stderr.strip()
        return dumped(pathlib.Path(work)), ""


def emulate_network(binary, library, directory, sound):
    wanted = dumped(sound / "dump")
    ours, problem = emulated(binary, library, directory)
    equal = sum(ours.get(name) == tensor for name, tensor in wanted.items())
    good = wanted and equal >= ENOUGH * len(wanted)
    report(f"emulate {directory.name}", "passed" if good else "failed",
           problem or f"{equal} of {len(wanted)} dumped tensors equal bit for bit")


def emulate_probes(binary, library, probes):
    names = sorted(manifest.parent.parent.name for manifest in probes.glob("*/dump/manifest_000000.tsv"))
    equal = 0
    for name in names:
        wanted = dumped(probes / name / "dump")
        ours, problem = emulated(binary, library, probes / name)
        different = [tensor for tensor in wanted if ours.get(tensor) != wanted[tensor]]
        equal += not different
        if different:
            print(f"        {name}: {problem.splitlines()[0] if problem else f'{len(different)} of {len(wanted)} tensors differ'}")
    good = len(names) >= 100 and equal >= ENOUGH * len(names)
    report("emulate probes", "passed" if good else "failed", f"of {equal} of {len(names)} all dumped tensors are equal bit for bit")


def diagnose_emulated(binary, library, directory, style):
    """The diagnosis of an emulated run; None: it could not be emulated or read."""
    with tempfile.TemporaryDirectory() as work:
        files = model_and_inputs(directory)
        done = run(binary, "emulate", *files, "--dump", work, "--library", library, *TARGET, "--as", style)
        if done.returncode not in (0, 1):
            return None
        done = run(binary, "diagnose", *files, "--dump", work, "--format", "json")
        return json.loads(done.stdout) if done.returncode in (0, 1) else None


def diagnose_network(binary, library, directory):
    document = diagnose_emulated(binary, library, directory, "model")
    verdict = document["verdict"] if document else "none"
    report(f"diagnose {directory.name} as the model means it", "passed" if verdict == "clean" else "failed", f"verdict {verdict}")
    if directory.name == DROPPED_RELU:
        document = diagnose_emulated(binary, library, directory, "mnn")
        causes = sorted({finding["cause"] for finding in document["findings"] if finding["kind"] == "bug"}) if document else []
        good = causes == ["activation_dropped"]
        report(f"diagnose {directory.name} as MNN writes it", "passed" if good else "failed", f"causes {causes}")


def diagnose_probes(binary, library, probes):
    verdicts = {}
    for directory in sorted(probes.iterdir()):
        if (directory / "truth.json").exists():
            document = diagnose_emulated(binary, library, directory, "model")
            verdicts.setdefault(document["verdict"] if document else "none", []).append(directory.name)
    for verdict, names in verdicts.items():
        if verdict != "clean":
            print(f"        {verdict}: {' '.join(names)}")
    clean = len(verdicts.get("clean", []))
    good = clean >= CLEAN_PROBES and all(KNOWN_BROKEN.fullmatch(name) for name in verdicts.get("bug", []))
    report("diagnose probes as the models mean them", "passed" if good else "failed",
           ", ".join(f"{len(names)} {verdict}" for verdict, names in sorted(verdicts.items())))


def heard_witness(binary, library, directory):
    """(cause, evidence of the witness) of the first bug of a recorded run."""
    done = run(binary, "diagnose", *model_and_inputs(directory), "--dump", directory / "dump", "--library", library, *TARGET,
               "--witness", "htp", "--format", "json")
    findings = json.loads(done.stdout)["findings"] if done.returncode in (0, 1) else []
    bug = next((finding for finding in findings if finding["kind"] == "bug"), None)
    return (bug["cause"], " ".join(line for line in bug["evidence"] if line.startswith("witness"))) if bug else ("none", done.stderr)


def ask_witness(binary, library, probes):
    """Resizes that MNN writes with another scale are right on the library; the average pool with partial windows is not."""
    resizes = sorted(directory for directory in probes.glob("Interp_*_*.?") if (directory / "dump").is_dir())
    heard = {directory.name: heard_witness(binary, library, directory) for directory in resizes}
    wrong_scale = {name: words for name, (cause, words) in heard.items() if cause == "resize_scale_taken_from_dims_not_from_model"}
    others = {name: words for name, words in wrong_scale.items() if "MNN's mapping is at fault" not in words}
    for name, words in others.items():
        print(f"        {name}: {words}")
    report("the witness blames MNN for resizes by another scale", "passed" if len(wrong_scale) >= 5 and not others else "failed",
           f"{len(wrong_scale) - len(others)} of {len(wrong_scale)}")
    cause, words = heard_witness(binary, library, probes / "AvgPoolCeilOdd")
    good = cause == "library_behaviour" and "computes the device's values" in words
    report("the witness blames the library for partial windows", "passed" if good else "failed", f"{cause}; {words}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--library", help="default: QNN_DEBUG_TEST_HTP, or onnxruntime-qnn in .venv")
    args = parser.parse_args()
    library = find_library(args.library)
    if library is None:
        report("Qualcomm's library against recorded runs", "skipped", "onnxruntime-qnn is not installed in .venv")
    else:
        for name in NETWORKS:
            directory = args.corpus / name
            sound = next((directory / run_name for run_name in SOUND_RUNS if (directory / run_name / "dump").is_dir()), None)
            if sound:
                emulate_network(args.binary, library, directory, sound)
                diagnose_network(args.binary, library, directory)
            else:
                report(f"emulate {name}", "skipped", "the recorded run is not there")
        if (args.corpus / "probes").is_dir():
            validate_probes(args.binary, library, args.corpus / "probes")
            emulate_probes(args.binary, library, args.corpus / "probes")
            diagnose_probes(args.binary, library, args.corpus / "probes")
            ask_witness(args.binary, library, args.corpus / "probes")
        else:
            report("htp validate against the logs of probes", "skipped", "the recorded probes are not there")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**COUNTS))
    return 1 if COUNTS["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
