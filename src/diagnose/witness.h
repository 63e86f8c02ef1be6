// Somebody else who can compute single operators of a model, and is asked about those that are accused: Qualcomm's
// library on this machine (src/qnn/htp_witness.h). Right there and wrong in the dump: MNN's mapping is at fault. The
// device's own wrong values there too: the library is. This room knows only the interface; src/cli passes the witness
// in.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/graph_plan.h"
#include "ops/op.h"
#include "tensor/tensor.h"

namespace qnndbg {

/// Which tensor of which operator, computed from what.
struct WitnessQuestion {
  const Model* model = nullptr;
  const GraphPlan* plan = nullptr;
  int op = -1;
  int output = 0;                   // the operator's output ...
  std::string stage = {};           // ... or a stage of it, by its name; empty: the output
  Dims dims = {};                   // logical dims of the wanted tensor
  Layout layout = Layout::logical;  // how the device keeps it
  /// How the constants of the run were rounded.
  HalfRounding rounding = HalfRounding::toward_zero;
  HalfKind half = HalfKind::htp;
  /// The device's own bytes of an operand (a tensor of the model), as dumped under `name` if there is such an entry.
  /// Errors: the dump does not hold it.
  std::function<Result<std::vector<std::byte>>(int tensor, std::string_view name)> device_bytes = {};
};

struct WitnessAnswer {
  Tensor value;         // f32, logical order: with the parameters that the model means
  int extra_nodes = 0;  // how many more made it than MNN writes; each rounds its result
  /// Where the nodes that MNN writes differ from those that the model means: "ResizeBilinear align_corners: MNN writes
  /// 1, the model means 0".
  std::vector<std::string> mapping_differences;
};

class Witness {
 public:
  virtual ~Witness() = default;
  /// "HTP_QTI_AISW v2.51.0.260929181845, SoC 57 (v75)"
  virtual std::string name() const = 0;
  /// Errors: the operator cannot be mapped, an operand is not in the dump, the library refuses or fails.
  virtual Result<WitnessAnswer> compute(const WitnessQuestion& question) = 0;
};

}  // namespace qnndbg
