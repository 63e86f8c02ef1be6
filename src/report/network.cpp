#include "report/network.h"

#include <algorithm>

namespace qnndbg {
namespace {

template <class Map, class Key>
auto find_or_null(const Map& map, const Key& key) -> typename Map::mapped_type {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

void add_once(std::vector<const OperatorRow*>& rows, const OperatorRow* row) {
  if (row != nullptr && std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
}

}  // namespace

Network::Network(const Diagnosis& diagnosis) {
  for (const OperatorRow& row : diagnosis.operators) {
    ops_.emplace(row.index, &row);
    for (const std::string& tensor : row.outputs) producers_.emplace(tensor, &row);
    for (const std::string& tensor : row.inputs) add_once(consumers_[tensor], &row);
  }
  for (const TensorRow& row : diagnosis.tensors) {
    dumped_.emplace(row.name, &row);
    if (!row.tensor.empty() && row.baseline) compared_.emplace(row.tensor, &row);
  }
}

const OperatorRow* Network::op(int index) const { return find_or_null(ops_, index); }
const OperatorRow* Network::producer(std::string_view tensor) const { return find_or_null(producers_, tensor); }
const TensorRow* Network::dumped(std::string_view name) const { return find_or_null(dumped_, name); }
const TensorRow* Network::compared(std::string_view tensor) const { return find_or_null(compared_, tensor); }

std::vector<const OperatorRow*> Network::producers(const OperatorRow& row) const {
  std::vector<const OperatorRow*> rows;
  for (const std::string& tensor : row.inputs) add_once(rows, producer(tensor));
  return rows;
}

std::vector<const OperatorRow*> Network::consumers(const OperatorRow& row) const {
  std::vector<const OperatorRow*> rows;
  for (const std::string& tensor : row.outputs) {
    const auto found = consumers_.find(tensor);
    if (found == consumers_.end()) continue;
    for (const OperatorRow* consumer : found->second) add_once(rows, consumer);
  }
  return rows;
}

std::optional<double> Network::inherited(const OperatorRow& row) const {
  std::optional<double> worst;
  for (const std::string& tensor : row.inputs) {
    const TensorRow* input = compared(tensor);
    if (input != nullptr && (!worst || input->baseline->max_rel > *worst)) worst = input->baseline->max_rel;
  }
  return worst;
}

}  // namespace qnndbg
