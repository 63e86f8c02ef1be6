#include "knowledge/log_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "knowledge/codes.h"
#include "knowledge/explanation.h"
#include "knowledge/log_text.h"

namespace qnndbg {
namespace {

using namespace std::string_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

const std::string kRefused = "validateNativeOps master op validator conv_1:qti.aisw:Conv2d failed 3110";

std::string id_of(const LogEvent& event) { return log_patterns()[static_cast<std::size_t>(event.pattern)].id; }

/// Everything that a record holds, in words.
std::string text_of(const LogRecord& record) {
  const auto line = [](const EvidenceLine& e) { return fmt::format("{}: {}", e.line, e.text); };
  std::string text = fmt::format("{} bytes {} lines {} noise {} left out {} unknown\n", record.bytes, record.lines,
                                 record.noise_lines, record.nodes_left_out, record.unknown_error_lines);
  for (const LogEvent& event : record.events) {
    text += fmt::format("event {} x{} {}", id_of(event), event.count, line(event.first));
    for (const auto& [name, value] : event.captures) text += fmt::format(" {}={}", name, value);
    text += '\n';
  }
  for (const LogNode& node : record.nodes) {
    text += fmt::format("node {} {} {} {} {} x{} {}", node.name, node.type, static_cast<int>(node.fate), node.code,
                        node.kernel, node.count, line(node.first));
    for (const EvidenceLine& reason : node.reasons) text += " because " + line(reason);
    for (const KernelInput& input : node.inputs) text += fmt::format(" {}:{}", input.index, input.layout);
    for (const auto& [operand, type] : node.requested) text += fmt::format(" {}:{}", operand, type);
    for (const SupportedDatatypes& supported : node.supported)
      text += fmt::format(" {} {}", supported.configuration, supported.sets.size());
    text += '\n';
  }
  for (const LogCode& code : record.codes)
    text += fmt::format("code {}@{} x{} {}\n", code.number, code.stage, code.count, line(code.first));
  for (const EvidenceLine& error : record.unknown_errors) text += "unknown " + line(error) + '\n';
  for (const auto& [name, version] : record.versions) text += fmt::format("{} {}\n", name, version);
  return text + fmt::format("{} {} {} {}", record.soc, record.soc_name, record.arch, record.stack);
}

LogRecord read_in_portions(std::string_view text, std::mt19937& random, std::size_t longest) {
  LogReader reader;
  while (!text.empty()) {
    const std::size_t length = std::min<std::size_t>(text.size(), random() % longest + 1);
    reader.feed(text.substr(0, length));
    text.remove_prefix(length);
  }
  return std::move(reader).finish();
}

std::vector<std::string> node_names(const LogRecord& record) {
  std::vector<std::string> names;
  for (const LogNode& node : record.nodes) names.push_back(node.name);
  return names;
}

// --- Lines -----------------------------------------------------------------------------------------------------------

TEST(LogReader, CountsLinesAndNumbersThem) {
  const LogRecord record = read_log("one\ntwo\n" + kRefused + "\nfour");
  EXPECT_EQ(record.lines, 4U);
  EXPECT_EQ(record.bytes, 13 + kRefused.size());
  ASSERT_THAT(record.nodes, SizeIs(1));
  EXPECT_EQ(record.nodes[0].first.line, 3U);
  EXPECT_EQ(record.nodes[0].first.text, kRefused);
  EXPECT_EQ(read_log("").lines, 0U);
  EXPECT_EQ(read_log("\n").lines, 1U);
  EXPECT_EQ(read_log("a").lines, 1U);
  EXPECT_EQ(read_log("a\n\n\nb\n").lines, 4U);
}

TEST(LogReader, LineEndsOfEverySystem) {
  for (const std::string end : {"\n", "\r\n"}) {
    const LogRecord record = read_log("a" + end + kRefused + end + "b" + end + "graphExecute error = 6001" + end);
    EXPECT_EQ(record.lines, 4U);
    ASSERT_THAT(record.nodes, SizeIs(1));
    EXPECT_EQ(record.nodes[0].first.line, 2U);
    EXPECT_EQ(record.nodes[0].first.text, kRefused);
    ASSERT_THAT(record.codes, SizeIs(2));
    EXPECT_EQ(record.codes[1].first.line, 4U);
  }
}

TEST(LogReader, AProgramThatResetsItsColoursAtTheEnd) {
  const LogRecord record = read_log("\x1b[31m" + kRefused + "\n\x1b[0m");
  EXPECT_EQ(record.lines, 1U);
  ASSERT_THAT(record.nodes, SizeIs(1));
  EXPECT_EQ(record.nodes[0].first.text, kRefused);
}

TEST(LogReader, NothingButNulBytes) {
  EXPECT_EQ(read_log(std::string(100'000, '\0')).lines, 0U);
  EXPECT_EQ(read_log("\0\n\0"s).lines, 1U);
}

TEST(LogReader, Utf16OfBothByteOrders) {
  for (const bool little : {true, false}) {
    std::string wide = little ? "\xff\xfe" : "\xfe\xff";
    for (const char c : "head\r\n" + kRefused + "\r\nlast\r\n") {
      if (!little) wide += '\0';
      wide += c;
      if (little) wide += '\0';
    }
    const LogRecord record = read_log(wide);
    EXPECT_EQ(record.lines, 3U);
    ASSERT_THAT(record.nodes, SizeIs(1));
    EXPECT_EQ(record.nodes[0].first.line, 2U);
    EXPECT_EQ(record.nodes[0].first.text, kRefused);
  }
}

TEST(LogReader, ColoursWithinAToken) {
  const LogRecord record = read_log("Failed to validate op conv_1 with er\x1b[1;31mror 0xc\x1b[0m26\n");
  EXPECT_THAT(node_names(record), ElementsAre("conv_1"));
  EXPECT_EQ(record.nodes[0].code, 3110);
}

TEST(LogReader, BytesThatAreNoText) {
  const LogRecord record = read_log("\xff\xfe\x80 Failed to validate op co\xffnv with error 3110 \xc3\n");
  EXPECT_THAT(node_names(record), ElementsAre("co\ufffdnv"));
  EXPECT_EQ(record.nodes[0].first.text, "\ufffd\ufffd\ufffd Failed to validate op co\ufffdnv with error 3110 \ufffd");
}

TEST(LogReader, LongLinesAreReadWholeAndCountOnce) {
  for (const std::size_t length : {std::size_t{64} << 10, std::size_t{300'000}, std::size_t{1} << 20}) {
    std::string words;
    while (words.size() < length) words += "some words ";
    const LogRecord record = read_log("first\n" + words + kRefused + ' ' + words + "graphExecute error = 6001\nlast\n");
    EXPECT_EQ(record.lines, 3U);
    ASSERT_THAT(record.nodes, SizeIs(1)) << length;
    EXPECT_EQ(record.nodes[0].name, "conv_1");
    EXPECT_EQ(record.nodes[0].first.line, 2U);
    EXPECT_LE(record.nodes[0].first.text.size(), kMaxEvidenceText + 4);
    ASSERT_THAT(record.codes, SizeIs(2));
    EXPECT_EQ(record.codes[1].first.line, 2U);
  }
}

TEST(LogReader, ALineWithoutABlank) {
  const LogRecord record = read_log(std::string(1 << 20, 'x') + "\nFailed to validate op conv_1 with error 3110\n");
  EXPECT_EQ(record.lines, 2U);
  ASSERT_THAT(record.nodes, SizeIs(1));
  EXPECT_EQ(record.nodes[0].first.line, 2U);
}

TEST(LogReader, AMessageBehindAGluedOne) {
  const LogRecord record = read_log("unable to load libcdsprpc.so" + kRefused + "\n");
  ASSERT_THAT(record.nodes, SizeIs(1));
  EXPECT_EQ(record.nodes[0].name, "conv_1");
  EXPECT_EQ(record.nodes[0].first.text, kRefused);
}

// --- Streaming -------------------------------------------------------------------------------------------------------

/// A random log of what the table knows, noise and ordinary lines, with every kind of trouble in the bytes.
std::string random_log(std::mt19937& random) {
  static const std::vector<std::string> kBefore = {"",
                                                   "",
                                                   "11-30 10:11:12.131  141  516 E QnnDsp  : ",
                                                   "QNN_LOG[1]:  <E> ",
                                                   "\x1b[31m",
                                                   "   0.0ms [ ERROR ] ",
                                                   "unable to load libcdsprpc.so"};
  std::string text;
  const std::span<const LogPattern> table = log_patterns();
  for (std::size_t i = random() % 60; i > 0; --i) {
    text += kBefore[random() % kBefore.size()];
    switch (random() % 6) {
      case 0: text += fmt::format("ordinary line {} with error {}", random() % 100, random() % 20'000); break;
      case 1: text += std::string(random() % 40'000, static_cast<char>('a' + random() % 26)); break;
      case 2: text += std::string(random() % 3, '\0') + "\xff\xc3"; break;
      default: text += table[random() % table.size()].example;
    }
    if (random() % 10 == 0) text += "\x1b[0m";
    if (random() % 20 != 0) text += random() % 3 == 0 ? "\r\n" : "\n";
  }
  return text;
}

TEST(LogReader, PortionsDoNotMatter) {
  std::mt19937 random(7);
  for (int round = 0; round < 150; ++round) {
    const std::string log = random_log(random);
    const std::string whole = text_of(read_log(log));
    ASSERT_EQ(text_of(read_in_portions(log, random, 1 + random() % 100)), whole) << "round " << round;
    ASSERT_EQ(text_of(read_in_portions(log, random, 40'000)), whole) << "round " << round;
  }
}

// --- Against a plain loop --------------------------------------------------------------------------------------------

/// What a loop over the lines finds, without blocks, limits and repetition.
struct PlainReading {
  std::uint64_t lines = 0;
  std::uint64_t noise = 0;
  std::map<std::string, std::uint64_t> events;      // by pattern
  std::map<std::string, std::uint64_t> first_line;  // the same
  std::set<std::string> nodes;
  std::set<int> codes;
};

void take_plainly(const PatternMatch& match, PlainReading& reading) {
  const LogPattern& pattern = log_patterns()[static_cast<std::size_t>(match.pattern)];
  if (pattern.role == PatternRole::noise) ++reading.noise;
  if (pattern.role == PatternRole::noise || pattern.role == PatternRole::glue || pattern.role == PatternRole::other)
    return;
  const std::optional<int> number = log_error_code(capture(match.captures, "code"));
  const std::string_view token = capture(match.captures, "token");
  if (pattern.role == PatternRole::code) {
    const bool known =
        token.empty() ? number && find_error_code(std::int64_t{*number}) != nullptr : find_error_code(token) != nullptr;
    if (!known) return;
  }
  ++reading.events[pattern.id];
  reading.first_line.try_emplace(pattern.id, reading.lines);
  if (number && *number != 0) reading.codes.insert(*number);
  if (const auto second = log_error_code(capture(match.captures, "code2")); second && *second != 0)
    reading.codes.insert(*second);
  if (!token.empty() && find_error_code(token) != nullptr)
    reading.codes.insert(static_cast<int>(find_error_code(token)->number));
  const std::string_view node = capture(match.captures, "node");
  if (pattern.fate != NodeFate::none && !node.empty()) reading.nodes.insert(printable_line(node, 256));
}

PlainReading read_plainly(const std::vector<std::string>& lines) {
  PlainReading reading;
  for (const std::string& line : lines) {
    ++reading.lines;
    for (const PatternMatch& match : match_log_line(line)) take_plainly(match, reading);
  }
  return reading;
}

TEST(LogReader, FindsWhatAPlainLoopFinds) {
  std::mt19937 random(11);
  const std::span<const LogPattern> table = log_patterns();
  for (int round = 0; round < 100; ++round) {
    std::vector<std::string> lines;
    for (std::size_t i = random() % 80; i > 0; --i) {
      lines.push_back(random() % 3 == 0 ? fmt::format("I/Tag( {}): nothing {} of note", random() % 9999, random() % 100)
                                        : table[random() % table.size()].example);
      if (random() % 4 == 0) lines.back() = fmt::format("{:8.1f}ms [ ERROR ] {}", 0.5, lines.back());
    }
    std::string log;
    for (const std::string& line : lines) log += line + '\n';

    const PlainReading plain = read_plainly(lines);
    const LogRecord record = read_log(log);
    EXPECT_EQ(record.lines, plain.lines);
    EXPECT_EQ(record.noise_lines, plain.noise);
    std::map<std::string, std::uint64_t> events, first_line;
    for (const LogEvent& event : record.events) {
      events[id_of(event)] += event.count;
      first_line.try_emplace(id_of(event), event.first.line);
    }
    EXPECT_EQ(events, plain.events);
    EXPECT_EQ(first_line, plain.first_line);
    std::set<std::string> nodes;
    for (const LogNode& node : record.nodes) nodes.insert(node.name);
    EXPECT_EQ(nodes, plain.nodes);
    std::set<int> codes;
    for (const LogCode& code : record.codes) codes.insert(code.number);
    EXPECT_EQ(codes, plain.codes);
  }
}

// --- Repetition and limits -------------------------------------------------------------------------------------------

TEST(LogReader, LinesThatSayTheSameAreCounted) {
  std::string log;
  for (int i = 0; i < 1000; ++i)
    log += "fastrpc memory map for fd: " + std::to_string(i) + " with length: 4096 failed with error: 0x1\n";
  const LogRecord record = read_log(log);
  ASSERT_THAT(record.events, SizeIs(1));
  EXPECT_EQ(record.events[0].count, 1000U);
  EXPECT_EQ(record.events[0].first.line, 1U);
}

TEST(LogReader, EachKindIsCountedForItself) {
  std::string log;
  for (int i = 0; i < 100; ++i) log += fmt::format("Failed to validate op node_{} with error 3110\n", i % 20);
  const LogRecord record = read_log(log);
  std::uint64_t total = 0;
  for (const LogEvent& event : record.events) total += event.count;
  EXPECT_EQ(total, 100U);
  ASSERT_THAT(record.nodes, SizeIs(20));
  for (const LogNode& node : record.nodes) EXPECT_EQ(node.count, 5U) << node.name;
  EXPECT_EQ(record.events[0].count, 5U) << "what is kept counts its own lines only";
  ASSERT_THAT(record.codes, SizeIs(1));
  EXPECT_EQ(record.codes[0].count, 100U);
}

/// Bytes of text and number of entries that a record holds.
struct Size {
  std::size_t bytes = 0;
  std::size_t entries = 0;
  void add(const std::string& text) {
    bytes += text.size();
    ++entries;
  }
};

Size size_of(const LogRecord& record) {
  Size size;
  const auto captures = [&](const Captures& list) {
    for (const auto& [name, value] : list) size.add(value);
  };
  const auto datatypes = [&](const DatatypeSet& set) {
    for (const auto& [operand, type] : set) size.add(operand), size.add(type);
  };
  for (const LogEvent& event : record.events) size.add(event.first.text), captures(event.captures);
  for (const LogNode& node : record.nodes) {
    for (const std::string* text : {&node.name, &node.type, &node.kernel, &node.first.text}) size.add(*text);
    for (const EvidenceLine& reason : node.reasons) size.add(reason.text);
    for (const KernelInput& input : node.inputs) size.add(input.layout);
    datatypes(node.requested);
    for (const SupportedDatatypes& supported : node.supported) {
      size.add(supported.configuration);
      for (const DatatypeSet& set : supported.sets) datatypes(set);
    }
  }
  for (const LogCode& code : record.codes) size.add(code.first.text), size.add(code.stage);
  for (const EvidenceLine& error : record.unknown_errors) size.add(error.text);
  for (const auto& [name, version] : record.versions) size.add(version);
  for (const std::string* text : {&record.soc, &record.soc_name, &record.arch, &record.stack}) size.add(*text);
  return size;
}

constexpr int kMany = 30'000;

TEST(LogReader, ManyNodesAreCountedAndNotKept) {
  LogReader reader;
  for (int i = 0; i < kMany; ++i) reader.feed(fmt::format("MNN_QNN: Not registered type 35, node_{}.\n", i));
  const LogRecord record = std::move(reader).finish();
  EXPECT_THAT(record.nodes, SizeIs(4096));
  EXPECT_EQ(record.nodes_left_out, kMany - 4096U);
  EXPECT_EQ(record.nodes.back().name, "node_4095");
  EXPECT_LE(record.events.size(), 16U);
}

TEST(LogReader, AMillionDifferentLinesLeaveLittle) {
  // Blocks of the same lines with other numbers: a million lines in all, more different ones than any limit.
  LogReader reader;
  std::string block;
  std::uint64_t lines = 0;
  for (int i = 0; i < kMany; ++i) {
    block = fmt::format(
        "QNN_LOG[1]:  <E> unknown {0}\ncall returned error: {0}\nlibrary \"lib{0}.so\" not found\nSM8650X{0} QNN SDK "
        "v2.{1}.0\n"
        "soc_model: {2} dsp_arch: v{3}\ncould not create op: q::kernel_{0}\n",
        i, i % 1000, i % 10'000, 10 + i % 90);
    lines += 6;
    reader.feed(block);
  }
  std::string ordinary;
  for (int i = 0; i < 10'000; ++i) ordinary += "an ordinary line\n";
  for (; lines < 1'000'000; lines += 10'000) reader.feed(ordinary);
  const LogRecord record = std::move(reader).finish();
  EXPECT_EQ(record.lines, lines);
  EXPECT_EQ(record.unknown_error_lines, static_cast<std::uint64_t>(kMany));
  EXPECT_LE(record.unknown_errors.size(), 8U);
  EXPECT_LE(record.codes.size(), 64U);
  EXPECT_LT(size_of(record).bytes, 100'000U);
  EXPECT_LT(size_of(record).entries, 1000U);
}

TEST(LogReader, ListsOfDataTypesAreBounded) {
  LogReader reader;
  std::uint64_t members = 0;
  for (int node = 0; node < 40; ++node) {
    std::string text = "Requested I/O datatype set:\n";
    for (int operand = 0; operand < 100; ++operand) text += fmt::format("in[{}]:QNN_DATATYPE_FLOAT_16\n", operand);
    for (int list = 0; list < 100; ++list) {
      text += "Supported I/O datatype sets for the configuration: FP16\n";
      for (int i = 0; i < 200; ++i, ++members) text += fmt::format("in[{}]:QNN_DATATYPE_FLOAT_16\n", i % 3);
    }
    text += fmt::format("Failed to validate op node_{} with error 3110\n", node);
    reader.feed(text);
  }
  const LogRecord record = std::move(reader).finish();
  EXPECT_THAT(record.nodes, SizeIs(40));
  EXPECT_THAT(record.nodes[0].requested, SizeIs(32));
  EXPECT_LT(size_of(record).entries, 200'000U);
  EXPECT_GT(members, 3 * size_of(record).entries) << "the limit was reached";
}

TEST(LogReader, HugeValuesAreCut) {
  const std::string huge(12'000, 'q');
  const LogRecord record =
      read_log("Failed to validate op " + huge + " with error 3110\n" + "SM8650" + std::string(9000, 'X') + "\n" +
               "MNN version: " + std::string(9000, '1') + ".2.3\n" + "in[0]:QNN_DATATYPE_" + std::string(9000, 'A') +
               "\n" + "could not create op: q::" + huge + "\n");
  ASSERT_THAT(record.nodes, SizeIs(1));
  EXPECT_LE(record.nodes[0].name.size(), 300U);
  EXPECT_LE(record.soc_name.size(), 300U);
  EXPECT_LE(record.versions.at("mnn").size(), 300U);
  for (const LogEvent& event : record.events)
    for (const auto& [name, value] : event.captures) EXPECT_LE(value.size(), 300U) << name;
}

// --- Nodes -----------------------------------------------------------------------------------------------------------

TEST(LogReader, ReasonsStandBeforeTheNodeThatTheyBelongTo) {
  const LogRecord record = read_log(
      "Tensor 1 and 2 have mismatching datatypes. 0x416 != 0x232.\nOp specific validation failed.\n"
      "Failed to validate op first with error 3110\nBQ is not supported\nFailed to validate op second with error 3110\n"
      "Failed to validate op third with error 3110\n");
  ASSERT_THAT(node_names(record), ElementsAre("first", "second", "third"));
  ASSERT_THAT(record.nodes[0].reasons, SizeIs(1));
  EXPECT_EQ(record.nodes[0].reasons[0].line, 1U);
  ASSERT_THAT(record.nodes[1].reasons, SizeIs(1));
  EXPECT_EQ(record.nodes[1].reasons[0].text, "BQ is not supported");
  EXPECT_THAT(record.nodes[2].reasons, IsEmpty());
  EXPECT_EQ(record.nodes[0].reasons.size(), record.nodes[0].reason_patterns.size());
}

TEST(LogReader, ANodeWithoutCreatorTakesNobodysReason) {
  const LogRecord record = read_log(
      "Tensor 1 and 2 have mismatching datatypes. 0x416 != 0x232.\nMNN_QNN: Not registered type 35, up_1.\n"
      "Failed to validate op conv_1 with error 3110\n");
  ASSERT_THAT(node_names(record), ElementsAre("up_1", "conv_1"));
  EXPECT_THAT(record.nodes[0].reasons, IsEmpty());
  ASSERT_THAT(record.nodes[1].reasons, SizeIs(1));
  EXPECT_THAT(record.nodes[1].reasons[0].text, StartsWith("Tensor 1 and 2"));
}

TEST(LogReader, AReasonReachesOverOtherThreadsLinesButNotFar) {
  const std::string reason = "BQ is not supported\n", node = "Failed to validate op conv_1 with error 3110\n";
  const auto between = [](int lines) {
    std::string text;
    for (int i = 0; i < lines; ++i) text += "I/Tag: another thread\n";
    return text;
  };
  EXPECT_THAT(read_log(reason + between(40) + node).nodes.at(0).reasons, SizeIs(1));
  EXPECT_THAT(read_log(reason + between(60) + node).nodes.at(0).reasons, IsEmpty());
}

TEST(LogReader, ARefusalCountsMoreThanWhatFollows) {
  const LogRecord record =
      read_log(kRefused + "\n\"conv_1\" generated: could not create op\n\"other\" generated: could not create op\n");
  ASSERT_THAT(node_names(record), ElementsAre("conv_1", "other"));
  EXPECT_EQ(record.nodes[0].fate, NodeFate::refused);
  EXPECT_TRUE(record.nodes[0].not_created);
  EXPECT_EQ(record.nodes[1].fate, NodeFate::not_created);
  EXPECT_FALSE(record.nodes[1].refused);
}

TEST(LogReader, InputsOfTheOperatorThatWasNotCreated) {
  const LogRecord record = read_log(
      "Op creation failure, op id=0x44ba00000099 (q::layernorm_2d_fp16) total_inputs=2\n"
      "Input 0: id=[0x52] op=[Const] output0=[14ConcreteTensorIN5Tdefs14F16Crouton_TCMEE]\n"
      "Input 1: id=[0x53] op=[Const] output0=[14ConcreteTensorIN5Tdefs10PlainFloatEE]\n"
      "\"norm_1\" generated: could not create op\n");
  ASSERT_THAT(record.nodes, SizeIs(1));
  EXPECT_EQ(record.nodes[0].kernel, "q::layernorm_2d_fp16");
  ASSERT_THAT(record.nodes[0].inputs, SizeIs(2));
  EXPECT_EQ(record.nodes[0].inputs[0].layout, "F16Crouton_TCM");
  EXPECT_EQ(record.nodes[0].inputs[1].layout, "PlainFloat");
}

TEST(LogReader, DataTypesThatWereAskedForAndThoseThatAreSupported) {
  const LogRecord record = read_log(
      "Unsupported input/output datatypes requested for the HTP Op 'ElementWiseGreater' in the node 'g'.\n"
      "Requested I/O datatype "
      "set:\nin[0]:QNN_DATATYPE_FLOAT_16\nin[1]:QNN_DATATYPE_FLOAT_16\nout[0]:QNN_DATATYPE_INT_32\n"
      "Supported I/O datatype sets for the configuration: FP16\n"
      "in[0]:QNN_DATATYPE_FLOAT_16\nin[1]:QNN_DATATYPE_FLOAT_16\nout[0]:QNN_DATATYPE_BOOL_8\n"
      "in[0]:QNN_DATATYPE_FLOAT_32\nin[1]:QNN_DATATYPE_FLOAT_32\nout[0]:QNN_DATATYPE_BOOL_8\n"
      "validateNativeOps master op validator g:qti.aisw:ElementWiseGreater failed 3110\n");
  ASSERT_THAT(record.nodes, SizeIs(1));
  EXPECT_THAT(record.nodes[0].requested,
              ElementsAre(Pair("in[0]", "FLOAT_16"), Pair("in[1]", "FLOAT_16"), Pair("out[0]", "INT_32")));
  ASSERT_THAT(record.nodes[0].supported, SizeIs(1));
  EXPECT_EQ(record.nodes[0].supported[0].configuration, "FP16");
  EXPECT_THAT(record.nodes[0].supported[0].sets, ElementsAre(SizeIs(3), SizeIs(3)));
}

// --- Facts and codes -------------------------------------------------------------------------------------------------

TEST(LogReader, FactsAreWhatMostLinesSay) {
  const LogRecord record = read_log(
      "soc_model: 43\nsoc_model: 57\nsoc_model: 57\ndsp_arch: v75\nQNN SDK v2.31.0.250130151446_114721\nQNN SDK "
      "v2.40.0\n"
      "ro.soc.model SM8650\nMNN version: 3.4.0\nMNN_QNN: Loaded HTP backend.\n");
  EXPECT_EQ(record.soc, "57");
  EXPECT_EQ(record.soc_name, "SM8650");
  EXPECT_EQ(record.arch, "v75");
  EXPECT_EQ(record.versions.at("sdk"), "2.31.0") << "the first one";
  EXPECT_EQ(record.versions.at("mnn"), "3.4.0");
  EXPECT_EQ(record.stack, "mnn");
}

TEST(LogReader, ManyArchitecturesInAListingTellNone) {
  EXPECT_EQ(read_log("libQnnHtpV75Skel.so\n").arch, "v75");
  EXPECT_EQ(read_log("libQnnHtpV75Skel.so\nlibQnnHtpV73Skel.so\n").arch, "");
  EXPECT_EQ(read_log("libQnnHtpV75Skel.so\nlibQnnHtpV73Skel.so\ndsp_arch: v79\n").arch, "v79");
}

TEST(LogReader, CodesWithTheStageThatTheyComeFrom) {
  const LogRecord record = read_log(
      "Failed to finalize graph (id: 1) with err 1002\nmy graph call failed: 1002\nQNN_GRAPH_ERROR_INVALID_TENSOR\n");
  ASSERT_THAT(record.codes, SizeIs(2));
  EXPECT_EQ(record.codes[0].number, 1002);
  EXPECT_EQ(record.codes[0].stage, "finalize");
  EXPECT_EQ(record.codes[0].count, 2U);
  EXPECT_EQ(record.codes[1].number, 6004);
}

TEST(LogReader, OneNumberAtTwoStagesIsTwoCodes) {
  const LogRecord record = read_log(
      "Failed to finalize graph (id: 1) with err 1002\n"
      "Failed to initialize graph with id 258 context 7 deviceId 0 coreId 0 pdId 0 with err 1002\n");
  ASSERT_THAT(record.codes, SizeIs(2));
  EXPECT_EQ(record.codes[0].stage, "finalize");
  EXPECT_EQ(record.codes[1].stage, "context");
}

TEST(LogReader, OrdinaryNumbersAreNoCodes) {
  EXPECT_THAT(read_log("request failed: 12345678\nconnection error 443, status 4711\n").codes, IsEmpty());
}

TEST(LogErrorCode, EveryWritingOfANumber) {
  EXPECT_EQ(log_error_code("1002"), 1002);
  EXPECT_EQ(log_error_code("0x3ea"), 1002);
  EXPECT_EQ(log_error_code("-1"), std::nullopt);
  EXPECT_EQ(log_error_code("0x80000406"), std::nullopt) << "a status of FastRPC";
  EXPECT_EQ(log_error_code(""), std::nullopt);
  EXPECT_EQ(log_error_code("nine"), std::nullopt);
  EXPECT_EQ(log_error_code("99999999999999999999999"), std::nullopt);
}

TEST(TensorClass, IsReadFromItsMangledName) {
  EXPECT_EQ(tensor_class("14ConcreteTensorIN5Tdefs14F16Crouton_TCMEE"), "F16Crouton_TCM");
  EXPECT_EQ(tensor_class("F16Crouton_TCM"), "F16Crouton_TCM");
  EXPECT_EQ(tensor_class("5Tdefs99Short"), "5Tdefs99Short");
  EXPECT_EQ(tensor_class("5Tdefs"), "5Tdefs");
  EXPECT_EQ(tensor_class("Tdefs99999999999999999999X"), "Tdefs99999999999999999999X");
  EXPECT_EQ(tensor_class(""), "");
}

TEST(LogRecord, KnowsItsEvents) {
  const LogRecord record = read_log(kRefused + "\n");
  EXPECT_TRUE(record.has("validate-native-ops"));
  EXPECT_FALSE(record.has("fastrpc-map-failed"));
  EXPECT_FALSE(record.has("no-such-pattern"));
  ASSERT_NE(record.event("validate-native-ops"), nullptr);
  EXPECT_EQ(record.event("validate-native-ops")->first.line, 1U);
}

}  // namespace
}  // namespace qnndbg
