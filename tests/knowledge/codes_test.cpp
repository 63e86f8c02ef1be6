#include "knowledge/codes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace qnndbg {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;

/// What QNN's headers say, recorded outside of the repository; null when it is not there.
json recorded_facts() {
  std::ifstream file(QNNDBG_SOURCE_DIR "/../shared/facts/qnn_errors.json");
  return file ? json::parse(file, nullptr, false) : json();
}

// Classes that an explanation may have; docs/error-codes.md says which of them a number can decide.
const std::set<std::string> kClasses = {"library_not_found",
                                        "sdk_mix",
                                        "version_mismatch",
                                        "skel_load_failed",
                                        "permission_denied",
                                        "soc_arch_mismatch",
                                        "context_refused",
                                        "device_create_failed",
                                        "finalize_op_not_created",
                                        "finalize_tcm",
                                        "execute_failed",
                                        "op_unregistered",
                                        "validation_refused",
                                        "finalize_graph_too_large",
                                        "cpu_fallback",
                                        "input_not_copied",
                                        "io_mismatch",
                                        "conversion_crash",
                                        "quant_params_invalid",
                                        "wrong_output",
                                        "fp16_rounding",
                                        "fp16_overflow",
                                        "backend_not_built",
                                        "garbage_not_npu",
                                        "dsp_restart",
                                        "out_of_memory",
                                        "performance",
                                        "not_decidable",
                                        "finalize_weights_not_mapped"};

void expect_causes(const std::vector<ErrorCause>& causes, int number) {
  EXPECT_THAT(causes, Not(IsEmpty())) << number;
  for (const ErrorCause& cause : causes) {
    EXPECT_FALSE(cause.what.empty()) << number;
    EXPECT_TRUE(cause.class_id.empty() || kClasses.contains(cause.class_id)) << number << " " << cause.class_id;
  }
}

void expect_steps(const std::vector<std::string>& steps, int number) {
  EXPECT_THAT(steps, Not(IsEmpty())) << number;
  for (const std::string& step : steps) {
    EXPECT_TRUE(step.ends_with('.')) << number << ": " << step;
    EXPECT_FALSE(step.starts_with('@')) << number << " refers to a text that is not there: " << step;
  }
}

TEST(ErrorCodes, AreExplained) {
  EXPECT_EQ(error_codes().size(), 118U);
  for (const ErrorCode& code : error_codes()) {
    EXPECT_TRUE(code.meaning.ends_with('.')) << code.number;
    EXPECT_TRUE(kClasses.contains(code.class_id)) << code.number << " " << code.class_id;
    EXPECT_NE(code_range_of(code.number), nullptr) << code.number;
    EXPECT_FALSE(code.module.empty()) << code.number;
    expect_causes(code.causes, code.number);
    expect_steps(code.next_steps, code.number);
    for (const StageMeaning& stage : code.stages) {
      EXPECT_NE(find_code_stage(stage.stage), nullptr) << code.number << " " << stage.stage;
      EXPECT_TRUE(stage.meaning.ends_with('.')) << code.number << " " << stage.stage;
      EXPECT_TRUE(kClasses.contains(stage.class_id)) << code.number << " " << stage.class_id;
      EXPECT_EQ(code.at_stage(stage.stage), &stage) << code.number << ": two meanings of one stage";
      expect_causes(stage.causes, code.number);
      expect_steps(stage.next_steps, code.number);
    }
    for (const Consequence& before : code.follows) {
      EXPECT_NE(find_error_code(before.after), nullptr) << code.number;
      EXPECT_NE(before.after, code.number);
      EXPECT_FALSE(before.why.empty()) << code.number;
    }
  }
}

TEST(ErrorCodes, AreSortedWithoutRepetition) {
  for (std::size_t i = 1; i < error_codes().size(); ++i)
    EXPECT_LT(error_codes()[i - 1].number, error_codes()[i].number);
}

TEST(ErrorCodes, EveryNameFindsItsOwnCode) {
  EXPECT_EQ(error_code_names().size(), 154U);
  const auto expect_found = [](const std::string& name, const ErrorCode& code) {
    EXPECT_EQ(find_error_code(name), &code) << name;
    EXPECT_EQ(find_error_code(name.substr(4)), &code) << name;
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    EXPECT_EQ(find_error_code(' ' + lower + '\n'), &code) << name;
  };
  for (const ErrorCode& code : error_codes()) {
    EXPECT_EQ(find_error_code(code.number), &code);
    expect_found(code.name, code);
    for (const std::string& alias : code.aliases) expect_found(alias, code);
  }
}

