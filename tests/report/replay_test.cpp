#include "report/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace qnndbg {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A broken operator whose names are hostile and whose figures are not finite.
DeepReplay broken_sample(const std::string& name) {
  DeepReplay replay;
  replay.model = {
      .file = name, .converter_version = "3.6.1", .source = "ONNX", .bytes = 1, .operators = 9, .tensors = 9};
  replay.op_index = 3;
  replay.op = name;
  replay.op_type = "Interp";
  replay.status = OpStatus::broken;
  replay.parameters = {{name, name}};
  replay.notes = {name};
  replay.next_steps = {"Look."};
  replay.finding_id = "QD0207";
  replay.title = "Interp `" + name + "` is wrong";
  replay.cause.emplace();
  replay.cause->evidence = {name};
  replay.cause->suspect = Suspect{name, name, name, name};
  ReplayTensor tensor;
  tensor.tensor = "t3";
  tensor.name = name;
  tensor.dump_tensor = name;
  tensor.dims = Dims{2, 3};
  tensor.range = Extremes{.min = NAN, .max = NAN, .nonfinite = 6};
  tensor.problem = name;
  replay.inputs = {tensor};
  replay.outputs = {tensor};
  ReplayStage& stage = replay.stages.emplace_back();
  stage.dump_tensor = name;
  stage.qnn_type = "ResizeBilinear";
  stage.dims = {2, 3};
  stage.device_dims = {2, 3};
  stage.right = false;
  stage.judgement.bound_ratio = kInfinity;
  stage.judgement.within_bound = 0.5;
  const std::string file = "source/backend/qnn/execution/QNNInterp.cpp";
  stage.tried = {{"axis_wrong", name, name, name, name, 0, 5.3, /*sampled=*/true},
                 {"axis_wrong", name, "1", "2", file, 0, kInfinity},
                 {"bias_scale_wrong", "p", "x 2", "m", file, 1, 0.5, /*sampled=*/false, /*matches=*/true},
                 {"bias_scale_wrong", "p", "x 2.1", "m", file, 1, 0.5, /*sampled=*/false, /*matches=*/true}};
  const std::vector<float> device{0, 0, 50, 0, NAN, 5000}, reference(6, 0);
  stage.errors = map_errors(device, reference, {}, {2, 3}, {.absolute = 1});
  return replay;
}

TEST(ReplayText, HostileNamesAreMadePrintable) {
  const std::string text = replay_text(broken_sample("x\x1b[31m\n\u202e\xff"), {}, "next\x1b[0m");
  for (const char* bad : {"\x1b", "\u202e", "\xff"}) EXPECT_THAT(text, Not(HasSubstr(bad)));
  EXPECT_THAT(text, HasSubstr("\\x1b"));
}

TEST(ReplayText, TheMapShowsTheSizeOfTheError) {
  const std::string text = replay_text(broken_sample("up"), {}, "");
  EXPECT_THAT(text, HasSubstr("\n  ..2\n  .!4\n"));
  EXPECT_THAT(text, HasSubstr("down: axis 0, across: axis 1"));
  EXPECT_THAT(text, HasSubstr("not finite"));
  EXPECT_THAT(text, HasSubstr("6 elements NaN or infinite"));
}

TEST(ReplayText, EveryOutcomeOfAMistakeHasAWord) {
  const std::string text = replay_text(broken_sample("up"), {}, "");
  EXPECT_THAT(text, HasSubstr(">= 5.3  refuted by a sample"));
  EXPECT_THAT(text, HasSubstr("impossible"));
  EXPECT_THAT(text, HasSubstr("matches, 2 ways"));
}

TEST(ReplayText, ColourOnlyWhenAsked) {
  const DeepReplay replay = broken_sample("up");
  TextStyle style;
  EXPECT_THAT(replay_text(replay, style, ""), Not(HasSubstr("\x1b")));
  style.color = true;
  EXPECT_THAT(replay_text(replay, style, ""), HasSubstr("\x1b["));
}

TEST(ReplayJson, NumbersThatJsonCannotHoldAreCounted) {
  const auto document = nlohmann::json::parse(replay_json(broken_sample("up")));
  EXPECT_EQ(document["schema"], "qnn-debug/replay/1");
  const auto& stage = document["stages"][0];
  EXPECT_TRUE(stage["bound_ratio"].is_null());
  EXPECT_EQ(stage["nonfinite"], 1);
  EXPECT_TRUE(stage["tried"][1]["bound_ratio"].is_null());
  EXPECT_TRUE(stage["errors"]["plane"]["bound_ratio"][4].is_null());
  EXPECT_EQ(document["inputs"][0]["range"]["nonfinite"], 2);
  EXPECT_EQ(document["inputs"][0]["range"]["nonfinite_elements"], 6);
  EXPECT_EQ(stage["tried"][0]["judged_by"], "sample");
  EXPECT_EQ(stage["tried"].size(), 4U);
}

TEST(ReplayJson, AnyNameGivesAscii) {
  const std::string text = replay_json(broken_sample("x\x1b[31m\n\u202e\xff"));
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

}  // namespace
}  // namespace qnndbg
