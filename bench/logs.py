#!/usr/bin/env python3
"""How fast `qnn-debug explain` reads logs, and how much memory that takes.

    logs.py --binary build/release/qnn-debug [--megabytes 256] [--pipe-megabytes 1000]

Speed, in processor time: a noisy log (what `adb logcat`, QNN's verbose level, MNN and ONNX Runtime print; one line in
about 200 tells of an error) and a hostile one (every line has a word that a pattern asks for) are read by one thread,
beside `wc -l` and `grep -c -F`. Memory: logs of two sizes go through a pipe; the peaks must be the same. Exit status 1
when the noisy log is read at less than 200 MB/s or the memory grows. Logs come from a seed and are the same everywhere.
1 MB = 10^6 bytes.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

LEAST_SPEED = 200  # MB/s, of the noisy log
MOST_GROWTH = 4  # MB, between the short and the long log
SHORT = 64  # MB
POOL = 16_000_000  # bytes of different lines; longer logs repeat them
RUNS = 3  # the fastest counts
HOSTILE_SHARE = 4  # the hostile log is so much shorter: it takes ten times as long

WORDS = ("buffer surface client session display service request package activity window handle thread frame audio stream "
         "sensor network location battery render layer queue commit vsync policy provider cache index update state input "
         "focus policy binder power thermal cpu memory heap gc pause total free allocated").split()

ANDROID = [
    ("I", "ActivityManager", "Start proc {n}:com.example.{w}/u0a{s} for service {{com.example.{w}/.{w}Service}}"),
    ("D", "SurfaceFlinger", "{w} {w} id={n} z={s} bounds=[0,0,{n},{n}] {w}"),
    ("V", "AudioTrack", "obtainBuffer({s}) returned {n}, {w} {w}"),
    ("I", "WifiHAL", "{w}: rssi=-{s} link speed {n} {w} {w}"),
    ("D", "PowerHAL", "{w} hint {s} duration {n} ms"),
    ("W", "Looper", "Slow dispatch took {n}ms main h=android.view.{w} c={w} m={s}"),
    ("I", "art", "Background concurrent copying GC freed {n}({s}MB) {w}, paused {n}us total {n}ms"),
    ("E", "CamX", "[{w}][{s}] {w}() {w} pending {n}, {w} {w}"),
    ("D", "OpenGLRenderer", "{w} {w} textureCacheSize {n} {w}"),
    ("W", "System.err", "\tat com.example.{w}.{w}.run({w}.java:{n})"),
    ("E", "SensorService", "{w} request failed for {w} {n}"),
    ("I", "PackageManager", "{w} updated, {w}={n}, {w} {w} {w}"),
]
QNN = [
    "  <I> Starting stage: {w} {w}",
    "  <I> Completed stage: {w} ({n} us)",
    "  <V> {w}.{w} op id 0x{n:x} {w} in {s} us",
    "  <D> Tensor {n} {w} dims [1, {s}, {s}, {s}] {w}",
    "  <V> cost based {w} unit {n}: total in {s} passes",
]
MNN = [
    "The device supports: i8sdot:1, fp16:1, i8mm: 1, sve2: 0, sme2: 0",
    "[ Tensor {n} ]: {w} cost {s} ms, {w} {n} times",
    "Avg= {n}.{s} ms, {w} = {n}, min= {s} ms, max= {n} ms",
    "CPU Group: [ {s}  {s}  {s} ], 307200 - {n}",
]
ORT = [
    "2026-11-30 10:{s:02}:{s:02}.{n:06} [V:onnxruntime:Default, {w}_{w}.cc:{s} {w}] {w} {w} {n} {w}",
    "2026-11-30 10:{s:02}:{s:02}.{n:06} [I:onnxruntime:, graph_{w}.cc:{s} Apply] {w} {w} modified: {s} {w} {w}",
]
KNOWN = [
    "  <E> validateNativeOps master op validator {w}_{s}:qti.aisw:Conv2d failed 3110",
    "  <W> Initializing HtpProvider",
    "  <E> Tensor {n} and {s} have mismatching datatypes. 0x416 != 0x232.",
    "MNN_QNN: Not registered type 35, {w}_{s}.",
    "Can't open file:qnn/graph{s}",
    "  <E> Failed to finalize graph (id: {s}) with err 1002",
]
# Every line has a literal of the pattern table, and most match a regular expression.
HOSTILE = KNOWN + [
    "status error {n} {w} failed {w} scale {w} version {w}",
    "  <E> {w} {w} {n} {w}",
    "error: {w} err {s} failed version of {w} is denied, scale not supported on {w}",
    "[E:onnxruntime:, {w}.cc:{s} {w}] {w} error = {n}",
    "Input {s}: id=[0x{n:x}] op=[{w}@{s}] output0=[14ConcreteTensorIN5Tdefs14F16Crouton_TCMEE]",
    "in[{s}]:QNN_DATATYPE_FLOAT_16",
    "QNN_GRAPH_ERROR_{w} Error in file {w}.cpp, line {s}: error code {n}",
    "\"{w}_{s}\" generated: {w} {w}",
]


def filled(template, rng):
    parts = template.split("{w}")
    text = "".join(part + rng.choice(WORDS) for part in parts[:-1]) + parts[-1]
    return text.format(n=rng.randrange(1, 100_000), s=rng.randrange(1, 60))


def logcat(text, level, tag, rng):
    return (f"11-30 10:{rng.randrange(60):02}:{rng.randrange(60):02}.{rng.randrange(1000):03} {rng.randrange(500, 32000):5} "
            f"{rng.randrange(500, 32000):5} {level} {tag}: {text}")


def noisy_line(rng):
    kind = rng.random()
    if kind < 1 / 200:
        return filled(rng.choice(KNOWN), rng)
    if kind < 0.62:
        level, tag, text = rng.choice(ANDROID)
        return logcat(filled(text, rng), level, tag, rng)
    if kind < 0.84:
        return f"{rng.uniform(0, 9000):8.1f}ms [VERBOSE]" + filled(rng.choice(QNN), rng)
    if kind < 0.92:
        return filled(rng.choice(MNN), rng)
    return filled(rng.choice(ORT), rng)


def hostile_line(rng):
    return filled(rng.choice(HOSTILE), rng)


def pool_of(line, seed):
    rng = random.Random(seed)
    lines, size = [], 0
    while size < POOL:
        lines.append(line(rng).encode())
        size += len(lines[-1]) + 1
    return b"\n".join(lines) + b"\n"


def write_log(path, pool, megabytes):
    left = megabytes * 1_000_000
    with open(path, "wb") as file:
        while left > 0:
            left -= file.write(pool[:left])


def seconds_of(command):
    """Processor time, so that other work on the machine does not count; each command runs on one thread."""
    best = float("inf")
    for _ in range(RUNS):
        # Into a pipe: with /dev/null grep stops at the first match.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.read()
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}: exit status {process.returncode}")
        best = min(best, usage.ru_utime + usage.ru_stime)
    return best


def speed(binary, name, log, megabytes):
    mine = megabytes / seconds_of([binary, "explain", log])
    lines = megabytes / seconds_of(["wc", "-l", log])
    grep = megabytes / seconds_of(["grep", "-c", "-F", "-e", "could not create op", "-e", "failed 3110", "-e", "err 1002", log])
    print(f"{name:8} {mine:6.0f} MB/s   wc -l {lines:6.0f} MB/s ({mine / lines:.2f} of it)   "
          f"grep -c -F with three words {grep:6.0f} MB/s ({mine / grep:.2f} of it)")
    return mine


def memory_of(process):
    """VmHWM and RssAnon in MB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return [int(fields[name].split()[0]) / 1000 * 1.024 for name in ("VmHWM", "RssAnon")]