TEST(ErrorCodes, UnknownIsNoCode) {
  for (const std::int64_t number : {std::int64_t{-1002}, std::int64_t{0}, std::int64_t{1}, std::int64_t{1001},
                                    std::int64_t{0x7FFFFFFF}, std::int64_t{0x100003EA}, INT64_MIN, INT64_MAX})
    EXPECT_EQ(find_error_code(number), nullptr) << number;
  for (const std::string& name :
       {std::string(), std::string("QNN_"), std::string("1002"), std::string("QNN_QNN_COMMON_ERROR_SYSTEM"),
        std::string(1 << 20, 'Q'), std::string("QNN_COMMON_ERROR_SYSTEM\0", 24), std::string("\xff\xfe")})
    EXPECT_EQ(find_error_code(name), nullptr);
}

TEST(ErrorCodes, NamesThatDocumentationsMisspellAreFound) {
  EXPECT_EQ(find_error_code("QNN_SIGNAL_ERROR_TRIGGER_SIGNAL_IDLE")->number, 9001);
  EXPECT_EQ(find_error_code("QNN_INTERFACE_INVALID_PARAMETER")->number, 1004);
  EXPECT_EQ(find_error_code("QNN_SYSTEM_INTERFACE_INVALID_PARAMETER")->number, 1004);
  EXPECT_EQ(find_error_code("QNN_OP_PACKAGE_ERROR_UNSUPPORTED_PLATFORM")->number, 1006);
}

TEST(ErrorCodes, CalledDifferentlyElsewhere) {
  for (const int number : {1003, 5005, 6000, 6004, 6005}) {
    ASSERT_FALSE(find_error_code(number)->also_called.empty()) << number;
    const OtherName& other = find_error_code(number)->also_called.front();
    EXPECT_FALSE(other.by.empty());
    EXPECT_FALSE(other.name.empty());
    EXPECT_NE(other.right.find("headers"), std::string::npos) << number;
  }
  EXPECT_EQ(find_error_code("QNN_GRAPH_ERROR_GENERAL")->number, 1100);
}

TEST(ErrorCodes, TheStageDecides) {
  const ErrorCode& memory = *find_error_code(1002);
  EXPECT_EQ(memory.class_id, "not_decidable");
  std::set<std::string> meanings;
  for (const char* stage : {"finalize", "context", "device", "execute"}) {
    ASSERT_NE(memory.at_stage(stage), nullptr) << stage;
    meanings.insert(memory.at_stage(stage)->meaning);
  }
  EXPECT_EQ(meanings.size(), 4U);
  EXPECT_EQ(memory.at_stage("context")->class_id, "context_refused");
  EXPECT_EQ(memory.at_stage("profile"), nullptr);
  EXPECT_EQ(memory.at_stage(""), nullptr);
  EXPECT_EQ(find_error_code(6000)->at_stage("execute")->causes.front().class_id, "input_not_copied");
}

TEST(ErrorCodes, SomeNumbersDecideTheClass) {
  const std::pair<int, const char*> expected[] = {
      {1008, "sdk_mix"},          {3110, "validation_refused"}, {4000, "skel_load_failed"},
      {5004, "version_mismatch"}, {5005, "context_refused"},    {6004, "io_mismatch"},
      {1007, "dsp_restart"},      {14004, "permission_denied"}, {14001, "device_create_failed"}};
  for (const auto& [number, id] : expected) EXPECT_EQ(find_error_code(number)->class_id, id) << number;
}

