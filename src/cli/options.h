// Options that several commands have, and what CLI11 lacks: choices with suggestions.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "dump/inputs.h"
#include "graph/model.h"

namespace qnndbg::cli {

/// Type names of options: shown in the help, and what shell completion goes by (completion.cpp). A list of choices is
/// its words with bars between them: "text|json".
inline constexpr const char* kFileType = "FILE";
inline constexpr const char* kDirectoryType = "DIR";

/// An option whose value is one of `choices`. A wrong value is an error that suggests the nearest.
CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& value,
                        const std::vector<std::string>& choices, const std::string& description);

/// An option --threads that refuses what no machine has.
CLI::Option* add_threads(CLI::App& command, int& threads);

/// --model, --weights and --inputs, shared by the commands that read a model.
struct ModelArguments {
  std::string model;
  std::string weights;              // empty: not given
  std::vector<std::string> inputs;  // empty: not given
};

/// --model for commands whose model is an option; `inspect` takes it as a positional argument.
void add_model(CLI::App& command, ModelArguments& arguments);
void add_weights(CLI::App& command, ModelArguments& arguments);
void add_inputs(CLI::App& command, ModelArguments& arguments);

Result<Model> open_model(const ModelArguments& arguments);
/// nullopt when none were given.
Result<std::optional<InputMap>> read_inputs(const ModelArguments& arguments);

/// "; did you mean `x` or `y`?", or nothing when no candidate is near.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& candidates);

/// A word of a command line to be typed again: quoted if it has characters that a shell would read.
std::string shell_word(std::string_view word);

}  // namespace qnndbg::cli
