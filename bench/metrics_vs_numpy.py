#!/usr/bin/env python3
"""Times the metrics of one tensor against NumPy computing the same, on one thread, and checks that both agree.

    bench/metrics_vs_numpy.py build/release/bench/metrics_bench

The device's tensor is float16, the reference float32. Both sides produce every figure of the struct Metrics. Prints a
table; the exit status is 1 when a ratio is below the target or a figure differs. Needs NumPy.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is loaded
import numpy as np  # noqa: E402

TARGET = 15.0
FAILED = 1


def rank_index(permille, count):
    """Position in sorted order of the smallest value with at least permille/1000 of all at or below it."""
    return (count * permille + 999) // 1000 - 1


def quantiles(errors):
    """Exact p50, p99, p999 and the fifth largest: nested partitions, each on what the one before left above. This is
    several times faster than np.quantile or one partition with a list of positions, and than a sort."""
    found = []
    rest, base = errors, 0
    for index in (*(rank_index(q, errors.size) for q in (500, 990, 999)), max(errors.size - 5, 0)):
        rest = np.partition(rest, index - base)
        rest, base = rest[index - base :], index
        found.append(rest[0])
    return found


def sum_of_products(a, b):
    """Accumulates in double, as we do, without a double copy of the arrays."""
    return float(np.einsum("i,i->", a, b, dtype=np.float64))


def ratio(error, size):
    return error / size if size > 0 else (math.inf if error > 0 else 0.0)


def compare(half, x):
    """Every figure of Metrics, the fastest way that NumPy has."""
    a = half.astype(np.float32)
    count = a.size
    result = {
        "actual_zero": count - np.count_nonzero(a),
        "expected_zero": count - np.count_nonzero(x),
    }
    a_finite, x_finite = np.isfinite(a), np.isfinite(x)
    if not (a_finite.all() and x_finite.all()):
        result |= {"actual_nan": np.count_nonzero(np.isnan(a)), "actual_inf": np.count_nonzero(np.isinf(a))}
        result |= {"expected_nan": np.count_nonzero(np.isnan(x)), "expected_inf": np.count_nonzero(np.isinf(x))}
        both = a_finite & x_finite
        a, x = a[both], x[both]
    e = a - x
    errors = np.abs(e)
    p50, p99, p999, fifth = quantiles(errors)
    top = np.flatnonzero(errors >= fifth)
    worst = top[np.argsort(-errors[top], kind="stable")][:5]
    x_min, x_max = float(x.min()), float(x.max())
    largest = max(abs(x_min), abs(x_max))
    max_abs = float(errors[worst[0]])
    sum_abs = float(errors.sum(dtype=np.float64))
    ee, xx, aa, ax = sum_of_products(e, e), sum_of_products(x, x), sum_of_products(a, a), sum_of_products(a, x)
    return result | {
        "max_abs": max_abs,
        "mean_abs": sum_abs / errors.size,
        "mean": float(e.mean(dtype=np.float64)),
        "max_rel": ratio(max_abs, largest),
        "mean_rel": ratio(sum_abs, float(np.abs(x).sum(dtype=np.float64))),
        "rmse": math.sqrt(ee / errors.size),
        "sqnr_db": 10 * math.log10(xx / ee) if ee > 0 else math.inf,
        "cosine": ax / math.sqrt(aa * xx),
        "p50": float(p50),
        "p99": float(p99),
        "p999": float(p999),
        "expected_min": x_min,
        "expected_max": x_max,
        "actual_min": float(a.min()),
        "actual_max": float(a.max()),
        **{f"worst{i}": int(index) for i, index in enumerate(worst)},
    }


def time_numpy(half, x, seconds):
    """The best of the runs that fit the time, and at least three."""
    best, runs, start = math.inf, 0, time.perf_counter()
    while runs < 3 or time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        result = compare(half, x)
        best = min(best, time.perf_counter() - begin)
        runs += 1
    return best, result


def time_ours(program, half, x, seconds, directory):
    """The best repetition of the benchmark program on the same arrays."""
    actual, expected, out = (pathlib.Path(directory) / name for name in ("actual.f16", "expected.f32", "out.json"))
    half.tofile(actual)
    x.tofile(expected)
    command = [program, f"--pair={actual}", f"--pair={expected}", "--benchmark_filter=metrics_of_pair"]
    command += [f"--benchmark_out={out}", "--benchmark_out_format=json", "--benchmark_min_time=0.001"]
    # A repetition is the mean of its runs: short ones, so that the best of them compares with NumPy's best run.
    command += [f"--benchmark_repetitions={max(3, round(seconds * 50))}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    runs = [r for r in json.loads(out.read_text())["benchmarks"] if r["run_type"] == "iteration"]
    best = min(runs, key=lambda r: r["real_time"])
    return best["real_time"] / 1e3, best  # milliseconds


def differences(numpy_result, our_result):
    """Names of the figures that do not agree."""
    return [
        name
        for name, value in numpy_result.items()
        if name in our_result and not math.isclose(value, our_result[name], rel_tol=2e-6, abs_tol=1e-12)
    ]


def made_up_pair(count):
    """Normal data, device noise of 1e-3, rounding to half."""
    random = np.random.default_rng(1)
    x = random.standard_normal(count, dtype=np.float32)
    noise = random.standard_normal(count, dtype=np.float32)
    return (x * (1 + np.float32(1e-3) * noise)).astype(np.float16), x


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of the built metrics_bench")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1 << 20, 1 << 23], help="numbers of elements")
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each measurement")
    arguments = parser.parse_args()

    failed = False
    print(f"NumPy {np.__version__}, one thread, float16 device tensor against a float32 reference; target {TARGET:g}x")
    print(f"{'elements':>10} {'NumPy':>11} {'ours':>11} {'ratio':>7}")
    for count in arguments.sizes:
        half, x = made_up_pair(count)
        with tempfile.TemporaryDirectory() as directory:
            ours, our_result = time_ours(arguments.program, half, x, arguments.seconds, directory)
        theirs, numpy_result = time_numpy(half, x, arguments.seconds)
        times = theirs / ours
        wrong = differences(numpy_result, our_result)
        failed = failed or times < TARGET or bool(wrong)
        note = f"  differs: {', '.join(wrong)}" if wrong else ("" if times >= TARGET else "  below the target")
        print(f"{count:>10} {theirs * 1e3:>8.2f} ms {ours * 1e3:>8.3f} ms {times:>6.1f}x{note}")
    return FAILED if failed else 0


if __name__ == "__main__":
    sys.exit(main())
