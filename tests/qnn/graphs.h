// What the tests of src/qnn share: the library that plays QNN, small graphs, and values as bytes.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "qnn/specs.h"

namespace qnndbg::qnn {

/// The library of fake_qnn.cpp.
inline std::string fake_library() { return QNNDBG_FAKE_QNN; }

/// Sets how the fake library behaves, in this process and in workers that are started later.
class FakeBehaviour {
 public:
  explicit FakeBehaviour(const std::string& text) { ::setenv("FAKE_QNN", text.c_str(), 1); }
  ~FakeBehaviour() { ::unsetenv("FAKE_QNN"); }
  FakeBehaviour(const FakeBehaviour&) = delete;
  FakeBehaviour& operator=(const FakeBehaviour&) = delete;
};

template <class T>
ByteView view_of(const std::vector<T>& values) {
  return {reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::vector<T> values_of(ByteView bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

inline TensorSpec tensor(std::string name, TensorKind kind, DType type, std::vector<std::uint32_t> dims) {
  return {.name = std::move(name), .kind = kind, .type = type, .dims = std::move(dims)};
}

/// x -> Relu -> y, of 4 bytes each.
inline GraphSpec relu_graph() {
  GraphSpec graph{.name = "g"};
  graph.tensors = {tensor("x", TensorKind::app_write, DType::f16, {1, 2}),
                   tensor("y", TensorKind::app_read, DType::f16, {1, 2})};
  graph.nodes = {{.name = "relu", .type = "Relu", .inputs = {"x"}, .outputs = {"y"}}};
  return graph;
}

}  // namespace qnndbg::qnn
