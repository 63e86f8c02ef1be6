// Shell completion, generated from the option tree so that it never lags behind it.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/options.h"
#include "cli/output.h"

namespace qnndbg::cli {
namespace {

enum class Values : unsigned char { none, any, files, directories, choices };

struct OptionWords {
  std::vector<std::string> names;  // "-m", "--model"
  std::string description;
  Values values = Values::none;
  std::vector<std::string> choices;
};

struct CommandWords {
  std::string name;  // empty for the program
  std::string description;
  std::vector<OptionWords> options;
  std::vector<OptionWords> positionals;
};

std::vector<std::string> split_bars(const std::string& text) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (std::size_t end = text.find('|'); end != std::string::npos; begin = end + 1, end = text.find('|', begin))
    words.push_back(text.substr(begin, end - begin));
  words.push_back(text.substr(begin));
  return words;
}

OptionWords words_of(const CLI::Option& option) {
  OptionWords words;
  for (const std::string& name : option.get_snames()) words.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) words.names.push_back("--" + name);
  words.description = option.get_description();
  if (option.get_items_expected_max() == 0) return words;
  const std::string type = option.get_type_name();
  words.values = type == kFileType ? Values::files : type == kDirectoryType ? Values::directories : Values::any;
  if (type.find('|') == std::string::npos) return words;
  words.values = Values::choices;
  words.choices = split_bars(type);
  // "N|all": a capital letter stands for any value.
  std::erase_if(words.choices,
                [](const std::string& word) { return std::isupper(static_cast<unsigned char>(word.front())) != 0; });
  return words;
}

CommandWords words_of(const CLI::App& app, const std::string& name) {
  CommandWords words;
  words.name = name;
  words.description = app.get_description();
  for (const CLI::Option* option : app.get_options())
    (option->get_positional() ? words.positionals : words.options).push_back(words_of(*option));
  return words;
}

/// A command with verbs (`case`) offers them first, and the options of all of them.
void add_verbs(const CLI::App& command, CommandWords& words) {
  OptionWords verbs;
  verbs.values = Values::choices;
  for (const CLI::App* verb : command.get_subcommands([](const CLI::App*) { return true; })) {
    verbs.choices.push_back(verb->get_name());
    for (OptionWords& option : words_of(*verb, verb->get_name()).options) {
      const auto same = [&option](const OptionWords& other) { return other.names == option.names; };
      if (std::none_of(words.options.begin(), words.options.end(), same)) words.options.push_back(std::move(option));
    }
  }
  if (!verbs.choices.empty()) words.positionals.insert(words.positionals.begin(), std::move(verbs));
}

/// The program first, then its commands. A command takes the program's options too.
std::vector<CommandWords> words_of_program(const CLI::App& program) {
  std::vector<CommandWords> all = {words_of(program, "")};
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    CommandWords words = words_of(*command, command->get_name());
    add_verbs(*command, words);
    for (const OptionWords& option : all.front().options)
      if (std::find(option.names.begin(), option.names.end(), "--help") == option.names.end())
        words.options.push_back(option);
    all.push_back(std::move(words));
  }
  return all;
}

std::string option_names(const CommandWords& command) {
  std::vector<std::string> names;
  for (const OptionWords& option : command.options) names.insert(names.end(), option.names.begin(), option.names.end());
  return fmt::format("{}", fmt::join(names, " "));
}

std::vector<std::string> command_names(const std::vector<CommandWords>& commands) {
  std::vector<std::string> names;
  for (const CommandWords& command : commands)
    if (!command.name.empty()) names.push_back(command.name);
  return names;
}

// --- bash
// ---------------------------------------------------------------------------------------------------------------------

std::string bash_values(const OptionWords& option) {
  switch (option.values) {
    case Values::files: return "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";
    case Values::directories: return "mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")";
    case Values::choices:
      return fmt::format("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\")", fmt::join(option.choices, " "));
    default: return ":";
  }
}

std::string bash_command(const CommandWords& command) {
  std::string out = fmt::format("    {})\n      case $prev in\n", command.name.empty() ? "''" : command.name);
  for (const OptionWords& option : command.options)
    if (option.values != Values::none)
      out += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, "|"), bash_values(option));
  out += "      esac\n      if [[ $cur == -* ]]; then\n";
  out += fmt::format("        mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\")\n        return\n      fi\n",
                     option_names(command));
  if (!command.positionals.empty()) out += fmt::format("      {}\n", bash_values(command.positionals.front()));
  return out + "      ;;\n";
}

