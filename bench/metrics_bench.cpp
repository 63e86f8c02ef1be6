// Speed of the tensor room: metrics, half conversion, layouts.
//
//   metrics_bench                                    made-up data of several sizes
//   metrics_bench --pair=ACTUAL.f16 --pair=EXPECTED.f32 ...
//                                                    also the raw little-endian arrays of two files; the metrics are
//                                                    reported as counters (bench/metrics_vs_numpy.py checks them)
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/half.h"
#include "tensor/layout.h"
#include "tensor/mapped_file.h"
#include "tensor/metrics.h"

namespace {

using namespace qnndbg;

struct Pair {
  std::vector<std::uint16_t> actual;
  std::vector<float> expected;
};

/// Normal data with the rounding of half precision and a little noise on the device's side.
Pair made_up_pair(std::size_t n) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Pair pair{std::vector<std::uint16_t>(n), std::vector<float>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    pair.expected[i] = normal(random);
    pair.actual[i] = float_to_half(pair.expected[i] * (1 + 1e-3f * normal(random)), HalfRounding::nearest);
  }
  return pair;
}

void report_elements(benchmark::State& state, std::size_t n) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n));
}

void metrics_half(benchmark::State& state) {
  const Pair pair = made_up_pair(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(compute_metrics(pair.actual, HalfKind::htp, pair.expected));
  report_elements(state, pair.expected.size());
}
BENCHMARK(metrics_half)->Arg(1 << 12)->Arg(1 << 16)->Arg(1 << 20)->Arg(1 << 23)->Unit(benchmark::kMicrosecond);

void metrics_float(benchmark::State& state) {
  const Pair pair = made_up_pair(static_cast<std::size_t>(state.range(0)));
  std::vector<float> actual(pair.actual.size());
  half_to_float(pair.actual, actual, HalfKind::htp);
  for (auto _ : state) benchmark::DoNotOptimize(compute_metrics(actual, pair.expected));
  report_elements(state, pair.expected.size());
}
BENCHMARK(metrics_float)->Arg(1 << 20)->Arg(1 << 23)->Unit(benchmark::kMicrosecond);

/// The device's tensor equals the reference: every error is zero.
void metrics_exact(benchmark::State& state) {
  const Pair pair = made_up_pair(static_cast<std::size_t>(state.range(0)));
  std::vector<float> expected(pair.actual.size());
  half_to_float(pair.actual, expected, HalfKind::htp);
  for (auto _ : state) benchmark::DoNotOptimize(compute_metrics(pair.actual, HalfKind::htp, expected));
  report_elements(state, expected.size());
}
BENCHMARK(metrics_exact)->Arg(1 << 20)->Unit(benchmark::kMicrosecond);

/// Errors of three values only, which no sample brackets well: the quantiles take the slow way.
void metrics_ties(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<float> actual(n), expected(n);
  for (std::size_t i = 0; i < n; ++i) actual[i] = static_cast<float>(1 + i % 3);
  for (auto _ : state) benchmark::DoNotOptimize(compute_metrics(actual, expected));
  report_elements(state, n);
}
BENCHMARK(metrics_ties)->Arg(1 << 20)->Unit(benchmark::kMicrosecond);

/// Every block has an element that is not finite.
void metrics_nan(benchmark::State& state) {
  Pair pair = made_up_pair(static_cast<std::size_t>(state.range(0)));
  for (std::size_t i = 0; i < pair.expected.size(); i += 1000) pair.expected[i] = NAN;
  for (auto _ : state) benchmark::DoNotOptimize(compute_metrics(pair.actual, HalfKind::htp, pair.expected));
  report_elements(state, pair.expected.size());
}
BENCHMARK(metrics_nan)->Arg(1 << 20)->Unit(benchmark::kMicrosecond);

void half_decode(benchmark::State& state) {
  const Pair pair = made_up_pair(1 << 20);
  std::vector<float> out(pair.actual.size());
  for (auto _ : state) {
    half_to_float(pair.actual, out, HalfKind::htp);
    benchmark::ClobberMemory();
  }
  report_elements(state, out.size());
}
BENCHMARK(half_decode)->Unit(benchmark::kMicrosecond);

void half_round(benchmark::State& state) {
  Pair pair = made_up_pair(1 << 20);
  for (auto _ : state) {
    round_to_half(pair.expected, HalfRounding::toward_zero, HalfKind::htp);
    benchmark::ClobberMemory();
  }
  report_elements(state, pair.expected.size());
}
BENCHMARK(half_round)->Unit(benchmark::kMicrosecond);

/// NHWC to NCHW of a tensor with this many channels and positions; bytes are those of the f32 result.
void decode_nhwc(benchmark::State& state, DType type) {
  const Dims dims = {1, state.range(0), state.range(1), 1};
  const auto n = static_cast<std::size_t>(element_count(dims));
  std::vector<std::byte> raw(n * size_of(type));
  std::mt19937 random(1);
  for (std::byte& b : raw) b = static_cast<std::byte>(random() & 0x3f);
  std::vector<float> logical(n);
  for (auto _ : state) {
    decode_to_logical(raw, type, {0.1, -3}, HalfKind::htp, dims, Layout::channel_last, logical);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(n * sizeof(float)));
}
BENCHMARK_CAPTURE(decode_nhwc, f16, DType::f16)->ArgsProduct({{3, 16, 96, 100, 1024}, {7 * 7, 64 * 64}});
BENCHMARK_CAPTURE(decode_nhwc, f32, DType::f32)->Args({64, 64 * 64});
BENCHMARK_CAPTURE(decode_nhwc, ufixed16, DType::ufixed16)->Args({64, 64 * 64});

/// Reads a raw file into `out`; false when it is missing or its size is no multiple of the element's.
template <class T>
bool read_raw(const std::string& path, std::vector<T>& out) {
  const auto file = MappedFile::open(path);
  if (!file || file->bytes().size() % sizeof(T) != 0) return false;
  out.resize(file->bytes().size() / sizeof(T));
  std::memcpy(out.data(), file->bytes().data(), file->bytes().size());
  return true;
}

void metrics_of_pair(benchmark::State& state, const Pair& pair) {
  Metrics m;
  for (auto _ : state) {
    m = compute_metrics(pair.actual, HalfKind::htp, pair.expected);
    benchmark::DoNotOptimize(m);
  }
  report_elements(state, pair.expected.size());
  state.counters["max_abs"] = m.max_abs;
  state.counters["mean_abs"] = m.mean_abs;
  state.counters["mean"] = m.mean;
  state.counters["max_rel"] = m.max_rel;
  state.counters["mean_rel"] = m.mean_rel;
  state.counters["rmse"] = m.rmse;
  state.counters["sqnr_db"] = m.sqnr_db;
  state.counters["cosine"] = m.cosine;
  state.counters["p50"] = m.p50;
  state.counters["p99"] = m.p99;
  state.counters["p999"] = m.p999;
  state.counters["actual_zero"] = static_cast<double>(m.actual_zero);
  state.counters["expected_zero"] = static_cast<double>(m.expected_zero);
  for (std::size_t i = 0; i < m.worst.size(); ++i)
    state.counters["worst" + std::to_string(i)] = static_cast<double>(m.worst[i].index);
}

/// Takes --pair arguments off the command line and registers a benchmark for each two; false when one is unusable.
bool register_pairs(int& argc, char** argv, std::vector<Pair>& pairs) {
  constexpr std::string_view kOption = "--pair=";
  std::vector<std::string> paths;
  int kept = 0;
  for (int i = 0; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(kOption)) {
      paths.emplace_back(argument.substr(kOption.size()));
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  pairs.resize(paths.size() / 2);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    Pair& pair = pairs[i];
    if (!read_raw(paths[2 * i], pair.actual) || !read_raw(paths[2 * i + 1], pair.expected)) return false;
    if (pair.actual.size() != pair.expected.size()) return false;
    const std::string name = "metrics_of_pair/" + std::to_string(pair.expected.size());
    benchmark::RegisterBenchmark(name.c_str(), [&pair](benchmark::State& state) {
      metrics_of_pair(state, pair);
    })->Unit(benchmark::kMillisecond);
  }
  return paths.size() % 2 == 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Pair> pairs;
  if (!register_pairs(argc, argv, pairs)) {
    std::fputs("metrics_bench: --pair takes an f16 and an f32 file with as many elements\n", stderr);
    return 2;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
