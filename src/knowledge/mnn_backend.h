// What is known about MNN's QNN backend: which file maps an operator, and why QNN refuses what it maps. Data:
// data/mnn_backend.json.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qnndbg {

/// The file of MNN's tree that writes operators of this MNN type ("BinaryOp") as QNN nodes; empty when none does.
std::string_view mnn_execution_file(std::string_view op_type);

/// A known reason for a refusal.
struct RefusalHint {
  std::vector<std::string> operators;  // MNN types
  std::vector<std::string> patterns;   // log patterns of the library's reason (data/log_patterns.json)
  std::string why;                     // what MNN does, a clause
  std::string until_then;              // how to get around it, an instruction
};

/// The hint for an operator that was refused for reasons with these pattern ids; nullptr when none is known.
const RefusalHint* find_refusal_hint(std::string_view op_type, std::span<const std::string_view> patterns);

/// All hints, for tests.
std::span<const RefusalHint> refusal_hints();

}  // namespace qnndbg
