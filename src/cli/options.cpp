#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/graph.h"

namespace qnndbg::cli {
namespace {

constexpr int kMostThreads = 1024;

}  // namespace

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& candidates) {
  const std::vector<std::string> near = nearest_names(typed, candidates, 2);
  return near.empty() ? std::string() : fmt::format("; did you mean `{}`?", fmt::join(near, "` or `"));
}

CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& value,
                        const std::vector<std::string>& choices, const std::string& description) {
  const auto check = [choices](const std::string& typed) -> std::string {
    if (std::find(choices.begin(), choices.end(), typed) != choices.end()) return {};
    return fmt::format("`{}` is not one of {}{}", typed, fmt::join(choices, ", "), did_you_mean(typed, choices));
  };
  return command.add_option(name, value, description)
      ->type_name(fmt::format("{}", fmt::join(choices, "|")))
      ->check(CLI::Validator(check, /*validator_desc=*/""));
}

CLI::Option* add_threads(CLI::App& command, int& threads) {
  return command.add_option("--threads", threads, "Number of threads; 0: as many as the machine has")
      ->type_name("N")
      ->check(CLI::Range(0, kMostThreads).description(""));
}

void add_model(CLI::App& command, ModelArguments& arguments) {
  command.add_option("-m,--model", arguments.model, "The .mnn model that ran")->type_name(kFileType)->required();
}

void add_weights(CLI::App& command, ModelArguments& arguments) {
  command
      .add_option("--weights", arguments.weights, "File with external weights; default: MODEL.weight, if it is there")
      ->type_name(kFileType);
}

void add_inputs(CLI::App& command, ModelArguments& arguments) {
  command
      .add_option("-i,--inputs", arguments.inputs,
                  "Inputs of the run: an inputs.json, or NAME=FILE.npy; may be repeated")
      ->type_name(kFileType)
      ->allow_extra_args(false);
}

Result<Model> open_model(const ModelArguments& arguments) {
  Model::Options options;
  if (!arguments.weights.empty()) options.weights = arguments.weights;
  return Model::open(arguments.model, options);
}

Result<std::optional<InputMap>> read_inputs(const ModelArguments& arguments) {
  if (arguments.inputs.empty()) return std::optional<InputMap>();
  Result<InputMap> inputs = qnndbg::read_inputs(arguments.inputs);
  if (!inputs) return fail(std::move(inputs.error()));
  return std::optional<InputMap>(std::move(*inputs));
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kSafe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./=:,+@%";
  if (!word.empty() && word.find_first_not_of(kSafe) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + '\'';
}

}  // namespace qnndbg::cli
