// Look-ups that the terminal view needs: from operators to their neighbours and to their dumped tensors.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "diagnose/diagnosis.h"

namespace qnndbg {

class Network {
 public:
  /// Keeps references into `diagnosis`.
  explicit Network(const Diagnosis& diagnosis);

  const OperatorRow* op(int index) const;
  /// Operator that makes tensor "t12"; nullptr if none does.
  const OperatorRow* producer(std::string_view tensor) const;
  std::vector<const OperatorRow*> producers(const OperatorRow& row) const;
  std::vector<const OperatorRow*> consumers(const OperatorRow& row) const;
  bool has_consumer(std::string_view tensor) const { return consumers_.contains(tensor); }

  /// A dumped tensor by its dumped name ("t20_cast").
  const TensorRow* dumped(std::string_view name) const;
  /// The dumped form of "t20" that is compared with the fp32 baseline; nullptr if there is none.
  const TensorRow* compared(std::string_view tensor) const;

  /// Largest end-to-end error (max |e| / max |reference|) of what the operator reads; nullopt when it is not known for
  /// any input.
  std::optional<double> inherited(const OperatorRow& row) const;

 private:
  std::unordered_map<int, const OperatorRow*> ops_;
  std::unordered_map<std::string_view, const OperatorRow*> producers_;
  std::unordered_map<std::string_view, std::vector<const OperatorRow*>> consumers_;
  std::unordered_map<std::string_view, const TensorRow*> dumped_;
  std::unordered_map<std::string_view, const TensorRow*> compared_;
};

}  // namespace qnndbg
