// From specs.h to the structures that the library reads. Both layouts differ in the stride of arrays of tensors and in
// the parameters only.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "qnn/abi.h"
#include "qnn/api.h"
#include "qnn/specs.h"

namespace qnndbg::qnn {

/// One tensor with what its pointers point to. `c` serves both layouts where a single tensor is passed: a tensor of
/// core API 2.7 is its first 120 bytes.
class LoweredTensor {
 public:
  /// Precondition: check(spec). The spec's data must live as long as this.
  explicit LoweredTensor(const TensorSpec& spec);
  LoweredTensor(const LoweredTensor&) = delete;
  LoweredTensor& operator=(const LoweredTensor&) = delete;

  const std::string& name() const { return name_; }
  TensorKind kind() const { return c.fields.kind; }

  abi::Tensor c{};

 private:
  void lower(const QuantizationSpec& quantization);
  void lower_blockwise(const QuantizationSpec& quantization);

  std::string name_;
  std::vector<std::uint32_t> dims_;
  std::vector<abi::ScaleOffset> scale_offsets_;
  std::vector<float> scales_;
  std::vector<std::int32_t> offsets_;
  std::vector<std::uint8_t> narrow_block_scales_;
  std::vector<std::uint16_t> wide_block_scales_;
  abi::BlockwiseExpansion blockwise_{};
};

/// An array of tensors with the stride of a layout.
class TensorArray {
 public:
  TensorArray(StructLayout layout, const std::vector<const LoweredTensor*>& tensors);

  void* data() { return layout_ == StructLayout::core_2_7 ? static_cast<void*>(old_.data()) : current_.data(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(std::max(old_.size(), current_.size())); }
  /// Where the tensor's buffer goes.
  abi::ClientBuffer& buffer(std::size_t index) {
    return layout_ == StructLayout::core_2_7 ? old_[index].fields.buffer : current_[index].fields.buffer;
  }

 private:
  StructLayout layout_;
  std::vector<abi::Tensor> current_;
  std::vector<abi::Tensor27> old_;
};

/// One node with what its pointers point to.
class LoweredNode {
 public:
  using Find = std::function<const LoweredTensor*(std::string_view name)>;
  /// Makes a tensor known to the library before it is used; false: the library refused it, give up.
  using Create = std::function<bool(LoweredTensor& tensor)>;

  /// Preconditions: the node is checked, `find` knows its tensors. `create` sees the tensors of parameters.
  LoweredNode(StructLayout layout, const NodeSpec& node, const Find& find, const Create& create);
  LoweredNode(const LoweredNode&) = delete;
  LoweredNode& operator=(const LoweredNode&) = delete;

  /// False: `create` refused a tensor.
  bool complete() const { return complete_; }
  const abi::OpConfig& config() const { return config_; }

 private:
  void add_params(StructLayout layout, const NodeSpec& node, const Create& create);

  bool complete_ = true;
  std::deque<LoweredTensor> param_tensors_;  // a deque does not move its elements
  std::vector<abi::Param> params_;
  std::vector<abi::Param27> old_params_;
  TensorArray inputs_;
  TensorArray outputs_;
  abi::OpConfig config_{};
};

}  // namespace qnndbg::qnn
