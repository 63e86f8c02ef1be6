// A model's QNN graph (ops/qnn_graph.h) in the form that the library takes (specs.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/qnn_graph.h"
#include "qnn/specs.h"

namespace qnndbg::qnn {

/// A GraphSpec together with the static data that it points to.
class ModelGraph {
 public:
  enum class Intermediates : std::uint8_t {
    hidden,    // kind native, as in production
    readable,  // every one is a graph output, as in MNN's dump mode
  };

  /// Makes all static data. Errors: an operator's constants cannot be made (their side file is missing, ...).
  static Result<ModelGraph> make(const QnnGraph& graph, const std::string& name, Intermediates intermediates);

  ModelGraph(ModelGraph&&) = default;
  ModelGraph& operator=(ModelGraph&&) = default;

  const GraphSpec& spec() const { return spec_; }
  /// Position in QnnGraph::tensors of spec().tensors[i] is i.
  const QnnGraph& source() const { return *source_; }

 private:
  explicit ModelGraph(const QnnGraph& source) : source_(&source) {}
  Result<void> add_tensor(const QnnGraphTensor& tensor, Intermediates intermediates);
  Result<void> add_node(const QnnGraphNode& node);
  ByteView keep(Bytes bytes);

  const QnnGraph* source_;
  GraphSpec spec_;
  std::vector<Bytes> storage_;  // growing moves the vectors, whose bytes stay where they are
};

/// Encoding in the library's terms.
QuantizationSpec quantization_of(const QnnEncoding& encoding);

}  // namespace qnndbg::qnn