TEST(ErrorCodes, TheDocumentListsTheDecidedClasses) {
  std::map<std::string, std::vector<int>> numbers;
  for (const ErrorCode& code : error_codes())
    if (code.class_id != "not_decidable") numbers[code.class_id].push_back(code.number);
  std::ifstream file(QNNDBG_SOURCE_DIR "/docs/error-codes.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  for (const auto& [id, list] : numbers)
    EXPECT_THAT(document, testing::HasSubstr(fmt::format("\n| {} | {} |\n", id, fmt::join(list, ", "))));
}

TEST(ErrorCodes, ConsequencesNameWhatTheyFollow) {
  const auto follows = [](int number) {
    std::vector<int> before;
    for (const Consequence& consequence : find_error_code(number)->follows) before.push_back(consequence.after);
    return before;
  };
  EXPECT_THAT(follows(5003), Contains(1002));
  EXPECT_THAT(follows(6023), Contains(1002));
  EXPECT_THAT(follows(14001), Contains(4000));
}

TEST(CodeStage, IsFoundByFunction) {
  const std::pair<const char*, const char*> expected[] = {
      {"QnnGraph_finalize", "finalize"},      {"graphFinalize", "finalize"},           {"graphExecute", "execute"},
      {"QnnGraph_create", "graph"},           {"QnnGraph_addNode", "add_node"},        {"QnnDevice_create", "device"},
      {"backendCreate", "load_library"},      {"backendValidateOpConfig", "validate"}, {"QnnMem_register", "memory"},
      {"contextCreateFromBinary", "context"}, {"QnnContext_getBinarySize", "save"},    {"memRegister", "memory"}};
  for (const auto& [function, stage] : expected) {
    ASSERT_NE(code_stage_of(function), nullptr) << function;
    EXPECT_EQ(code_stage_of(function)->id, stage) << function;
  }
  for (const std::string& text : {std::string(), std::string("Qnn"), std::string("malloc"), std::string(1 << 20, 'G')})
    EXPECT_EQ(code_stage_of(text), nullptr);
}

TEST(CodeRange, IsTheNarrowest) {
  EXPECT_EQ(code_range_of(4949)->module, "backend");
  EXPECT_EQ(code_range_of(4950)->module, "saver");
  EXPECT_EQ(code_range_of(4998)->module, "saver");
  EXPECT_EQ(code_range_of(4999)->module, "backend");
  EXPECT_EQ(code_range_of(49999)->module, "system");
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{999}, std::int64_t{15000}, std::int64_t{29999},
                                    std::int64_t{50000}, std::int64_t{61000}, std::int64_t{-6000}, INT64_MAX})
    EXPECT_EQ(code_range_of(number), nullptr) << number;
}

TEST(CodesNear, AreOfTheSameModule) {
  std::vector<int> near;
  for (const ErrorCode* code : codes_near(6010)) near.push_back(code->number);
  EXPECT_EQ(near, (std::vector<int>{6007, 6006, 6005}));
  EXPECT_THAT(codes_near(6000), IsEmpty());
  EXPECT_THAT(codes_near(60500), IsEmpty());
  EXPECT_THAT(codes_near(INT64_MIN), IsEmpty());
}

TEST(NotAnError, IsSuccessMarkOrSentinel) {
  EXPECT_EQ(find_not_an_error(0)->kind, NotAnError::Kind::success);
  EXPECT_EQ(find_not_an_error(0x7FFFFFFF)->kind, NotAnError::Kind::sentinel);
  EXPECT_EQ(find_not_an_error(6999)->kind, NotAnError::Kind::last_of_range);
  EXPECT_EQ(find_not_an_error(6000), nullptr) << "the number is a code";
  EXPECT_EQ(find_not_an_error("qnn_graph_min_error")->number, 6000);
  EXPECT_EQ(find_not_an_error("QNN_SUCCESS")->number, 0);
  EXPECT_EQ(find_not_an_error("QNN_GRAPH_ERROR_GENERAL"), nullptr);
  EXPECT_EQ(find_not_an_error(""), nullptr);
  for (const NotAnError& name : not_errors()) EXPECT_EQ(find_error_code(name.name), nullptr) << name.name;
}

struct Form {
  const char* text;
  std::int64_t number;
  const char* how;
};

