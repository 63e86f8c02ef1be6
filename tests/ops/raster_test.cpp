// Raster: regions against the element that each position names.
#include "oracle.h"

namespace qnndbg::test {
namespace {

constexpr int kLow = std::numeric_limits<int>::min();
constexpr int kHigh = std::numeric_limits<int>::max();

struct Block {
  int origin = 0;
  int from = 0;
  std::vector<int> from_stride = {};
  int to = 0;
  std::vector<int> to_stride = {};
  std::vector<int> size = {};
};

/// A model of one Raster that reads tensors 0 and 1 and makes tensor 2.
class RasterModel {
 public:
  RasterModel(const std::vector<int>& dims, const std::vector<Block>& blocks)
      : bytes_(build(net([=](Builder& b) {
          std::vector<flatbuffers::Offset<wire::Region>> regions;
          for (const Block& block : blocks) {
            const auto from = wire::CreateViewDirect(b, block.from, &block.from_stride);
            const auto to = wire::CreateViewDirect(b, block.to, &block.to_stride);
            regions.push_back(wire::CreateRegionDirect(b, from, to, &block.size, block.origin));
          }
          return wire::CreateTensorDescribeDirect(b, wire::CreateBlobDirect(b, &dims), 2, nullptr, &regions);
        }))) {}
  explicit RasterModel(const std::function<flatbuffers::Offset<wire::TensorDescribe>(Builder&)>& record)
      : bytes_(build(net(record))) {}

  Result<Tensor> run(const Tensor& a, const Tensor& b) const {
    auto model = Model::parse(bytes_.bytes(), "raster.mnn");
    if (!model) return fail(model.error());
    auto op = make_op(*model, model->graph().ops.back());
    if (!op) return fail(op.error());
    const std::vector<const Tensor*> inputs{&a, &b};
    auto result = run_reference(**op, OneOp::operands(inputs), inputs, std::nullopt);
    if (!result) return fail(result.error());
    return std::move(result->front());
  }

  void expect_error(const Tensor& a, const Tensor& b, const std::string& what) const {
    const auto result = run(a, b);
    ASSERT_FALSE(result) << what << ": accepted";
    EXPECT_FALSE(result.error().message.empty()) << what;
  }

 private:
  static NetSpec net(const std::function<flatbuffers::Offset<wire::TensorDescribe>(Builder&)>& record) {
    NetSpec spec{.tensors = {"a", "b", "y"}};
    spec.ops = {input_op("a", 0, {1}), input_op("b", 1, {1}), {wire::Kind_Raster, "y", {0, 1}, {2}}};
    spec.records = {record};
    return spec;
  }

  ModelBytes bytes_;
};

TEST(Raster, ATransposition) {
  Rng rng(300);
  for (bool integer : {false, true}) {
    const Tensor x = integer ? random_integers(rng, {2, 3, 4}, -9, 9) : random_tensor(rng, {2, 3, 4});
    const RasterModel model({4, 2, 3}, {{0, 0, {1, 12, 4}, 0, {6, 3, 1}, {4, 2, 3}}});
    auto y = model.run(x, x);
    ASSERT_TRUE(y) << y.error().message;
    expect_moved(*y, x, {4, 2, 3}, [](const Dims& o) { return Dims{o[1], o[2], o[0]}; });
  }
}

TEST(Raster, SeveralOperandsReversedAndZeroElsewhere) {
  Rng rng(301);
  const Tensor a = random_tensor(rng, {2, 2});
  const Tensor b = random_tensor(rng, {3});
  // Row 0: a's first column; row 1: b backwards; row 2: nothing.
  const RasterModel model({3, 3},
                          {{0, 0, {0, 0, 2}, 0, {0, 0, 1}, {1, 1, 2}}, {1, 2, {0, 0, -1}, 3, {0, 0, 1}, {1, 1, 3}}});
  auto y = model.run(a, b);
  ASSERT_TRUE(y) << y.error().message;
  expect_tensor(*y, DType::f32, {3, 3}, [&](const Dims& o) {
    if (o[0] == 0 && o[1] < 2) return Exact{at(a, {o[1], 0}), 0};
    if (o[0] == 1) return Exact{at(b, {2 - o[1]}), 0};
    return Exact{0, 0};
  });
}

TEST(Raster, HostileRegionsAreRefused) {
  Rng rng(302);
  const Tensor a = random_tensor(rng, {2, 3});
  const Tensor i = random_integers(rng, {6}, 0, 9);
  const Block good{0, 0, {0, 0, 1}, 0, {0, 0, 1}, {1, 1, 6}};
  ASSERT_TRUE(RasterModel({6}, {good}).run(a, a));
  const auto refused = [&](const std::function<void(Block&)>& change, const std::string& what) {
    Block block = good;
    change(block);
    RasterModel({6}, {block}).expect_error(a, a, what);
  };
  for (int bad : {1, -1, kLow, kHigh}) {
    refused([&](Block& b) { b.from = bad; }, "a source offset");
    refused([&](Block& b) { b.to = bad; }, "a target offset");
  }
  for (int bad : {2, -1, kLow, kHigh}) {
    refused([&](Block& b) { b.from_stride[2] = bad; }, "a source stride");
    refused([&](Block& b) { b.to_stride[2] = bad; }, "a target stride");
  }
  for (int bad : {0, 2, -1, kLow, kHigh}) refused([&](Block& b) { b.size[0] = bad; }, "an extent");
  refused([](Block& b) { b.size = {kHigh, kHigh, kHigh}; }, "extents");
  for (int bad : {2, -1, 7, kLow, kHigh}) refused([&](Block& b) { b.origin = bad; }, "an origin");
  refused([](Block& b) { b.from_stride = {1}; }, "one source stride");
  refused([](Block& b) { b.to_stride = {}; }, "no target stride");
  refused([](Block& b) { b.size = {1, 1, 1, 6}; }, "four extents");
  RasterModel({6}, {good, good}).expect_error(a, a, "elements written twice");
  RasterModel({12}, {good, {1, 0, {0, 0, 1}, 6, {0, 0, 1}, {1, 1, 6}}}).expect_error(a, i, "two types");
  RasterModel({6}, {}).expect_error(a, a, "no regions");
  RasterModel({kHigh, kHigh}, {good}).expect_error(a, a, "dims");
  RasterModel({-6}, {good}).expect_error(a, a, "a negative extent");
  RasterModel([](Builder& b) { return wire::CreateTensorDescribeDirect(b, 0, 2); }).expect_error(a, a, "no record");
  RasterModel([](Builder& b) { return wire::CreateTensorDescribeDirect(b, 0, kHigh); }).expect_error(a, a, "no tensor");
}

}  // namespace
}  // namespace qnndbg::test