std::string bash_script(const std::vector<CommandWords>& commands) {
  const std::vector<std::string> names = command_names(commands);
  std::string out = fmt::format(R"(# bash completion of qnn-debug. Use: source <(qnn-debug completion bash)
_qnn_debug() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= word
  COMPREPLY=()
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in {}) command=$word; break ;; esac
  done
  case $command in
)",
                                fmt::join(names, "|"));
  for (const CommandWords& command : commands) out += bash_command(command);
  out += fmt::format(R"(  esac
  [[ -n $command ]] || mapfile -t COMPREPLY < <(compgen -W '{}' -- "$cur")
}}
complete -o filenames -F _qnn_debug qnn-debug
)",
                     fmt::join(names, " "));
  return out;
}

// --- zsh
// ----------------------------------------------------------------------------------------------------------------------

/// Text inside a single-quoted _arguments specification.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_values(const OptionWords& option) {
  switch (option.values) {
    case Values::none: return "";
    case Values::files: return ":file:_files";
    case Values::directories: return ":directory:_files -/";
    case Values::choices: return fmt::format(":value:({})", fmt::join(option.choices, " "));
    case Values::any: return ":value:";
  }
  return "";
}

std::string zsh_command(const CommandWords& command) {
  std::string out = fmt::format("    {})\n      _arguments", command.name);
  for (const OptionWords& option : command.options)
    for (const std::string& name : option.names)
      out += fmt::format(" \\\n        '*{}[{}]{}'", name, zsh_text(option.description), zsh_values(option));
  for (const OptionWords& positional : command.positionals)
    out += fmt::format(" \\\n        '1{}'", zsh_values(positional));
  return out + "\n      ;;\n";
}

std::string zsh_script(const std::vector<CommandWords>& commands) {
  std::string out =
      "#compdef qnn-debug\n# zsh completion of qnn-debug. Use: qnn-debug completion zsh > a file _qnn-debug in "
      "$fpath\n";
  out += "_qnn_debug() {\n  local -a commands\n  commands=(\n";
  for (const CommandWords& command : commands)
    if (!command.name.empty()) out += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.description));
  out += "  )\n  local line state\n  _arguments -C";
  for (const OptionWords& option : commands.front().options)
    for (const std::string& name : option.names)
      out += fmt::format(" \\\n    '{}[{}]{}'", name, zsh_text(option.description), zsh_values(option));
  out += " \\\n    '1:command:->command' '*::argument:->argument'\n";
  out += "  case $state in\n    command) _describe command commands; return ;;\n  esac\n  case $line[1] in\n";
  for (const CommandWords& command : commands)
    if (!command.name.empty()) out += zsh_command(command);
  // Loaded by autoload the file's last line runs the function; sourced it registers it.
  return out +
         "  esac\n}\nif [ \"$funcstack[1]\" = _qnn-debug ]; then _qnn_debug \"$@\"; else compdef _qnn_debug qnn-debug; "
         "fi\n";
}

// --- fish
// ---------------------------------------------------------------------------------------------------------------------

std::string fish_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string fish_values(const OptionWords& option) {
  switch (option.values) {
    case Values::none: return "";
    case Values::files: return " -r -F";
    case Values::directories: return " -x -a '(__fish_complete_directories)'";
    case Values::choices: return fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
    case Values::any: return " -x";
  }
  return "";
}

std::string fish_option(const CommandWords& command, const OptionWords& option) {
  std::string out = fmt::format("complete -c qnn-debug -n '{}'", command.name.empty()
                                                                     ? std::string("__fish_use_subcommand")
                                                                     : "__fish_seen_subcommand_from " + command.name);
  for (const std::string& name : option.names)
    out += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2)) : fmt::format(" -s {}", name.substr(1));
  return out + fmt::format("{} -d '{}'\n", fish_values(option), fish_text(option.description));
}

std::string fish_script(const std::vector<CommandWords>& commands) {
  std::string out =
      "# fish completion of qnn-debug. Use: qnn-debug completion fish > ~/.config/fish/completions/qnn-debug.fish\n";
  out += "complete -c qnn-debug -f\n";
  for (const CommandWords& command : commands) {
    if (!command.name.empty())
      out += fmt::format("complete -c qnn-debug -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                         fish_text(command.description));
    for (const OptionWords& option : command.options) out += fish_option(command, option);
    for (const OptionWords& positional : command.positionals)
      out += fmt::format("complete -c qnn-debug -n '__fish_seen_subcommand_from {}'{}\n", command.name,
                         fish_values(positional));
  }
  return out;
}

std::string script_of(const std::string& shell, const CLI::App& program) {
  const std::vector<CommandWords> commands = words_of_program(program);
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  return fish_script(commands);
}

}  // namespace

void add_completion(CLI::App& program, Session& session) {
  CLI::App* command = program.add_subcommand("completion", "Print a completion script for a shell");
  auto shell = std::make_shared<std::string>();
  add_choice(*command, "shell", *shell, {"bash", "zsh", "fish"}, "The shell")->required();
  command->callback([shell, &program, &session] {
    session.exit_status = deliver("", script_of(*shell, program), Console(session.color));
  });
}

}  // namespace qnndbg::cli