TEST(ParseErrorCode, ReadsTheFormsThatLogsHave) {
  const Form forms[] = {
      {"1002", 1002, ""},
      {"+1002", 1002, ""},
      {"  1002\r\n", 1002, ""},
      {"0x3ea", 1002, ""},
      {"0X3EA", 1002, ""},
      {"0x00000000000000000000000000000000003ea", 1002, ""},
      {"err=1002,", 1002, ""},
      {"err: 1002", 1002, ""},
      {"err 12", 12, ""},
      {"(error 0xc26).", 3110, ""},
      {"3110 = 0xc26", 3110, ""},
      {"error code - 6000", 6000, ""},
      {"\"6004\";", 6004, ""},
      {"-1", -1, ""},
      {"err:-1", -1, ""},
      {"0", 0, ""},
      {"-0", 0, ""},
      {"-1002", 1002, "-1002 without its sign"},
      {"4294966294", 1002, "0xfffffc16 is -1002, taken without its sign"},
      {"18446744073709550614", 1002, "0xfffffffffffffc16 is -1002, taken without its sign"},
      {"0x12340000000003ea", 1002, "low 16 bits of 0x12340000000003ea"},
      {"1311673391471657962", 1002, "low 16 bits of 0x12340000000003ea"},
      {"0x800000000000177a", 6010, "low 16 bits of 0x800000000000177a"},
      {"0x800003ea", 1002, "low 16 bits of 0x800003ea"},
      {"66538", 1002, "low 16 bits of 0x103ea"},
      {"2097152", 2097152, ""},
      {"71546", 71546, ""},  // 0x1177a: 6010 is no code, so this is some other number
      {"0x7fffffff", 0x7FFFFFFF, ""},
      {"65535", 65535, ""},
  };
  for (const Form& form : forms) {
    const std::optional<ParsedCode> parsed = parse_error_code(form.text);
    ASSERT_TRUE(parsed) << form.text;
    EXPECT_EQ(parsed->number, form.number) << form.text;
    EXPECT_EQ(parsed->how, form.how) << form.text;
    EXPECT_FALSE(parsed->transport) << form.text;
  }
}

TEST(ParseErrorCode, KeepsWhatFastRpcSays) {
  const Form forms[] = {
      {"0x80000406", 0x80000406, ""},
      {"2147484678", 0x80000406, ""},
      {"-2147482618", 0x80000406, "-2147482618 as an unsigned 32-bit number"},
      {"0xffffffff80000406", 0x80000406, "0xffffffff80000406 as an unsigned 32-bit number"},
      {"0x80000600", 0x80000600, ""},
      {"0xffffffff", 0xffffffff, ""},
      {"error=4294967295", 0xffffffff, ""},
  };
  for (const Form& form : forms) {
    const std::optional<ParsedCode> parsed = parse_error_code(form.text);
    ASSERT_TRUE(parsed) << form.text;
    EXPECT_TRUE(parsed->transport) << form.text;
    EXPECT_EQ(parsed->number, form.number) << form.text;
    EXPECT_EQ(parsed->how, form.how) << form.text;
  }
}

TEST(ParseErrorCode, RefusesWhatIsNoNumber) {
  const std::string texts[] = {"",
                               " ",
                               "\n",
                               "0x",
                               "-",
                               "+",
                               "--1002",
                               "+-1002",
                               "0x-3ea",
                               "1e3",
                               "1002.5",
                               "1002 1003",
                               "0x3eg",
                               "c26",
                               "1002x",
                               "٣١١٠",
                               "１００２",
                               "1002\xc2\xb5",
                               "\xff",
                               "err=",
                               "error code",
                               "12 monkeys",
                               "18446744073709551616",
                               "0x10000000000000000",
                               "-9223372036854775809",
                               "QNN_SUCCESS",
                               std::string(40, '9'),
                               "0x" + std::string(40, 'f'),
                               std::string(1'000'000, '1'),
                               std::string("1002\0x", 6)};
  for (const std::string& text : texts) EXPECT_FALSE(parse_error_code(text)) << text.substr(0, 60);
}

TEST(ParseErrorCode, KeepsTheNumberAsWritten) {
  EXPECT_EQ(parse_error_code("0x12340000000003ea")->raw, 0x12340000000003eaU);
  EXPECT_EQ(parse_error_code("-1")->raw, UINT64_MAX);
  EXPECT_EQ(parse_error_code("-9223372036854775808")->raw, std::uint64_t{1} << 63U);
}

TEST(HtpGraphStatus, IsKnown) {
  EXPECT_EQ(htp_graph_status(12)->name, "ErrorFatalSchdule");
  EXPECT_EQ(htp_graph_status(-1)->name, "ErrorFatal");
  EXPECT_EQ(htp_graph_status(34), nullptr);
  EXPECT_EQ(htp_graph_status(1002), nullptr);
}

