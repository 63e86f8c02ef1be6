// Exact quantiles of many non-negative floats, in one pass over them as a rule. Internal to the room.
//
// The idea is Floyd and Rivest's (Expected time bounds for selection, CACM 18(3), 1975): the quantiles of a random
// sample bracket those of the whole, so that one pass needs to keep only the few values inside the bracket and to
// count those below it. A bracket that turns out wrong is noticed (see Window::at_rank), never believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace qnndbg {

/// Keeps the values of an interval (low, high] of a stream that is fed in pieces.
class Window {
 public:
  /// Streams up to this length are kept whole, so that no sample is needed.
  static constexpr std::int64_t kSmall = 4096;
  /// A good size for the sample of a longer stream.
  static std::int64_t sample_size(std::int64_t total);

  /// A window for the quantiles first..last (0 to 1) of a stream of at most `total` values of which `sample` is a
  /// random part (reordered here). Where values are few the window keeps all of them.
  Window(std::span<float> sample, std::int64_t total, double first, double last);

  void add(std::span<const float> values);

  /// The value of this rank (from 1) among all values added; nullopt when it lies outside the window or when more
  /// values fell into the window than it holds.
  std::optional<float> at_rank(std::int64_t rank) const;

 private:
  float low_, high_;
  std::size_t capacity_ = 0;
  std::unique_ptr<float[]> stored_;
  std::size_t stored_count_ = 0;
  std::int64_t seen_ = 0, above_ = 0;  // values added; those above low_
  bool overflowed_ = false;
};

/// The value of `rank` (from 1) among `values`, none of which is negative or NaN.
float value_at_rank(std::span<const float> values, std::int64_t rank);

/// The values of all `ranks` (from 1) in two passes over a stream, whatever the values are. `feed` calls its argument
/// with every piece of the stream, and the same ones each time.
using Consumer = std::function<void(std::span<const float>)>;
std::vector<float> values_at_ranks(const std::function<void(const Consumer&)>& feed,
                                   std::span<const std::int64_t> ranks);

}  // namespace qnndbg
