// A model of one 1x1 convolution (2 to 3 channels, 64 x 64) and its run on a device that adds exactly and rounds once.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "dump/temp_dir.h"
#include "graph/model_builder.h"
#include "tensor/half.h"

namespace qnndbg::test {

class SmallRun {
 public:
  static constexpr int kSide = 64;
  static constexpr int kPixels = kSide * kSide;
  static constexpr int kIn = 2;
  static constexpr int kOut = 3;

  /// What the device has instead of an exact sum, before it rounds.
  using Exact = std::function<double(int channel, double sum)>;

  explicit SmallRun(const Exact& device = [](int, double sum) { return sum; }, unsigned seed = 1) {
    write_model();
    write_dump(device, seed);
  }

  std::filesystem::path model() const { return directory_.path() / "model.mnn"; }
  std::filesystem::path dump() const { return directory_.path() / "dump"; }
  const TempDir& directory() const { return directory_; }

 private:
  // Halves, so that no rounding of constants comes in. Outputs lie in (12, 16), where the line is wider than half a
  // unit.
  static constexpr float kWeights[kOut][kIn] = {{0.78125F, 0.4375F}, {-0.65625F, 0.59375F}, {0.359375F, -0.84375F}};
  static constexpr float kBias = 14;

  void write_model() {
    NetSpec net;
    net.tensors = {"x", "y"};
    net.ops.push_back(input_op("x", 0, {1, kIn, kSide, kSide}));
    OpSpec conv{wire::Kind_Convolution, "conv", {0}, {1}, wire::OpParameter_Convolution2D};
    conv.main = [](Builder& builder) -> Table {
      wire::Convolution2DCommonBuilder common(builder);
      common.add_kernelX(1);
      common.add_kernelY(1);
      common.add_inputCount(kIn);
      common.add_outputCount(kOut);
      const auto common_table = common.Finish();
      std::vector<float> weights;
      for (const auto& row : kWeights) weights.insert(weights.end(), row, row + kIn);
      const auto weight = builder.CreateVector(weights);
      const auto bias = builder.CreateVector(std::vector<float>(kOut, kBias));
      wire::Convolution2DBuilder main(builder);
      main.add_common(common_table);
      main.add_weight(weight);
      main.add_bias(bias);
      return main.Finish().Union();
    };
    net.ops.push_back(conv);
    net.outputs = {"y"};
    directory_.write("model.mnn", build(net).text());
  }

  void write_dump(const Exact& device, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> value(-1, 1);
    std::vector<std::uint16_t> x(kIn * kPixels);  // NCHW
    for (std::uint16_t& bits : x) bits = float_to_half(value(random), HalfRounding::nearest);
    std::vector<std::uint16_t> y(kOut * kPixels);  // NHWC
    for (int p = 0; p < kPixels; ++p) {
      for (int c = 0; c < kOut; ++c) {
        double sum = kBias;
        for (int k = 0; k < kIn; ++k)
          sum += static_cast<double>(kWeights[c][k]) * half_to_float(x[at(k * kPixels + p)], HalfKind::htp);
        y[at(p * kOut + c)] = float_to_half(static_cast<float>(device(c, sum)), HalfRounding::nearest);
      }
    }
    write_tensor("x.raw", x);
    write_tensor("y.raw", y);
    directory_.write("dump/manifest_000000.tsv",
                     "index\tname\tfile\tdata_type\tdimensions\tquant_encoding\tscale\toffset\n"
                     "0\tt0_cast\tx.raw\t534\t1x2x64x64\t2147483647\t0\t0\n"
                     "1\tt1_cast\ty.raw\t534\t1x64x64x3\t2147483647\t0\t0\n");
  }

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  void write_tensor(const std::string& name, const std::vector<std::uint16_t>& values) {
    directory_.write("dump/" + name, {reinterpret_cast<const char*>(values.data()), 2 * values.size()});
  }

  TempDir directory_;
};

}  // namespace qnndbg::test
