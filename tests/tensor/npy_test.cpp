#include "tensor/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "dump/temp_dir.h"

namespace qnndbg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A file with this header dict and these elements, unpadded.
std::string npy(const std::string& header, const std::string& data, int major = 1, int minor = 0) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += static_cast<char>(minor);
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) file += static_cast<char>(header.size() >> (8 * i));
  return file + header + data;
}

std::string dict(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

Result<Tensor> parse(const std::string& file) { return parse_npy(std::as_bytes(std::span(file)), "x.npy"); }

std::string error_of(const std::string& file) {
  const auto t = parse(file);
  return t ? "parsed" : t.error().message;
}

TEST(Npy, ReadsEveryElementType) {
  const auto f4 = parse(npy(dict("<f4", "(2, 1)"), raw<float>({1.5f, -2})));
  ASSERT_TRUE(f4) << f4.error().message;
  EXPECT_EQ(f4->dims(), (Dims{2, 1}));
  EXPECT_THAT(f4->f32(), ElementsAre(1.5f, -2));
  EXPECT_THAT(parse(npy(dict("<f8", "(2,)"), raw<double>({0.1, 1e300})))->f32(),
              ElementsAre(0.1f, std::numeric_limits<float>::infinity()));
  EXPECT_THAT(parse(npy(dict("<f2", "(2,)"), raw<std::uint16_t>({0x3c00, 0x7c00})))->f32(),
              ElementsAre(1, std::numeric_limits<float>::infinity()));
  EXPECT_THAT(parse(npy(dict("<i4", "(2,)"), raw<std::int32_t>({-5, 2147483647})))->i32(), ElementsAre(-5, 2147483647));
  EXPECT_THAT(parse(npy(dict("<i8", "(1,)"), raw<std::int64_t>({-2147483648})))->i32(), ElementsAre(-2147483648));
  EXPECT_THAT(parse(npy(dict("|u1", "(1,)"), "\xff"))->i32(), ElementsAre(255));
  EXPECT_THAT(parse(npy(dict("|i1", "(1,)"), "\xff"))->i32(), ElementsAre(-1));
  EXPECT_THAT(parse(npy(dict("|b1", "(2,)"), std::string("\0\1", 2)))->i32(), ElementsAre(0, 1));
}

TEST(Npy, ReadsEveryVersion) {
  for (const int major : {1, 2, 3})
    EXPECT_THAT(parse(npy(dict("<f4", "(1,)"), raw<float>({3}), major))->f32(), ElementsAre(3)) << major;
}

TEST(Npy, ReadsScalarsAndEmptyArrays) {
  const auto scalar = parse(npy(dict("<f4", "()"), raw<float>({3})));
  ASSERT_TRUE(scalar);
  EXPECT_EQ(scalar->dims(), Dims{});
  const auto empty = parse(npy(dict("<f4", "(0, 4)"), ""));
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->dims(), (Dims{0, 4}));
}

TEST(Npy, AcceptsTheDictInAnyFormThatPythonAllows) {
  const std::string data = raw<float>({1, 2});
  for (const char* header : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }          \n",
           "{'shape': (2,), 'fortran_order': False, 'descr': '<f4'}",
           "{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(2 , )}",
           " { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 1 , 2 , ) , } ",
       })
    EXPECT_TRUE(parse(npy(header, data))) << header;
}

TEST(Npy, RefusesMalformedHeaders) {
  const std::string data = raw<float>({1, 2});
  for (const char* header : {
           "",
           "{",
           "{}",
           "{'descr': '<f4', 'fortran_order': False}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
           "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)",
           "{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': [2]}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2 2)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-0,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (+2,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (0x2,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2.0,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,",
           "{'descr': '<f4, 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<\\x664', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '\x1b[31m', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
           "{,'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
       })
    EXPECT_EQ(error_of(npy(header, data)), "x.npy: malformed .npy header") << header;
}

TEST(Npy, RefusesWhatItCannotHold) {
  for (const char* descr : {">f4", "<f16", "<c8", "<u4", "<u2", "=f4", "f4", "|O", "<U3", "<i2", "", "<f44"})
    EXPECT_THAT(error_of(npy(dict(descr, "(1,)"), raw<float>({1}))),
                HasSubstr("element type '" + std::string(descr) + "' is not supported"));
  EXPECT_THAT(error_of(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1,)}", raw<float>({1}))),
              HasSubstr("Fortran order"));
  EXPECT_THAT(error_of(npy(dict("<i8", "(2,)"), raw<std::int64_t>({1, 2147483648}))),
              HasSubstr("element 1 (2147483648) does not fit 32 bits"));
}

TEST(Npy, RefusesSizesThatDisagree) {
  const std::string data = raw<float>({1, 2});
  EXPECT_THAT(error_of(npy(dict("<f4", "(3,)"), data)), HasSubstr("holds 8 bytes"));
  EXPECT_THAT(error_of(npy(dict("<f4", "(1,)"), data)), HasSubstr("says 4"));
  EXPECT_THAT(error_of(npy(dict("<f4", "(2,)"), data + "x")), HasSubstr("holds 9 bytes"));
  EXPECT_THAT(error_of(npy(dict("<f4", "(2,)"), "")), HasSubstr("holds 0 bytes"));
  EXPECT_THAT(error_of(npy(dict("<f4", "(4294967296, 4294967296)"), data)), HasSubstr("more than"));
  EXPECT_THAT(error_of(npy(dict("<f4", "(0, 9223372036854775807)"), "")), HasSubstr("more than"));
}

