#include "dump/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "dump/temp_dir.h"
#include "tensor/npy.h"

namespace qnndbg {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_literals;

template <class T>
std::string raw(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> floats(const Tensor& tensor) { return {tensor.f32().begin(), tensor.f32().end()}; }
std::vector<std::int32_t> ints(const Tensor& tensor) { return {tensor.i32().begin(), tensor.i32().end()}; }

std::string document(const std::string& fields) { return "{\"inputs\": [{" + fields + "}]}"; }

class Inputs : public testing::Test {
 protected:
  Result<InputMap> parse(const std::string& text) const { return parse_inputs_json(text, "inputs.json", dir_.path()); }

  /// The only input of a document with these fields.
  Tensor one(const std::string& fields) const {
    auto inputs = parse(document(fields));
    EXPECT_TRUE(inputs.has_value()) << (inputs ? "" : inputs.error().message);
    if (!inputs || inputs->size() != 1) return {};
    return std::move(inputs->begin()->second);
  }

  std::string error(const std::string& text) const {
    const auto inputs = parse(text);
    EXPECT_FALSE(inputs.has_value()) << text;
    return inputs ? "" : inputs.error().message;
  }

  TempDir dir_;
};

TEST_F(Inputs, Float32) {
  dir_.write("x.raw", raw<float>({1, -2, 3.5f, 0, 5, 6}));
  const Tensor tensor =
      one(R"("name": "x", "dims": [1, 3, 1, 2], "dtype": "float32", "layout": "NCHW", "file": "x.raw")");
  EXPECT_EQ(tensor.type(), DType::f32);
  EXPECT_EQ(tensor.dims(), (Dims{1, 3, 1, 2}));
  EXPECT_THAT(floats(tensor), ElementsAre(1, -2, 3.5f, 0, 5, 6));
}

TEST_F(Inputs, Float16IsIeee) {
  dir_.write("x.raw", raw<std::uint16_t>({0x3C00, 0xC000, 0x7C00}));
  EXPECT_THAT(floats(one(R"("name": "x", "dims": [3], "dtype": "float16", "file": "x.raw")")),
              ElementsAre(1, -2, std::numeric_limits<float>::infinity()));
}

TEST_F(Inputs, NhwcIsBroughtToTheModelsOrder) {
  // n, h, w, c = 1, 1, 3, 2: pixel p holds 10 p and 10 p + 1.
  dir_.write("f.raw", raw<float>({0, 1, 10, 11, 20, 21}));
  dir_.write("i.raw", raw<std::int32_t>({0, 1, 10, 11, 20, 16777217}));
  const Tensor f = one(R"("name": "x", "dims": [1, 1, 3, 2], "dtype": "float32", "layout": "nhwc", "file": "f.raw")");
  EXPECT_EQ(f.dims(), (Dims{1, 2, 1, 3}));
  EXPECT_THAT(floats(f), ElementsAre(0, 10, 20, 1, 11, 21));
  const Tensor i = one(R"("name": "x", "dims": [1, 1, 3, 2], "dtype": "int32", "layout": "NHWC", "file": "i.raw")");
  EXPECT_EQ(i.dims(), (Dims{1, 2, 1, 3}));
  EXPECT_THAT(ints(i), ElementsAre(0, 10, 20, 1, 11, 16777217));  // 2^24 + 1 would not survive fp32
}

TEST_F(Inputs, IntegersBecomeInt32) {
  dir_.write("i64.raw", raw<std::int64_t>({-1, 2147483647}));
  EXPECT_THAT(ints(one(R"("name": "x", "dims": [2], "dtype": "int64", "file": "i64.raw")")),
              ElementsAre(-1, 2147483647));
  dir_.write("u8.raw", raw<std::uint8_t>({0, 255}));
  EXPECT_THAT(ints(one(R"("name": "x", "dims": [2], "dtype": "uint8", "file": "u8.raw")")), ElementsAre(0, 255));
  dir_.write("i8.raw", raw<std::int8_t>({-128, 127}));
  EXPECT_THAT(ints(one(R"("name": "x", "dims": [2], "dtype": "int8", "file": "i8.raw")")), ElementsAre(-128, 127));
}

TEST_F(Inputs, IntegersThatDoNotFitAreErrors) {
  dir_.write("i64.raw", raw<std::int64_t>({0, 2147483648}));
  EXPECT_THAT(error(document(R"("name": "x", "dims": [2], "dtype": "int64", "file": "i64.raw")")),
              HasSubstr("element 1 is 2147483648, which does not fit 32 bits"));
}

TEST_F(Inputs, ScalarsAndEmptyTensors) {
  dir_.write("one.raw", raw<float>({7}));
  EXPECT_THAT(floats(one(R"("name": "x", "dims": [], "dtype": "float32", "file": "one.raw")")), ElementsAre(7));
  dir_.write("none.raw", "");
  EXPECT_TRUE(one(R"("name": "x", "dims": [0, 4], "dtype": "float32", "file": "none.raw")").empty());
}

TEST_F(Inputs, FilesThatAreNotAsListed) {
  dir_.write("x.raw", raw<float>({1, 2}));
  const std::string x = R"("name": "x", "dims": [3], "dtype": "float32", "file": )";
  EXPECT_THAT(error(document(x + R"("x.raw")")), HasSubstr("x.raw has 8 bytes, 3 f32 needs 12"));
  EXPECT_THAT(error(document(x + R"("x.raw")")), testing::StartsWith("inputs.json: inputs[0] ('x'): "));
  EXPECT_THAT(error(document(x + R"("none.raw")")), HasSubstr("none.raw"));
  EXPECT_THAT(error(document(x + R"("../x.raw")")), HasSubstr("\"file\": file name '../x.raw' leads out"));
  EXPECT_THAT(error(document(x + R"("/etc/passwd")")), HasSubstr("is absolute"));
  EXPECT_THAT(error(document(x + R"("x.raw\u0000")")), HasSubstr("NUL byte"));
  TempDir outside;
  fs::create_symlink(outside.write("secret", raw<float>({1, 2, 3})), dir_.path() / "link.raw");
  EXPECT_THAT(error(document(x + R"("link.raw")")), HasSubstr("through a symbolic link"));
}

TEST_F(Inputs, FieldsThatAreNotAsTheyShouldBe) {
  const struct {
    const char* fields;
    const char* message;
  } kCases[] = {
      {R"("dims": [1], "dtype": "float32", "file": "x")", "\"name\" is missing"},
      {R"("name": 3, "dims": [1], "dtype": "float32", "file": "x")", "\"name\" is not a string"},
      {R"("name": "", "dims": [1], "dtype": "float32", "file": "x")", "\"name\" is empty"},
      {R"("name": "x", "dtype": "float32", "file": "x")", "\"dims\" is missing"},
      {R"("name": "x", "dims": "1x3", "dtype": "float32", "file": "x")", "\"dims\" is not an array"},
      {R"("name": "x", "dims": [-1], "dtype": "float32", "file": "x")", "\"dims\" holds '-1'"},
      {R"("name": "x", "dims": [1.0], "dtype": "float32", "file": "x")", "\"dims\" holds '1.0'"},
      {R"("name": "x", "dims": ["n"], "dtype": "float32", "file": "x")", "\"dims\" holds '\"n\"'"},
      {R"("name": "x", "dims": [18446744073709551615], "dtype": "float32", "file": "x")", "\"dims\" holds"},
      {R"("name": "x", "dims": [65536, 65536], "dtype": "float32", "file": "x")", "\"dims\": "},
      {R"("name": "x", "dims": [1], "file": "x")", "\"dtype\" is missing"},
      {R"("name": "x", "dims": [1], "dtype": "complex64", "file": "x")", "\"dtype\" 'complex64' is not a known"},
      {R"("name": "x", "dims": [1], "dtype": "float32", "layout": "CHWN", "file": "x")",
       "\"layout\" 'CHWN' is neither"},
      {R"("name": "x", "dims": [1], "dtype": "float32", "layout": null, "file": "x")", "\"layout\" is not a string"},
      {R"("name": "x", "dims": [1, 2], "dtype": "float32", "layout": "NHWC", "file": "x")",
       "\"layout\" NHWC needs four dims, there are 2"},
      {R"("name": "x", "dims": [1], "dtype": "float32")", "\"file\" is missing"},
  };
  for (const auto& bad : kCases) {
    EXPECT_THAT(error(document(bad.fields)), HasSubstr("inputs.json: inputs[0]: "s + bad.message)) << bad.fields;
  }
}

TEST_F(Inputs, TextThatIsNoInputsJson) {
  EXPECT_THAT(error(""), HasSubstr("inputs.json: not valid JSON"));
  EXPECT_THAT(error("{\"inputs\": ["), HasSubstr("not valid JSON"));
  EXPECT_THAT(error("\xff\xfe"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error(std::string(100'000, '[')), HasSubstr("not valid JSON"));
  EXPECT_THAT(error("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(error("{}"), HasSubstr("\"inputs\" is missing"));
  EXPECT_THAT(error("{\"inputs\": {}}"), HasSubstr("\"inputs\" is missing or not an array"));
  EXPECT_THAT(error("{\"inputs\": [1]}"), HasSubstr("inputs[0]: not an object"));
}

TEST_F(Inputs, OneNameTwice) {
  dir_.write("x.raw", raw<float>({1}));
  const std::string x = R"({"name": "x", "dims": [1], "dtype": "float32", "file": "x.raw"})";
  EXPECT_THAT(error("{\"inputs\": [" + x + ", " + x + "]}"), HasSubstr("inputs[1]: name 'x' is listed twice"));
}

class InputArguments : public Inputs {
 protected:
  void SetUp() override {
    dir_.write("x.raw", raw<float>({1}));
    json_ = dir_.write("inputs.json", document(R"("name": "x", "dims": [1], "dtype": "float32", "file": "x.raw")"));
  }

  std::string npy(const std::string& name, float value) const {
    Tensor tensor = Tensor::f32({1});
    tensor.f32()[0] = value;
    const fs::path file = dir_.path() / name;
    fs::create_directories(file.parent_path());
    EXPECT_TRUE(write_npy(file, tensor).has_value());
    return file.string();
  }

  std::string failure(const std::string& argument) const {
    const auto inputs = read_inputs({argument});
    EXPECT_FALSE(inputs.has_value()) << argument;
    return inputs ? "" : inputs.error().message;
  }

  fs::path json_;
};

TEST_F(InputArguments, LaterOnesWin) {
  const auto inputs = read_inputs({json_.string(), "x=" + npy("x.npy", 2), "y=" + npy("y.npy", 3)});
  ASSERT_TRUE(inputs.has_value()) << inputs.error().message;
  ASSERT_EQ(inputs->size(), 2u);
  EXPECT_THAT(floats(inputs->at("x")), ElementsAre(2));
  EXPECT_THAT(floats(inputs->at("y")), ElementsAre(3));
  const auto reversed = read_inputs({"x=" + npy("x.npy", 2), json_.string()});
  ASSERT_TRUE(reversed.has_value());
  EXPECT_THAT(floats(reversed->at("x")), ElementsAre(1));
}

TEST_F(InputArguments, EqualSignsInNamesAndDirectories) {
  const auto npy_in = read_inputs({"x=" + npy("run=3/x.npy", 4)});
  ASSERT_TRUE(npy_in.has_value()) << npy_in.error().message;
  EXPECT_THAT(floats(npy_in->at("x")), ElementsAre(4));
  const auto odd_name = read_inputs({"a=b=" + npy("x.npy", 5)});
  ASSERT_TRUE(odd_name.has_value()) << odd_name.error().message;
  EXPECT_THAT(floats(odd_name->at("a=b")), ElementsAre(5));
  fs::create_directory(dir_.path() / "k=v");
  fs::copy_file(json_, dir_.path() / "k=v/inputs.json");
  fs::copy_file(dir_.path() / "x.raw", dir_.path() / "k=v/x.raw");
  const auto json_in = read_inputs({(dir_.path() / "k=v/inputs.json").string()});
  ASSERT_TRUE(json_in.has_value()) << json_in.error().message;
  EXPECT_THAT(floats(json_in->at("x")), ElementsAre(1));
}

TEST_F(InputArguments, MistakesAreNamed) {
  EXPECT_THAT(failure((dir_.path() / "no.json").string()), HasSubstr("no.json"));
  EXPECT_THAT(failure("x=" + (dir_.path() / "no.npy").string()), HasSubstr("no.npy"));
  EXPECT_THAT(failure("=" + npy("x.npy", 1)), HasSubstr("the name before '=' is empty"));
  EXPECT_THAT(failure(npy("x.npy", 1)), HasSubstr("--inputs NAME="));
  EXPECT_THAT(failure(dir_.path().string()), HasSubstr("a directory"));
  EXPECT_FALSE(failure("").empty());
  EXPECT_THAT(failure("x=" + json_.string()), HasSubstr("inputs.json"));
}

TEST(InputsNone, NoArgumentsAreNoInputs) {
  const auto inputs = read_inputs({});
  ASSERT_TRUE(inputs.has_value());
  EXPECT_TRUE(inputs->empty());
}

}  // namespace
}  // namespace qnndbg
