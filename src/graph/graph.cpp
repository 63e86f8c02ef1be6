#include "graph/graph.h"

#include <algorithm>
#include <charconv>

namespace qnndbg {
namespace {

/// The number in "#12" or "t34"; nullopt when the rest is not a plain number that fits an int.
std::optional<int> number_after(std::string_view text, char mark) {
  if (text.size() < 2 || text.front() != mark) return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::string positions_of(const std::vector<int>& ops) {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(ops.size(), kShown); ++i)
    text += fmt::format("{}#{}", i == 0 ? "" : ", ", ops[i]);
  if (ops.size() > kShown) text += fmt::format(" and {} more", ops.size() - kShown);
  return text;
}

std::string suggestion(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string text = "; did you mean ";
  for (std::size_t i = 0; i < names.size(); ++i) text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", names[i]);
  return text + "?";
}

/// The operator behind "#12" or "t34"; nullopt when the text has neither form.
std::optional<Result<int>> find_by_number(const Graph& graph, std::string_view text) {
  if (const std::optional<int> position = number_after(text, '#')) {
    if (*position < static_cast<int>(graph.ops.size())) return *position;
    return fail("there is no operator {}; the model has {} operators, #0 to #{}", text, graph.ops.size(),
                static_cast<std::ptrdiff_t>(graph.ops.size()) - 1);
  }
  if (const std::optional<int> tensor = number_after(text, 't')) {
    if (*tensor >= static_cast<int>(graph.tensors.size())) {
      return fail("there is no tensor {}; the model has {} tensors, t0 to t{}", text, graph.tensors.size(),
                  static_cast<std::ptrdiff_t>(graph.tensors.size()) - 1);
    }
    const int producer = graph.tensors[static_cast<std::size_t>(*tensor)].producer;
    if (producer < 0) return fail("no operator of the model makes tensor {}", text);
    return producer;
  }
  return std::nullopt;
}

}  // namespace

const GraphInput* Graph::find_input(std::string_view name) const {
  const auto named = [&](auto&& name_of_input) {
    return std::find_if(inputs.begin(), inputs.end(),
                        [&](const GraphInput& input) { return name_of_input(input) == name; });
  };
  auto found = named([&](const GraphInput& input) -> const std::string& {
    return tensors[static_cast<std::size_t>(input.tensor)].name;
  });
  if (found == inputs.end()) {
    found = named(
        [&](const GraphInput& input) -> const std::string& { return ops[static_cast<std::size_t>(input.op)].name; });
  }
  return found == inputs.end() ? nullptr : &*found;
}

Result<int> Graph::find_op(std::string_view text) const {
  if (text.empty()) return fail("an operator is named by its name, by #position, or by tN, the tensor that it makes");
  std::vector<int> named;
  for (const OpNode& op : ops) {
    if (op.name == text) named.push_back(op.index);
  }
  if (named.size() > 1) {
    return fail("\"{}\" names {} operators; say which one: {}", text, named.size(), positions_of(named));
  }
  if (named.size() == 1) return named.front();
  if (const std::optional<Result<int>> numbered = find_by_number(*this, text)) return *numbered;

  std::vector<std::string> candidates;
  candidates.reserve(ops.size());
  for (const OpNode& op : ops) candidates.push_back(op.name);
  return fail("the model has no operator \"{}\"{}", text, suggestion(nearest_names(text, candidates)));
}

}  // namespace qnndbg
