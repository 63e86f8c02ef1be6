// Mistakes of operators that only move data: another permutation, another order of the axes in memory, another window.
//
// All of them are one thing: element i of the output is element at(i) of the input. QNN works on tensors as they lie in
// memory, so a mistake is a view of the input in *device* order, and the operands' layouts translate on both sides.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/support/screen_mistakes.h"
#include "ops/support/slice_kernel.h"

namespace qnndbg {

/// Flat position of the output -> flat position of the input element that lands there; negative: none.
using Source = std::function<std::int64_t(std::int64_t)>;

/// Row-major positions of a shape mapped to base + sum of index * stride.
struct StridedView {
  Dims dims = {};
  Dims strides = {};
  std::int64_t base = 0;

  std::int64_t at(std::int64_t position) const;
};

/// Axis k of the view is axis permutation[k] of a dense tensor with these dims.
StridedView permuted_view(const Dims& dims, const std::vector<int>& permutation);

/// Views one after the other: position -> views[0] -> views[1] -> ...
struct Movement {
  std::vector<StridedView> views = {};

  std::int64_t operator()(std::int64_t position) const;
};

/// Where data lie: logical dims and layout.
struct Place {
  Dims dims = {};
  Layout layout = Layout::logical;
};

Place place_of(const Operand& operand);

/// A movement in device order, seen between logical orders.
Movement between(const Place& out, StridedView on_device, const Place& in);
Source between(const Place& out, Source on_device, const Place& in);

/// The hypothesis y[i] = x[source(i)], x being input 0 of the stage; cause and texts are the caller's.
Hypothesis moved(Hypothesis texts, Source source, Dims out);

/// Mistakes of one stage as they are gathered: those that the device output rules out, those that do what the right
/// movement or an earlier mistake does, and those that would read outside the input are left out.
class MovementMistakes {
 public:
  MovementMistakes(const Evidence& evidence, Dims out, Source right);

  void consider(Hypothesis texts, Source source);
  std::vector<Hypothesis> take() { return std::move(list_); }

 private:
  bool known(const Source& source) const;

  const Tensor& x_;
  Dims out_;
  Screen screen_;
  std::vector<Source> known_;
  std::vector<Hypothesis> list_;
};

/// A Transpose node that got another permutation: `meant` is the right one in device order. Up to rank 5 all are
/// tried, beyond it the inverse and exchanges of two axes. `untouched` is the cause of a node that copies.
std::vector<Hypothesis> permutation_mistakes(const Evidence& evidence, const Place& in, const Place& out,
                                             const std::vector<int>& meant, const std::vector<int>& not_remapped,
                                             const std::string& untouched, const std::string& file);

/// The only stage of a Permute or Transpose: operand 0 under a permutation of its logical axes.
Stage model_transpose_stage(const LowerContext& context, std::vector<int> permutation);

/// Stage::hypotheses of a Transpose that exchanges layouts and leaves the logical values alone.
std::function<std::vector<Hypothesis>(const Evidence&)> layout_exchange_mistakes(Place in, Place out, std::string file);

/// A Reshape whose data was read or written in channel-last order where the model means channel-first, or the reverse.
std::vector<Hypothesis> flatten_mistakes(const Evidence& evidence, const Dims& in, const Dims& out,
                                         const std::string& file);

/// A StridedSlice that begins elsewhere, on another axis, or with another step. `axes`: the right window, one per
/// logical axis of the input; `out` may have axes inserted or removed.
std::vector<Hypothesis> slice_mistakes(const Evidence& evidence, const Place& in, const Place& out,
                                       const std::vector<SliceAxis>& axes, const std::string& file);

/// A Gather along another axis, or with other indices (input 1 of the stage). `axis` is the right one, of logical dims.
std::vector<Hypothesis> gather_mistakes(const Evidence& evidence, const Place& in, const Place& out, int axis);

/// The permutation that brings logical order into device order, and its inverse. Identity for rank < 3.
std::vector<int> to_device_permutation(int rank, Layout layout);
std::vector<int> to_logical_permutation(int rank, Layout layout);

}  // namespace qnndbg
