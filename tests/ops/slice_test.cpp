// Slice, SliceTf and StridedSlice: the positions of each axis written out as a list.
#include "oracle.h"

namespace qnndbg::test {
namespace {

constexpr int kLow = std::numeric_limits<int>::min();
constexpr int kHigh = std::numeric_limits<int>::max();

using Positions = std::vector<std::int64_t>;

Positions all_of(std::int64_t extent) {
  Positions all;
  for (std::int64_t i = 0; i < extent; ++i) all.push_back(i);
  return all;
}

/// What Python's range of a slice gives: begin, begin + step, ... before end.
Positions python_slice(std::int64_t extent, std::int64_t begin, std::int64_t end, std::int64_t step) {
  const std::int64_t low = step > 0 ? 0 : -1;
  const auto clip = [&](std::int64_t i) {
    if (i < 0) i += extent;
    return std::min(std::max(i, low), step > 0 ? extent : extent - 1);
  };
  Positions positions;
  for (std::int64_t i = clip(begin); step > 0 ? i < clip(end) : i > clip(end); i += step) positions.push_back(i);
  return positions;
}

Dims dims_of(const std::vector<Positions>& axes) {
  Dims dims;
  for (const Positions& axis : axes) dims.push_back(static_cast<std::int64_t>(axis.size()));
  return dims;
}

/// y is x at the listed positions; `dims` differs where axes of extent 1 were added or removed.
void expect_window(Tensor y, const Tensor& x, const std::vector<Positions>& axes, const Dims& dims) {
  ASSERT_EQ(to_string(y.dims()), to_string(dims));
  y.reshape(dims_of(axes));
  expect_moved(y, x, y.dims(), [&](const Dims& o) {
    Dims source;
    for (std::size_t k = 0; k < o.size(); ++k) source.push_back(axes[k][u(o[k])]);
    return source;
  });
}

// ---- Slice

OneOp slice_model(int axis, const std::vector<int>& points, wire::Source source, int outputs, int operands = 1) {
  return OneOp(
      wire::Kind_Slice, operands, wire::OpParameter_Slice,
      [=](Builder& b) { return wire::CreateSliceDirect(b, axis, points.empty() ? nullptr : &points, source).Union(); },
      outputs);
}

/// The parts follow each other along `axis`.
void expect_parts(const OneOp& model, const std::vector<const Tensor*>& inputs, int axis, const Positions& sizes) {
  auto parts = model.run(inputs);
  ASSERT_TRUE(parts) << parts.error().message;
  ASSERT_EQ(parts->size(), sizes.size());
  const Tensor& x = *inputs[0];
  std::int64_t at = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    std::vector<Positions> axes;
    for (std::int64_t extent : x.dims()) axes.push_back(all_of(extent));
    axes[u(axis)].clear();
    for (std::int64_t i = 0; i < sizes[k]; ++i) axes[u(axis)].push_back(at++);
    expect_window((*parts)[k].clone(), x, axes, dims_of(axes));
  }
  EXPECT_EQ(at, x.dims()[u(axis)]);
}

TEST(Slice, RandomPartsInEveryForm) {
  Rng rng(100);
  for (int n = 0; n < 60; ++n) {
    const int rank = pick(rng, 1, 4);
    const int axis = pick(rng, 0, rank - 1);
    const int written = coin(rng) ? axis : axis - rank;
    Positions sizes;
    std::vector<int> listed;
    std::vector<int> cuts;
    std::int64_t total = 0;
    for (int k = pick(rng, 2, 4); k > 0; --k) {
      sizes.push_back(pick(rng, 1, 3));
      listed.push_back(static_cast<int>(sizes.back()));
      total += sizes.back();
      if (k > 1) cuts.push_back(static_cast<int>(total));
    }
    const int outputs = static_cast<int>(sizes.size());
    Dims dims = random_dims(rng, rank, 1, 4);
    dims[u(axis)] = total;
    const Tensor x = coin(rng) ? random_tensor(rng, dims) : random_integers(rng, dims, -9, 9);
    expect_parts(slice_model(written, cuts, wire::Source_CAFFE, outputs), {&x}, axis, sizes);
    expect_parts(slice_model(written, listed, wire::Source_TORCH, outputs), {&x}, axis, sizes);
    const Tensor operand = Tensor::of({listed.begin(), listed.end()});
    expect_parts(slice_model(written, {}, wire::Source_TENSORFLOW, outputs, 2), {&x, &operand}, axis, sizes);
    listed[u(pick(rng, 0, outputs - 1))] = -1;
    expect_parts(slice_model(written, listed, wire::Source_ONNX, outputs), {&x}, axis, sizes);
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(Slice, EqualParts) {
  Rng rng(101);
  const Tensor x = random_tensor(rng, {2, 6});
  expect_parts(slice_model(1, {}, wire::Source_ONNX, 3), {&x}, 1, {2, 2, 2});
  expect_parts(slice_model(1, {3}, wire::Source_TENSORFLOW, 3), {&x}, 1, {2, 2, 2});
  expect_parts(slice_model(1, {2}, wire::Source_ONNX, 3), {&x}, 1, {2, 2, 2});
  const Tensor seven = random_tensor(rng, {7});
  expect_parts(slice_model(0, {3}, wire::Source_TORCH, 3), {&seven}, 0, {3, 3, 1});
}

TEST(Slice, PartsThatDoNotFitAreRefused) {
  Rng rng(102);
  const Tensor x = random_tensor(rng, {2, 6});
  for (int axis : {2, -3, kLow, kHigh}) slice_model(axis, {}, wire::Source_ONNX, 2).expect_error({&x}, "axis");
  slice_model(1, {}, wire::Source_ONNX, 4).expect_error({&x}, "four equal parts of six");
  slice_model(1, {4}, wire::Source_TENSORFLOW, 4).expect_error({&x}, "four equal parts of six");
  slice_model(1, {3, 4}, wire::Source_ONNX, 2).expect_error({&x}, "more than there is");
  slice_model(1, {3, 2}, wire::Source_ONNX, 2).expect_error({&x}, "less than there is");
  slice_model(1, {-1, -1}, wire::Source_ONNX, 2).expect_error({&x}, "two open parts");
  slice_model(1, {1, 2, 3}, wire::Source_ONNX, 2).expect_error({&x}, "three sizes for two outputs");
  slice_model(1, {4, 2}, wire::Source_CAFFE, 3).expect_error({&x}, "cuts in the wrong order");
  slice_model(1, {7}, wire::Source_CAFFE, 2).expect_error({&x}, "a cut behind the end");
  for (wire::Source source : {wire::Source_CAFFE, wire::Source_ONNX, wire::Source_TENSORFLOW}) {
    for (int point : {kLow, kHigh}) slice_model(1, {point}, source, 2).expect_error({&x}, "an absurd point");
    slice_model(1, {kHigh, kLow, kHigh}, source, 4).expect_error({&x}, "absurd points");
  }
  slice_model(1, {}, wire::Source_ONNX, 0).expect_error({&x}, "no outputs");
  OneOp(wire::Kind_Slice, 1).expect_error({&x}, "no parameters");
}

// ---- SliceTf

TEST(SliceTf, BeginsAndSizes) {
  Rng rng(103);
  for (int n = 0; n < 60; ++n) {
    const Tensor x = random_tensor(rng, random_dims(rng, pick(rng, 1, 4)));
    std::vector<std::int32_t> begins;
    std::vector<std::int32_t> sizes;
    std::vector<Positions> axes;
    for (std::int64_t extent : x.dims()) {
      begins.push_back(pick(rng, 0, static_cast<int>(extent)));
      const int rest = static_cast<int>(extent) - begins.back();
      const bool open = coin(rng);
      sizes.push_back(open ? -1 : pick(rng, 0, rest));
      axes.push_back(python_slice(extent, begins.back(), open ? extent : begins.back() + sizes.back(), 1));
    }
    const Tensor begin = Tensor::of(begins);
    const Tensor size = Tensor::of(sizes);
    expect_window(OneOp(wire::Kind_SliceTf, 3).output({&x, &begin, &size}), x, axes, dims_of(axes));
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(SliceTf, WindowsOutsideTheTensorAreRefused) {
  Rng rng(104);
  const Tensor x = random_tensor(rng, {4});
  const auto refused = [&](std::vector<std::int32_t> begins, std::vector<std::int32_t> sizes) {
    const Tensor begin = Tensor::of(std::move(begins));
    const Tensor size = Tensor::of(std::move(sizes));
    OneOp(wire::Kind_SliceTf, 3).expect_error({&x, &begin, &size}, "window");
  };
  refused({-1}, {1});
  refused({5}, {-1});
  refused({2}, {3});
  refused({2}, {-2});
  refused({kHigh}, {kHigh});
  refused({kLow}, {-1});
  refused({0, 0}, {1, 1});
  refused({}, {});
  OneOp(wire::Kind_SliceTf, 3).expect_error({&x}, "no window");
}

// ---- StridedSlice

struct Masks {
  int begin = 0, end = 0, ellipsis = 0, fresh = 0, shrink = 0;
};

OneOp strided_model(int operands, bool onnx, const Masks& m = {}) {
  return OneOp(wire::Kind_StridedSlice, operands, wire::OpParameter_StridedSliceParam, [=](Builder& b) {
    wire::StridedSliceParamBuilder slice(b);
    slice.add_fromType(onnx ? 1 : 0);
    slice.add_beginMask(m.begin);
    slice.add_endMask(m.end);
    slice.add_ellipsisMask(m.ellipsis);
    slice.add_newAxisMask(m.fresh);
    slice.add_shrinkAxisMask(m.shrink);
    return slice.Finish().Union();
  });
}

int random_step(Rng& rng) { return (coin(rng) ? 1 : -1) * pick(rng, 1, 3); }

TEST(StridedSlice, OnnxForm) {
  Rng rng(105);
  for (int n = 0; n < 100; ++n) {
    const int rank = pick(rng, 1, 4);
    const Tensor x = random_tensor(rng, random_dims(rng, rank, 1, 6));
    std::vector<Positions> axes;
    std::vector<std::int32_t> begins, ends, listed, steps;
    for (int axis = 0; axis < rank; ++axis) {
      const auto extent = static_cast<int>(x.dims()[u(axis)]);
      axes.push_back(all_of(extent));
      if (coin(rng)) continue;
      begins.push_back(pick(rng, -extent, extent + 2));
      ends.push_back(pick(rng, 0, 4) == 0 ? (coin(rng) ? kHigh : kLow) : pick(rng, -extent - 2, extent + 2));
      listed.push_back(coin(rng) ? axis : axis - rank);
      steps.push_back(random_step(rng));
      axes.back() = python_slice(extent, begins.back(), ends.back(), steps.back());
    }
    const Tensor begin = Tensor::of(begins);
    const Tensor end = Tensor::of(ends);
    const Tensor which = Tensor::of(listed);
    const Tensor step = Tensor::of(steps);
    expect_window(strided_model(5, true).output({&x, &begin, &end, &which, &step}), x, axes, dims_of(axes));
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(StridedSlice, OnnxFormWithoutAxesAndSteps) {
  Rng rng(106);
  const Tensor x = random_tensor(rng, {4, 5, 3});
  const Tensor begin = Tensor::of({1, -3});
  const Tensor end = Tensor::of({3, kHigh});
  expect_window(strided_model(3, true).output({&x, &begin, &end}), x, {{1, 2}, {2, 3, 4}, {0, 1, 2}}, {2, 3, 3});
}

TEST(StridedSlice, TensorFlowForm) {
  Rng rng(107);
  for (int n = 0; n < 200; ++n) {
    const int rank = pick(rng, 1, 4);
    const Tensor x = random_tensor(rng, random_dims(rng, rank, 1, 6));
    Masks m;
    std::vector<Positions> axes;
    Dims dims;
    std::vector<std::int32_t> begins, ends, steps;
    const auto entry = [&](int begin, int end, int step) {
      begins.push_back(begin), ends.push_back(end), steps.push_back(step);
      return 1 << (begins.size() - 1);
    };
    const auto whole = [&](std::int64_t extent) {
      axes.push_back(all_of(extent));
      dims.push_back(extent);
    };
    bool ellipsis = false;
    int axis = 0;
    while (axis < rank) {
      const auto extent = static_cast<int>(x.dims()[u(axis)]);
      switch (pick(rng, 0, 4)) {
        case 0:
          m.fresh |= entry(0, 0, 1);
          dims.push_back(1);
          continue;
        case 1:
          if (ellipsis) continue;
          ellipsis = true;
          m.ellipsis |= entry(0, 0, 1);
          for (int covered = pick(rng, 0, rank - axis); covered > 0; --covered) whole(x.dims()[u(axis++)]);
          continue;
        case 2: {
          const int at = pick(rng, -extent, extent - 1);
          m.shrink |= entry(at, at + 1, 1);
          axes.push_back({at < 0 ? at + extent : at});
          ++axis;
          continue;
        }
        default: break;
      }
      const int step = random_step(rng);
      const int begin = pick(rng, -extent, extent + 1);
      const int end = pick(rng, -extent - 1, extent + 1);
      const int bit = entry(begin, end, step);
      const bool from_start = coin(rng);
      const bool to_end = coin(rng);
      if (from_start) m.begin |= bit;
      if (to_end) m.end |= bit;
      axes.push_back(python_slice(extent, from_start ? (step > 0 ? 0 : extent - 1) : begin,
                                  to_end ? (step > 0 ? kHigh : kLow) : end, step));
      dims.push_back(static_cast<std::int64_t>(axes.back().size()));
      ++axis;
    }
    const Tensor begin = Tensor::of(begins);
    const Tensor end = Tensor::of(ends);
    const Tensor step = Tensor::of(steps);
    expect_window(strided_model(4, false, m).output({&x, &begin, &end, &step}), x, axes, dims);
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(StridedSlice, AxesThatAreNotListedStayWhole) {
  Rng rng(108);
  const Tensor x = random_tensor(rng, {4, 3});
  const Tensor begin = Tensor::of({1});
  const Tensor end = Tensor::of({3});
  expect_window(strided_model(3, false).output({&x, &begin, &end}), x, {{1, 2}, {0, 1, 2}}, {2, 3});
}

TEST(StridedSlice, WhatMakesNoSliceIsRefused) {
  Rng rng(109);
  const Tensor x = random_tensor(rng, {4, 3});
  const Tensor two = Tensor::of({0, 1});
  const Tensor one = Tensor::of({0});
  const Tensor three = Tensor::of({0, 0, 0});
  const Tensor zero_steps = Tensor::of({0, 0});
  for (bool onnx : {true, false}) {
    const auto refused = [&](const std::vector<const Tensor*>& inputs, const char* what, const Masks& m = {}) {
      strided_model(static_cast<int>(inputs.size()), onnx, m).expect_error(inputs, what);
    };
    refused({&x}, "no begin");
    refused({&x, &two}, "no end");
    refused({&x, &two, &one}, "one end for two begins");
    refused({&x, &x, &two}, "begins of floats");
    refused({&x, &three, &three}, "more positions than axes");
    refused({}, "no operands");
    if (onnx) {
      refused({&x, &two, &two, &two, &zero_steps}, "a step of zero");
      for (int axis : {2, -3, kLow, kHigh}) {
        const Tensor bad = Tensor::of({axis});
        refused({&x, &one, &one, &bad}, "axis");
      }
    } else {
      refused({&x, &two, &two, &zero_steps}, "a step of zero");
      refused({&x, &two, &two, &two, &x}, "the form that writes");
      refused({&x, &two, &two}, "two ellipses", {.ellipsis = 3});
      const Tensor beyond = Tensor::of({4});
      refused({&x, &beyond, &one}, "an index behind the end", {.shrink = 1});
    }
  }
}

TEST(StridedSlice, MaskBitsBeyondTheListChangeNothing) {
  Rng rng(111);
  const Tensor x = random_tensor(rng, {4, 3});
  const Tensor begin = Tensor::of({1});
  const Tensor end = Tensor::of({3});
  const Masks high{.begin = -2, .end = -2, .ellipsis = -2, .fresh = -2, .shrink = -2};
  expect_window(strided_model(3, false, high).output({&x, &begin, &end}), x, {{1, 2}, {0, 1, 2}}, {2, 3});
}

TEST(StridedSlice, WithoutParametersIsRefused) {
  Rng rng(110);
  const Tensor x = random_tensor(rng, {2});
  OneOp(wire::Kind_StridedSlice, 1).expect_error({&x}, "no parameters");
}

}  // namespace
}  // namespace qnndbg::test
