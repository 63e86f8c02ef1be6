// Whether a context binary is the one that somebody means to run: on this SoC, with this QNN version, with the inputs
// and outputs of this model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/qnn_graph.h"
#include "qnn/session.h"
#include "qnn/system_library.h"

namespace qnndbg::qnn {

/// An input or output as a model's graph has it.
struct GraphEnd {
  std::string name;        // "t0": what MNN calls it
  std::string model_name;  // "image": what other converters do
  Dims dims;               // the device's; an extent below 0 is open
  Dims model_dims;         // the same in the model's order
  DType type = DType::f32;
  std::optional<Encoding> encoding;
};

struct ModelEnds {
  std::vector<GraphEnd> inputs;
  std::vector<GraphEnd> outputs;
  /// False: some operators have no nodes, so that outputs may be missing here.
  bool complete = true;
};

ModelEnds ends_of(const Model& model, const QnnGraph& graph);

/// What the binary is wanted for. Whatever is empty is not checked.
struct ContextWish {
  Target target = {};
  std::string runtime = {};  // QNN version of the device's libraries, "2.37" or a build id
  std::optional<ModelEnds> ends = {};
};

enum class FitSubject : std::uint8_t { backend, arch, soc, version, graph, input, output };
std::string_view name_of(FitSubject subject);

struct FitRemark {
  FitSubject subject = FitSubject::graph;
  bool problem = true;  // false: worth knowing; it fits
  std::string graph;    // empty: about the whole binary
  std::string tensor;   // empty: about the whole graph
  std::string text;     // one sentence without a full stop; holds foreign names
};

/// HTP architecture that a binary is for: as it tells, else that of its SoC; 0: unknown.
int arch_of(const BinaryInfo& binary);

/// "2.51" or "2.51.0", from a build id or what a user types. Errors: no version.
Result<std::string> short_version(std::string_view text);

/// All remarks. Of a binary with several graphs one must have the model's ends; when none has them, the remarks are
/// about all. Errors: `runtime` is no version.
Result<std::vector<FitRemark>> check_context(const BinaryInfo& binary, const ContextWish& wish);

}  // namespace qnndbg::qnn