TEST(Npy, RefusesOtherFilesAndVersions) {
  EXPECT_THAT(error_of(""), HasSubstr("not a .npy file"));
  EXPECT_THAT(error_of("PK\3\4"), HasSubstr("not a .npy file"));
  EXPECT_THAT(error_of("\x93NUMPX\1"), HasSubstr("not a .npy file"));
  for (const auto& [major, minor] : {std::pair{0, 0}, {1, 1}, {4, 0}, {255, 255}})
    EXPECT_THAT(error_of(npy(dict("<f4", "(1,)"), raw<float>({1}), major, minor)), HasSubstr("is not known"));
}

TEST(Npy, EveryCutIsNoticed) {
  for (const int major : {1, 2}) {
    const std::string file = npy(dict("<f4", "(2,)"), raw<float>({1, 2}), major);
    for (std::size_t n = 0; n < file.size(); ++n) EXPECT_NE(error_of(file.substr(0, n)), "parsed") << n;
    EXPECT_TRUE(parse(file));
  }
}

TEST(Npy, HeaderLengthBeyondTheFile) {
  std::string file = npy(dict("<f4", "(2,)"), raw<float>({1, 2}), 2);
  for (std::size_t i = 8; i < 12; ++i) file[i] = '\xff';
  EXPECT_THAT(error_of(file), HasSubstr("cut short"));
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Npy, WritesWhatNumpyWrites) {
  const TempDir scratch;
  Tensor t = Tensor::f32({2, 3});
  for (std::size_t i = 0; i < 6; ++i) t.f32()[i] = static_cast<float>(i);
  const auto path = scratch.path() / "t.npy";
  ASSERT_TRUE(write_npy(path, t));
  // np.save(path, np.arange(6, dtype=np.float32).reshape(2, 3)), byte by byte
  std::string expected = "\x93NUMPY\x01";
  expected += std::string("\0\x76\0", 3) + "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  expected += std::string(127 - expected.size(), ' ') + "\n" + raw<float>({0, 1, 2, 3, 4, 5});
  EXPECT_EQ(contents(path), expected);
}

TEST(Npy, ReadsBackWhatItWrites) {
  const TempDir scratch;
  const auto path = scratch.path() / "t.npy";
  std::mt19937 random(9);
  for (const Dims& dims : std::vector<Dims>{{}, {0}, {1}, {7}, {3, 0, 2}, {2, 3, 4}, {1, 2, 3, 4, 5}, Dims(40, 1)}) {
    Tensor f = Tensor::f32(dims);
    for (float& v : f.f32()) v = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    ASSERT_TRUE(write_npy(path, f));
    const auto f_back = read_npy(path);
    ASSERT_TRUE(f_back) << f_back.error().message;
    EXPECT_EQ(f_back->dims(), dims);
    EXPECT_EQ(f_back->type(), DType::f32);
    const auto same_bits = [](float a, float b) {
      return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
    };
    EXPECT_TRUE(std::equal(f.f32().begin(), f.f32().end(), f_back->f32().begin(), f_back->f32().end(), same_bits));
    EXPECT_EQ((contents(path).size() - f.f32().size_bytes()) % 64, 0u);

    Tensor i = Tensor::i32(dims);
    for (std::int32_t& v : i.i32()) v = static_cast<std::int32_t>(random());
    ASSERT_TRUE(write_npy(path, i));
    const auto i_back = read_npy(path);
    ASSERT_TRUE(i_back) << i_back.error().message;
    EXPECT_TRUE(std::equal(i.i32().begin(), i.i32().end(), i_back->i32().begin(), i_back->i32().end()));
  }
}

TEST(Npy, FileErrorsNameTheFile) {
  const TempDir scratch;
  const auto missing = scratch.path() / "missing.npy";
  EXPECT_THAT(read_npy(missing).error().message, HasSubstr(missing.string()));
  const auto nowhere = scratch.path() / "no" / "such.npy";
  EXPECT_THAT(write_npy(nowhere, Tensor::f32({1})).error().message,
              testing::AllOf(HasSubstr(nowhere.string()), HasSubstr("No such file")));
  EXPECT_THAT(write_npy(scratch.path(), Tensor::f32({1})).error().message, HasSubstr("Is a directory"));
  // A device that is always full: what is buffered fails only when the file is closed.
  Tensor t = Tensor::i32({3});
  for (std::int32_t& v : t.i32()) v = 1;
  EXPECT_THAT(write_npy("/dev/full", t).error().message, HasSubstr("No space left"));
  EXPECT_THAT(write_npy(scratch.path() / "long.npy", Tensor::f32(Dims(30'000, 1))).error().message,
              HasSubstr("too many dims"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "long.npy"));
}

}  // namespace
}  // namespace qnndbg
