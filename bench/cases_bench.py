#!/usr/bin/env python3
"""What `diagnose` costs on every recorded run: memory against its limit, broken runs against sound ones, probes in milliseconds.

usage: cases_bench.py --binary qnn-debug --corpus DIR [--runs N] [--only NAME ...]

DIR holds unpacked archives: <model>/model.mnn with <model>/<case>/dump, or <set>/<case>/{model.mnn,dump}.
  memory  the largest RssAnon of the process, over its limit: model + 3 x the largest operator's tensors in fp32 + 64 MB; wanted: below 1
  time    median wall time of a case over that of the fastest case of the same model (a sound run); printed, the worst of each model
  probes  networks of one or two operators: the median over all, wanted: below 50 ms
Exit status 1 if a figure is beyond what is wanted.
"""
import argparse
import json
import os
import statistics
import sys

from diagnose_bench import MB, diagnose_seconds, largest_operator_bytes, peak_rss_anon

PROBE_MS = 50


def cases_of(root):
    """(case name, folder of the model, dump) of every case with a dump."""
    shared = os.path.exists(os.path.join(root, "model.mnn"))
    for name in sorted(os.listdir(root)):
        case = os.path.join(root, name)
        dump = os.path.join(case, "dump")
        model = root if shared else case
        if os.path.isdir(dump) and os.path.exists(os.path.join(model, "model.mnn")):
            yield name, model, dump


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*")
    args = parser.parse_args()
    bad = False
    for archive in sorted(os.listdir(args.corpus)):
        root = os.path.join(args.corpus, archive)
        if not os.path.isdir(root) or (args.only and archive not in args.only):
            continue
        times, worst_memory, unanswered = {}, (0, ""), 0
        for name, model, dump in cases_of(root):
            command = [args.binary, "diagnose", "--model", os.path.join(model, "model.mnn"), "--inputs",
                       os.path.join(model, "input", "inputs.json"), "--dump", dump, "--format", "json", "--threads", "2"]
            try:
                runs = [diagnose_seconds(command) for _ in range(args.runs)]
            except SystemExit:  # a dump without an answer, such as one of another model
                unanswered += 1
                continue
            times[name] = statistics.median(seconds for seconds, _ in runs)
            document = json.loads(runs[0][1])
            limit = os.path.getsize(os.path.join(model, "model.mnn")) + 3 * largest_operator_bytes(document) + 64 * MB
            worst_memory = max(worst_memory, (peak_rss_anon(command) / limit, name))
        if not times:
            continue
        bad |= worst_memory[0] > 1
        line = f"{archive}: {len(times)} runs, memory at most {worst_memory[0]:.2f} of the limit ({worst_memory[1]})"
        shared = os.path.exists(os.path.join(root, "model.mnn"))
        if shared:
            fastest = min(times, key=times.get)
            slowest = max(times, key=times.get)
            line += (f"; time {times[fastest] * 1e3:.0f} ms ({fastest}) to {times[slowest] * 1e3:.0f} ms ({slowest}),"
                     f" {times[slowest] / times[fastest]:.2f} times")
        else:
            median = statistics.median(times.values()) * 1e3
            slowest = max(times, key=times.get)
            bad |= median > PROBE_MS
            line += f"; time {median:.0f} ms (median), {times[slowest] * 1e3:.0f} ms at most ({slowest})"
        if unanswered:
            line += f"; {unanswered} without an answer"
        print(line, flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
