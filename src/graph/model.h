// A `.mnn` model file: the graph, and access to parameters and weights.
//
// The file is a FlatBuffers `Net` (schema: mnn.fbs); it passes the FlatBuffers verifier before anything is read.
// Weights may lie in a side file `<model>.weight`; see the format notes in docs/mnn-format.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/side_file.h"
#include "tensor/mapped_file.h"

namespace flatbuffers {
template <typename T>
class Vector;
}
namespace qnndbg::wire {
struct Net;
struct Op;
struct Blob;
struct TensorDescribe;
}  // namespace qnndbg::wire

namespace qnndbg {

/// Floats that either point into the mapped model file or were decoded into memory of their own.
class FloatArray {
 public:
  FloatArray() = default;
  explicit FloatArray(std::span<const float> view) : view_(view) {}
  explicit FloatArray(std::vector<float> owned) : owned_(std::move(owned)), view_(owned_) {}
  FloatArray(FloatArray&&) = default;
  FloatArray& operator=(FloatArray&&) = default;

  std::span<const float> values() const { return view_; }
  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }

 private:
  std::vector<float> owned_;
  std::span<const float> view_;
};

class Model {
 public:
  struct Options {
    /// Side file with external weights, for every operator; default `<model>.weight` beside the model, if it exists, or
    /// the file that an operator names itself.
    std::optional<std::filesystem::path> weights;
  };

  /// Maps and verifies a model file. Errors: missing or unreadable file, not a FlatBuffers Net, tensor index out of
  /// range, a tensor made twice, an operator that reads a tensor made later.
  static Result<Model> open(const std::filesystem::path& path, const Options& options);
  static Result<Model> open(const std::filesystem::path& path) { return open(path, Options{}); }

  /// The same from memory that outlives the model (tests, fuzzing). There is no side file then.
  static Result<Model> parse(std::span<const std::byte> bytes, const std::string& name);

  const std::filesystem::path& path() const { return path_; }
  const Graph& graph() const { return graph_; }
  std::size_t file_bytes() const { return bytes_.size(); }
  /// Converter version as the file tells it ("3.6.1"); empty if it does not.
  const std::string& converter_version() const { return converter_version_; }
  /// True for an offline QNN model: its only computing operator is a QNN Plugin, the network itself is in a context
  /// binary.
  bool is_offline_qnn_plugin() const { return offline_plugin_; }

  /// The stored operator, for parameter readers in src/ops. Precondition: index is a position in graph().ops.
  const wire::Op& wire_op(int index) const;
  /// The stored model around it.
  const wire::Net& wire_net() const { return *net_; }

  /// What the file records about a tensor beside its name: dims in static models, the regions of a Raster. nullptr if
  /// nothing. Precondition: tensor is a position in graph().tensors.
  const wire::TensorDescribe* tensor_record(int tensor) const;

  /// Convolution family weights decoded to float: convolution [out, in/group, kh, kw], depthwise [channel, 1, kh, kw],
  /// deconvolution [in, out/group, kh, kw]. Handles inline fp32, IDSTQuan types 1 to 4 (palette, sparse palette, half,
  /// int8; symmetric and asymmetric, block-wise, float and half scales, sparse index) and the side file. Errors name
  /// the operator.
  Result<FloatArray> convolution_weight(int op) const;
  /// The scales of weights that the device keeps as integers, one per output channel: symmetric integers (IDSTQuan
  /// types 1, 2 and 4 without minima) in one block per channel. Empty for all other weights, which are brought to
  /// float.
  Result<FloatArray> integer_weight_scales(int op) const;
  /// The scales that the file stores for coded weights (all IDSTQuan types), as they are, NaN and zero included. Empty
  /// for weights that are stored as floats. `pairs`: minimum and scale alternate (asymmetric weights).
  struct StoredScales {
    FloatArray values;
    bool pairs = false;
  };
  Result<StoredScales> stored_weight_scales(int op) const;
  /// Bias of the convolution family; empty if the model has none.
  Result<FloatArray> convolution_bias(int op) const;

  /// A float vector that is either inline or part `part` (0-based) of a side-file record `external` = {offset, bytes of
  /// part 0, bytes of part 1, ...}; used by LayerNorm (gamma, beta) and Scale (scale, bias). Empty if neither is there.
  Result<FloatArray> float_part(int op, const flatbuffers::Vector<float>* inline_values,
                                const flatbuffers::Vector<std::int64_t>* external, int part) const;

  /// Part `part` of a record `external`, in the side file that holds for this operator; empty where the record has no
  /// such part.
  Result<std::span<const std::byte>> external_part(int op, const flatbuffers::Vector<std::int64_t>& external,
                                                   int part) const;

  /// Value of a Const or TrainableParam operator: f32 for float and half payloads, i32 for integers (i64 that do not
  /// fit are an error). Checks the payload's size against the dims.
  Result<Tensor> constant(int op) const;
  Result<Tensor> blob(int op, const wire::Blob& blob) const;

 private:
  static Result<Model> build(std::span<const std::byte> bytes, const std::filesystem::path& path);
  const OpNode& node(int op) const { return graph_.ops[static_cast<std::size_t>(op)]; }
  /// The error with the file and the operator in front.
  Error located(int op, const Error& error) const;

  std::filesystem::path path_;
  MappedFile file_;
  std::vector<std::uint64_t> aligned_copy_;  // of bytes that did not start on 8, see parse()
  std::span<const std::byte> bytes_;
  const wire::Net* net_ = nullptr;
  std::vector<const wire::TensorDescribe*> records_;  // by tensor; empty when the file has none
  Graph graph_;
  SideFiles side_files_;
  std::string converter_version_;
  bool offline_plugin_ = false;
};

}  // namespace qnndbg