def peak_memory(binary, pool, megabytes):
    process = subprocess.Popen([binary, "explain", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    high = anonymous = 0.0
    left = megabytes * 1_000_000
    while left > 0:
        left -= process.stdin.write(pool[:left])
        high, now = memory_of(process)
        anonymous = max(anonymous, now)
    process.stdin.close()
    process.wait()
    return high, anonymous


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--pipe-megabytes", type=int, default=1000)
    arguments = parser.parse_args()
    pools = {"noisy": pool_of(noisy_line, 1), "hostile": pool_of(hostile_line, 2)}
    problems = []
    with tempfile.TemporaryDirectory() as directory:
        for name, pool in pools.items():
            log = Path(directory) / f"{name}.log"
            megabytes = arguments.megabytes // (HOSTILE_SHARE if name == "hostile" else 1)
            write_log(log, pool, megabytes)
            if speed(arguments.binary, name, log, megabytes) < LEAST_SPEED and name == "noisy":
                problems.append(f"the noisy log is read at less than {LEAST_SPEED} MB/s")
            log.unlink()
    for name, pool in pools.items():
        short, short_anonymous = peak_memory(arguments.binary, pool, SHORT)
        megabytes = arguments.pipe_megabytes // (HOSTILE_SHARE if name == "hostile" else 1)
        long, long_anonymous = peak_memory(arguments.binary, pool, megabytes)
        print(f"{name:8} through a pipe: peak VmHWM {short:.1f} MB for {SHORT} MB, {long:.1f} MB for {megabytes} MB; "
              f"RssAnon {short_anonymous:.1f} and {long_anonymous:.1f} MB")
        if long_anonymous - short_anonymous > MOST_GROWTH:
            problems.append(f"the memory grows with the {name} log")
    for problem in problems:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
