#include "tensor/metrics.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "tensor/metrics_simd.h"
#include "tensor/quantiles.h"

namespace qnndbg {
namespace {

using simd::kBlock;

/// The device's side in f32.
struct FloatSource {
  std::span<const float> values;

  float at(std::size_t i) const { return values[i]; }
  const float* block(std::size_t first, std::size_t, float*) const { return values.data() + first; }
};

/// The device's side in half precision, decoded one block at a time into a buffer of the caller's.
struct HalfSource {
  std::span<const std::uint16_t> values;
  HalfKind kind;

  float at(std::size_t i) const { return half_to_float(values[i], kind); }
  const float* block(std::size_t first, std::size_t n, float* buffer) const {
    half_to_float(values.subspan(first, n), std::span(buffer, n), kind);
    return buffer;
  }
};

struct Specials {
  std::int64_t nan = 0, inf = 0, zero = 0;

  void add(float value) {
    nan += std::isnan(value);
    inf += std::isinf(value);
    zero += value == 0;
  }
};

/// Up to kBlock elements, reduced to the pairs with both sides finite.
struct Block {
  std::size_t first = 0;  // index of the block's first element
  std::size_t count = 0;  // pairs; may be 0
  const float *a = nullptr, *x = nullptr;
  const float* errors = nullptr;          // |e| of each pair
  const std::uint16_t* offset = nullptr;  // of each pair from `first`; null where no element was left out
  Specials a_specials, x_specials;        // over all elements
  simd::BlockSums sums;                   // over the pairs

  std::size_t index_of(std::size_t pair) const { return first + (offset == nullptr ? pair : offset[pair]); }
};

/// Cuts two arrays into Blocks. A Block lives until the next one; its arrays stay in the L1 cache meanwhile, so that
/// the data come from memory once however many steps look at them.
template <class Source>
class Blocks {
 public:
  Blocks(Source actual, std::span<const float> expected) : actual_(actual), expected_(expected) {}

  template <class Use>
  void for_each(const Use& use) {
    for (std::size_t first = 0; first < expected_.size(); first += kBlock)
      use(std::as_const(load(first, std::min(kBlock, expected_.size() - first))));
  }

 private:
  const Block& load(std::size_t first, std::size_t n) {
    block_ = Block{};
    block_.first = first;
    block_.count = n;
    block_.a = actual_.block(first, n, decoded_.data());
    block_.x = expected_.data() + first;
    block_.errors = errors_.data();
    block_.sums = simd::block_sums(block_.a, block_.x, n, errors_.data());
    // Squares of finite floats do not overflow a double: these sums are finite unless an element is not.
    if (std::isfinite(block_.sums.aa + block_.sums.xx)) {
      block_.a_specials.zero = block_.sums.a_zero;
      block_.x_specials.zero = block_.sums.x_zero;
    } else {
      leave_out_specials(n);
    }
    return block_;
  }

  void leave_out_specials(std::size_t n) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const float a = block_.a[i], x = block_.x[i];
      block_.a_specials.add(a);
      block_.x_specials.add(x);
      pair_a_[count] = a;
      pair_x_[count] = x;
      offset_[count] = static_cast<std::uint16_t>(i);
      count += std::isfinite(a) && std::isfinite(x);
    }
    block_.count = count;
    block_.a = pair_a_.data();
    block_.x = pair_x_.data();
    block_.offset = offset_.data();
    block_.sums = simd::block_sums(block_.a, block_.x, count, errors_.data());
  }

  static_assert(kBlock <= std::numeric_limits<std::uint16_t>::max());

  Source actual_;
  std::span<const float> expected_;
  Block block_;
  alignas(64) std::array<float, kBlock> decoded_, errors_, pair_a_, pair_x_;
  std::array<std::uint16_t, kBlock> offset_;
};

/// The largest errors so far.
class Worst {
 public:
  /// Blocks come in ascending order, and among equal errors the first stays first.
  void add(const Block& block) {
    if (block.sums.e_max <= threshold()) return;
    for (std::size_t i = 0; i < block.count; ++i)
      if (block.errors[i] > threshold())
        insert(block.errors[i], {static_cast<std::int64_t>(block.index_of(i)), block.a[i], block.x[i]});
  }

  std::vector<WorstElement> elements() const { return {elements_.begin(), elements_.begin() + size_}; }

 private:
  static constexpr std::ptrdiff_t kKept = 5;

  /// An error has to be larger than this to enter.
  float threshold() const { return size_ < kKept ? 0 : errors_[kKept - 1]; }

  void insert(float error, const WorstElement& element) {
    if (size_ < kKept) ++size_;
    std::ptrdiff_t place = size_ - 1;
    for (; place > 0 && errors_[place - 1] < error; --place) {
      errors_[place] = errors_[place - 1];
      elements_[place] = elements_[place - 1];
    }
    errors_[place] = error;
    elements_[place] = element;
  }

  std::ptrdiff_t size_ = 0;
  std::array<float, kKept> errors_ = {};
  std::array<WorstElement, kKept> elements_ = {};
};

/// What the figures of Metrics are made of.
struct Totals {
  std::int64_t compared = 0;
  Specials a, x;
  simd::BlockSums sums;