TEST(Lookalikes, SayWhatElseANumberMayBe) {
  const auto kinds = [](std::int64_t number) {
    std::vector<std::string> out;
    for (const Lookalike& other : lookalikes(number)) {
      EXPECT_FALSE(other.meaning.empty()) << number;
      EXPECT_FALSE(other.context.empty()) << number;
      out.push_back(other.kind);
    }
    return out;
  };
  EXPECT_THAT(kinds(0x416), testing::ElementsAre("data_type"));
  EXPECT_NE(lookalikes(0x416).front().meaning.find("ufixed16"), std::string::npos);
  EXPECT_THAT(kinds(12), Contains("htp_graph_status"));
  EXPECT_THAT(kinds(1002), testing::UnorderedElementsAre("profile_event", "property_key"));
  EXPECT_THAT(kinds(57), Contains("soc"));
  EXPECT_THAT(kinds(17), Contains("mnn_operator_type"));
  EXPECT_THAT(kinds(0x80000406), testing::ElementsAre("rpc_status"));
  EXPECT_THAT(kinds(14001), IsEmpty());
  EXPECT_THAT(kinds(INT64_MIN), IsEmpty());
  EXPECT_THAT(kinds(INT64_MAX), IsEmpty());
  EXPECT_THAT(kinds(0x10000000CLL), IsEmpty()) << "cut to 32 bits this would be 12";
}

void expect_names(const json& fact, const ErrorCode& code) {
  EXPECT_EQ(code.name, fact["name"]);
  if (!fact.contains("aliases")) return;
  EXPECT_EQ(json(code.aliases), fact["aliases"]) << code.number;
  EXPECT_EQ(json(code.returned_by), fact["documented_for"]) << code.number;
  EXPECT_EQ(code.retired, fact.value("deprecated", false)) << code.number;
}

TEST(RecordedFacts, AreAllExplained) {
  const json facts = recorded_facts();
  if (!facts.is_object()) GTEST_SKIP() << "no ../shared/facts/qnn_errors.json";
  std::size_t count = 0;
  for (const json& list : {facts["codes"], facts["newer_codes"]["codes"]}) {
    for (const json& fact : list) {
      const ErrorCode* code = find_error_code(fact["code"].get<std::int64_t>());
      ASSERT_NE(code, nullptr) << fact["code"];
      expect_names(fact, *code);
      ++count;
    }
  }
  EXPECT_EQ(count, error_codes().size());
  for (const json& range : facts["ranges"])
    EXPECT_TRUE(std::any_of(code_ranges().begin(), code_ranges().end(), [&](const CodeRange& r) {
      return r.first == range["min"] && r.last == range["max"];
    })) << range;
  EXPECT_EQ(code_ranges().size(), facts["ranges"].size());
  for (const json& status : facts["htp_graph_status"]["values"]) {
    ASSERT_NE(htp_graph_status(status["value"]), nullptr) << status;
    EXPECT_EQ(htp_graph_status(status["value"])->name, status["name"]);
  }
}

TEST(RecordedFacts, NamesThatAreNoErrorsAreSaidToBeNone) {
  const json facts = recorded_facts();
  if (!facts.is_object()) GTEST_SKIP() << "no ../shared/facts/qnn_errors.json";
  std::size_t count = 0;
  for (const char* list : {"success_names", "range_marker_names", "sentinel_names"}) {
    for (const json& name : facts[list]) {
      EXPECT_NE(find_not_an_error(name.get<std::string>()), nullptr) << name;
      ++count;
    }
  }
  EXPECT_EQ(count, not_errors().size());
}

/// All texts below a value, and their sentences, without case and closing dots.
void collect_sentences(const json& value, std::set<std::string>& out) {
  if (value.is_structured())
    for (const json& part : value) collect_sentences(part, out);
  if (!value.is_string()) return;
  std::string rest = value;
  std::transform(rest.begin(), rest.end(), rest.begin(), [](unsigned char c) { return std::tolower(c); });
  while (!rest.empty()) {
    const std::size_t end = std::min({rest.find(". "), rest.find("; "), rest.size()});
    std::string sentence = rest.substr(0, end);
    while (sentence.ends_with('.')) sentence.pop_back();
    if (sentence.find(' ') != std::string::npos) out.insert(sentence);
    rest.erase(0, std::min(end + 2, rest.size()));
  }
}

TEST(RecordedFacts, NoSentenceIsTakenOver) {
  const json facts = recorded_facts();
  if (!facts.is_object()) GTEST_SKIP() << "no ../shared/facts/qnn_errors.json";
  std::ifstream file(QNNDBG_SOURCE_DIR "/data/error_codes.json");
  std::set<std::string> theirs;
  std::set<std::string> ours;
  collect_sentences(facts, theirs);
  collect_sentences(json::parse(file), ours);
  ASSERT_GT(theirs.size(), 200U);
  ASSERT_GT(ours.size(), 300U);
  for (const std::string& sentence : ours) EXPECT_FALSE(theirs.contains(sentence)) << sentence;
}

}  // namespace
}  // namespace qnndbg
