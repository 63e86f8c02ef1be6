#include "knowledge/log_words.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qnndbg {
namespace {

using testing::HasSubstr;
using testing::Not;

// --- Single words ----------------------------------------------------------------------------------------------------

TEST(SizeWords, InTheUnitThatFits) {
  EXPECT_EQ(size_words(0), "0 bytes");
  EXPECT_EQ(size_words(1023), "1023 bytes");
  EXPECT_EQ(size_words(1024), "1 KiB");
  EXPECT_EQ(size_words(37748736), "36 MiB");
  EXPECT_EQ(size_words(2347229.0 * 1024), "2.24 GiB");
  EXPECT_EQ(size_words(0x1p63), "8388608 TiB");
}

TEST(DatatypeWords, NamesAndNumbers) {
  EXPECT_EQ(datatype_words("FLOAT_16"), "fp16");
  EXPECT_EQ(datatype_words("QNN_DATATYPE_UFIXED_POINT_16"), "unsigned 16-bit fixed point");
  EXPECT_EQ(datatype_words("0x416"), "unsigned 16-bit fixed point");
  EXPECT_EQ(datatype_words("0x232"), "fp32");
  EXPECT_EQ(datatype_words("0x508"), "bool");
  EXPECT_EQ(datatype_words("BOOL_8"), "bool");
}

TEST(DatatypeWords, WhatIsNoneStaysAsItIs) {
  for (const char* text : {"", "SOMETHING", "0x", "0xzz", "0x999", "0xffffffffffffffffff"})
    EXPECT_EQ(datatype_words(text), text);
}

TEST(TensorClassWords, TheLongestWordDecides) {
  EXPECT_EQ(tensor_class_words("F16Crouton_TCM"), "fp16");
  EXPECT_EQ(tensor_class_words("PlainFloat"), "fp32");
  EXPECT_EQ(tensor_class_words("PlainFloat16_TCM"), "fp16");
  EXPECT_EQ(tensor_class_words("QuantUint8_5D"), "unsigned 8-bit fixed point");
  EXPECT_EQ(tensor_class_words("QuantUint16"), "unsigned 16-bit fixed point");
  EXPECT_EQ(tensor_class_words("Int32"), "int32");
  EXPECT_EQ(tensor_class_words("Whatever"), "Whatever");
}

TEST(KernelInputsWords, GroupsWhatIsAlike) {
  EXPECT_EQ(kernel_inputs_words({}), "");
  EXPECT_EQ(kernel_inputs_words({{0, "F16Crouton_TCM"}, {1, "PlainFloat"}, {2, "PlainFloat"}, {3, "PlainFloat"}}),
            "input 0 is fp16 (F16Crouton_TCM); inputs 1, 2 and 3 are fp32 (PlainFloat)");
}

TEST(ReasonWords, LeavesOutTheLoggersPrefixAndExplainsNumbers) {
  EXPECT_EQ(reason_words({1, "QNN_LOG[1]:  <E> BQ is not supported."}), "BQ is not supported");
  EXPECT_EQ(reason_words({1, "Tensor 2 and 1 have mismatching datatypes. 0x416 != 0x232."}),
            "Tensor 2 and 1 have mismatching datatypes. 0x416 != 0x232 (0x416 is unsigned 16-bit fixed point, 0x232 is "
            "fp32)");
  EXPECT_EQ(reason_words({1, "address 0x416 is bad"}), "address 0x416 is bad") << "no data type";
  EXPECT_EQ(reason_words({1, ""}), "");
  EXPECT_EQ(reason_words({1, "datatype 0x"}), "datatype 0x");
  EXPECT_EQ(reason_words({1, "..."}), "");
}

// --- Data types ------------------------------------------------------------------------------------------------------

LogNode greater() {
  LogNode node;
  node.requested = {{"in[0]", "FLOAT_16"}, {"in[1]", "FLOAT_16"}, {"out[0]", "INT_32"}};
  node.supported = {{"INT8", {{{"in[0]", "UFIXED_POINT_8"}, {"in[1]", "UFIXED_POINT_8"}, {"out[0]", "BOOL_8"}}}},
                    {"FP16", {{{"in[0]", "FLOAT_16"}, {"in[1]", "FLOAT_16"}, {"out[0]", "BOOL_8"}}}}};
  return node;
}

TEST(DatatypeDifference, IsThatFromTheNearestSet) {
  EXPECT_EQ(datatype_difference(greater()),
            "out[0] is int32 (INT_32) where the nearest supported set has bool (BOOL_8) [configuration FP16]");
}

TEST(DatatypeDifference, SaysNothingWithoutSetsOrWhenOneFits) {
  LogNode node = greater();
  node.requested[2].second = "BOOL_8";
  EXPECT_EQ(datatype_difference(node), "");
  EXPECT_EQ(datatype_difference({}), "");
  node = greater();
  node.supported.clear();
  EXPECT_EQ(datatype_difference(node), "");
}

TEST(DatatypeDifference, AnOperandThatTheSetLacks) {
  LogNode node = greater();
  node.requested.emplace_back("in[2]", "FLOAT_32");
  node.requested[2].second = "BOOL_8";
  EXPECT_THAT(datatype_difference(node), HasSubstr("in[2] is not in the nearest supported set"));
}

// --- Templates -------------------------------------------------------------------------------------------------------

TEST(FillTemplate, FillsWhatIsThere) {
  EXPECT_EQ(fill_template("{a} and {b}", {{"a", "1"}, {"b", "2"}}), "1 and 2");
  EXPECT_EQ(fill_template("", {}), "");
}

TEST(FillTemplate, OptionalPartsGoWhenAValueIsMissing) {
  EXPECT_EQ(fill_template("x[ of {size}][: {why}].", {{"size", "2 KiB"}}), "x of 2 KiB.");
  EXPECT_EQ(fill_template("x[ {a} {b}].", {{"a", "1"}}), "x.");
  EXPECT_EQ(fill_template("x[ {a} {b}].", {{"b", "1"}}), "x.");
}

TEST(FillTemplate, AMissingValueThatIsNotOptionalIsVisible) { EXPECT_EQ(fill_template("{a}!", {}), "?!"); }

TEST(FillTemplate, ValuesAreNoTemplates) {
  EXPECT_EQ(fill_template("[{a}]", {{"a", "[{b}]"}, {"b", "2"}}), "[{b}]");
  EXPECT_EQ(fill_template("{a}", {{"a", "{a}"}}), "{a}");
}

TEST(FillTemplate, BrokenTemplatesEndSomewhere) {
  EXPECT_EQ(fill_template("a{b", {}), "a");
  EXPECT_EQ(fill_template("a]b", {}), "a]b");
  EXPECT_EQ(fill_template("a[b", {}), "ab");
}

// --- Values ----------------------------------------------------------------------------------------------------------

Values values_in(std::string_view log, std::string_view class_id) {
  const LogRecord record = read_log(log);
  std::vector<const LogEvent*> events;
  for (const LogEvent& event : record.events) events.push_back(&event);
  return values_of(record, events, class_id);
}

TEST(Values, SizesInWordsAndHowManyPartsFit) {
  Values values =
      values_in("graph requires estimated allocation of 4194305 KB, limit is 2097152 KB\n", "finalize_graph_too_large");
  EXPECT_EQ(values["need"], "4.00 GiB");
  EXPECT_EQ(values["limit"], "2 GiB");
  EXPECT_EQ(values["parts"], "3");
  values = values_in(
      "A single op, \"q::N\" (Op ID: 2f), requires 0x2400000 bytes of TCM, which is greater than the TCM size of "
      "0x800000!\n",
      "finalize_tcm");
  EXPECT_EQ(values["need"], "36 MiB");
  EXPECT_EQ(values["limit"], "8 MiB");
  values = values_in("fastrpc memory map for fd: 12 with length: 440401920 failed with error: 0x1\n",
                     "finalize_weights_not_mapped");
  EXPECT_EQ(values["size"], "420 MiB");
}

TEST(Values, SizesThatAreNoNumbersAreLeftOut) {
  const Values values = values_in("graph requires estimated allocation of 99999999999999999999999 KB, limit is 0 KB\n",
                                  "finalize_graph_too_large");
  EXPECT_FALSE(values.contains("need"));
  EXPECT_FALSE(values.contains("parts"));
}

TEST(Values, NodesOfTheClass) {
  std::string log;
  for (int i = 0; i < 7; ++i) log += fmt::format("Failed to validate op conv_{} with error 0xc26\n", i);
  log += "MNN_QNN: Not registered type 35, up_1.\n";
  Values values = values_in(log, "validation_refused");
  EXPECT_EQ(values["nodes"], "`conv_0`, `conv_1`, `conv_2`, `conv_3` and 3 more");
  EXPECT_EQ(values["node_count"], "7 nodes");
  EXPECT_EQ(values["node"], "conv_0");
  EXPECT_EQ(values["code"], "3110");
  EXPECT_THAT(values["code_name"], HasSubstr("VALIDATION"));
  values = values_in(log, "op_unregistered");
  EXPECT_EQ(values["nodes"], "`up_1`");
  EXPECT_EQ(values["node_count"], "1 node");
  EXPECT_THAT(values["operators"], HasSubstr("Interp (35)"));
}

TEST(Values, DataTypesAreTheReasonWhenTheLogListsThem) {
  const Values values = values_in(
      "Requested I/O datatype set:\nout[0]:QNN_DATATYPE_INT_32\nSupported I/O datatype sets for the configuration: "
      "FP16\n"
      "out[0]:QNN_DATATYPE_BOOL_8\nFailed to validate op g with error 3110\n",
      "validation_refused");
  EXPECT_THAT(values.at("reason"), HasSubstr("out[0] is int32"));
}

TEST(Values, NumbersOfOperatorTypesThatDoNotExist) {
  const Values values = values_in(
      "MNN_QNN: Not registered type 999999999999, x.\nMNN_QNN: Not registered type 65000, y.\n", "op_unregistered");
  EXPECT_THAT(values.at("nodes"), HasSubstr("`x`"));
}

}  // namespace
}  // namespace qnndbg