  void add(const Block& block) {
    a = {a.nan + block.a_specials.nan, a.inf + block.a_specials.inf, a.zero + block.a_specials.zero};
    x = {x.nan + block.x_specials.nan, x.inf + block.x_specials.inf, x.zero + block.x_specials.zero};
    compared += static_cast<std::int64_t>(block.count);
    sums.add(block.sums);
  }
};

double relative(double error, double size) {
  if (size > 0) return error / size;
  return error > 0 ? std::numeric_limits<double>::infinity() : 0;
}

double cosine_of(const simd::BlockSums& s) {
  if (s.aa == 0 && s.xx == 0) return 1;
  if (s.aa == 0 || s.xx == 0) return 0;
  // Squares of floats, summed, lie between 1e-90 and 1e87: their product neither overflows nor vanishes.
  return std::clamp(s.ax / std::sqrt(s.aa * s.xx), -1.0, 1.0);
}

double sqnr_of(const simd::BlockSums& s) {
  if (s.ee == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(s.xx / s.ee);
}

Metrics figures_of(const Totals& totals) {
  Metrics m;
  m.compared = totals.compared;
  m.actual_nan = totals.a.nan;
  m.actual_inf = totals.a.inf;
  m.actual_zero = totals.a.zero;
  m.expected_nan = totals.x.nan;
  m.expected_inf = totals.x.inf;
  m.expected_zero = totals.x.zero;
  m.sqnr_db = sqnr_of(totals.sums);
  m.cosine = cosine_of(totals.sums);
  if (m.compared == 0) return m;
  const simd::BlockSums& s = totals.sums;
  const auto n = static_cast<double>(m.compared);
  m.max_abs = s.e_max;
  m.mean_abs = s.abs_e / n;
  m.mean = s.e / n;
  m.expected_max_abs = std::max(std::abs(s.x_min), std::abs(s.x_max));
  m.max_rel = relative(m.max_abs, m.expected_max_abs);
  m.mean_rel = relative(s.abs_e, s.abs_x);
  m.rmse = std::sqrt(s.ee / n);
  m.expected_min = s.x_min;
  m.expected_max = s.x_max;
  m.actual_min = s.a_min;
  m.actual_max = s.a_max;
  return m;
}

/// The smallest rank (from 1) with at least `permille` thousandths of `count` values at or below it; in integers, as
/// 0.999 * count may round to either side.
std::int64_t rank_of(std::int64_t permille, std::int64_t count) { return (count * permille + 999) / 1000; }

/// |e| at places spread evenly but not regularly, since tensors have periods of their own (rows, channels).
template <class Source>
std::vector<float> sample_errors(const Source& actual, std::span<const float> expected) {
  std::vector<float> sample;
  const auto count = static_cast<std::int64_t>(expected.size());
  if (count <= Window::kSmall) return sample;
  const auto stride = static_cast<std::size_t>(count / Window::sample_size(count));
  std::uint32_t random = 1;
  for (std::size_t first = 0; first + stride <= expected.size(); first += stride) {
    random = random * 1664525u + 1013904223u;  // Numerical Recipes' linear congruential generator
    const std::size_t i = first + (static_cast<std::uint64_t>(random) * stride >> 32);
    const float error = std::abs(actual.at(i) - expected[i]);
    if (std::isfinite(error)) sample.push_back(error);
  }
  return sample;
}

template <class Source>
Metrics compare(Source actual, std::span<const float> expected) {
  const auto count = static_cast<std::int64_t>(expected.size());
  std::vector<float> sample = sample_errors(actual, expected);
  Window middle(sample, count, 0.5, 0.5);
  Window tail(sample, count, 0.99, 1);
  Worst worst;
  Totals totals;
  Blocks<Source> blocks(actual, expected);
  blocks.for_each([&](const Block& block) {
    const std::span errors(block.errors, block.count);
    totals.add(block);
    middle.add(errors);
    tail.add(errors);
    worst.add(block);
  });

  Metrics m = figures_of(totals);
  m.count = count;
  m.worst = worst.elements();
  if (m.compared == 0) return m;

  const std::array<std::int64_t, 3> ranks = {rank_of(500, m.compared), rank_of(990, m.compared),
                                             rank_of(999, m.compared)};
  const auto p50 = middle.at_rank(ranks[0]), p99 = tail.at_rank(ranks[1]), p999 = tail.at_rank(ranks[2]);
  if (p50 && p99 && p999) {
    std::tie(m.p50, m.p99, m.p999) = std::tuple(*p50, *p99, *p999);
  } else {
    const auto all_errors = [&](const auto& use) {
      blocks.for_each([&](const Block& block) { use(std::span(block.errors, block.count)); });
    };
    const std::vector<float> values = values_at_ranks(all_errors, ranks);
    std::tie(m.p50, m.p99, m.p999) = std::tuple(values[0], values[1], values[2]);
  }
  return m;
}

}  // namespace

Metrics compute_metrics(std::span<const float> actual, std::span<const float> expected) {
  assert(actual.size() == expected.size());
  return compare(FloatSource{actual}, expected);
}

Metrics compute_metrics(std::span<const std::uint16_t> actual, HalfKind half, std::span<const float> expected) {
  assert(actual.size() == expected.size());
  return compare(HalfSource{actual, half}, expected);
}

}  // namespace qnndbg
