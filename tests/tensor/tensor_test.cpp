#include "tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace qnndbg {
namespace {

using testing::HasSubstr;

TEST(Dims, CountAndText) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 3, 4}), 24);
  EXPECT_EQ(element_count({2, 0, 4}), 0);
  EXPECT_EQ(to_string({}), "scalar");
  EXPECT_EQ(to_string({7}), "7");
  EXPECT_EQ(to_string({1, 3, 64, 64}), "1x3x64x64");
}

TEST(Dims, Strides) {
  EXPECT_EQ(strides_of({}), Dims{});
  EXPECT_EQ(strides_of({5}), Dims{1});
  EXPECT_EQ(strides_of({2, 3, 4}), (Dims{12, 4, 1}));
}

TEST(Dims, CheckAcceptsWhatModelsHave) {
  EXPECT_EQ(check_dims({}).value(), 1);
  EXPECT_EQ(check_dims({1, 3, 224, 224}).value(), 150528);
  EXPECT_EQ(check_dims({0}).value(), 0);
  EXPECT_EQ(check_dims({4, 0, 3}).value(), 0);
  EXPECT_EQ(check_dims({2147483647}).value(), 2147483647);
}

TEST(Dims, CheckRefusesTheAbsurd) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(check_dims({2, -1}).error().message, HasSubstr("negative extent in dims 2x-1"));
  EXPECT_THAT(check_dims({2147483648}).error().message, HasSubstr("more than 2147483647 elements"));
  EXPECT_FALSE(check_dims({65536, 32768}));
  EXPECT_FALSE(check_dims({kHuge, kHuge, kHuge}));
  EXPECT_FALSE(check_dims({std::numeric_limits<std::int64_t>::min()}));
  // A zero does not excuse the others: their strides would overflow.
  EXPECT_FALSE(check_dims({0, kHuge, kHuge}));
  EXPECT_FALSE(check_dims({kHuge, kHuge, 0}));
}

TEST(Tensor, MemoryIsAligned) {
  for (std::int64_t n : {1, 3, 17, 1000}) {
    const Tensor t = Tensor::f32({n});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.f32().data()) % 64, 0u);
    EXPECT_EQ(t.f32().size(), static_cast<std::size_t>(n));
  }
}

TEST(Tensor, EmptyAndScalar) {
  const Tensor none;
  EXPECT_TRUE(none.empty());
  const Tensor empty = Tensor::f32({3, 0});
  EXPECT_TRUE(empty.empty());
  EXPECT_TRUE(empty.clone().f32().empty());
  Tensor scalar = Tensor::f32({});
  ASSERT_EQ(scalar.size(), 1);
  scalar.f32()[0] = 4;
  EXPECT_EQ(scalar.clone().f32()[0], 4);
}

TEST(Tensor, CloneIsApart) {
  Tensor a = Tensor::of({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(a.type(), DType::i32);
  EXPECT_EQ(a.dims(), Dims{6});
  const Tensor b = a.clone();
  a.i32()[0] = 9;
  EXPECT_THAT(b.i32(), testing::ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(b.type(), DType::i32);
}

TEST(Tensor, ReshapeKeepsTheElements) {
  Tensor a = Tensor::of({1, 2, 3, 4, 5, 6});
  a.reshape({2, 3});
  EXPECT_EQ(a.rank(), 2);
  EXPECT_EQ(a.dims(), (Dims{2, 3}));
  EXPECT_EQ(a.i32()[5], 6);
}

}  // namespace
}  // namespace qnndbg
