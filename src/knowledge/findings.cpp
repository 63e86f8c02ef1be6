#include "knowledge/findings.h"

#include <algorithm>
#include <array>

namespace qnndbg {
namespace {

constexpr auto kTypes = std::to_array<FindingType>({
    {"QD0101", "input_not_copied", "reaches the device as zeros",
     "Load the module with shapeMutable = false, so that MNN copies the input into QNN's buffer."},
    {"QD0102", "input_differs", "is not the input that was given",
     "Dump again with the given input, or pass the input of this dump with --inputs."},
    {"QD0201", "unexplained", "computes something else than the model asks for",
     "Nothing that was tried reproduces the output; compare the worst elements with the operator's parameters in MNN's "
     "execution file."},
    {"QD0202", "bias_dropped", "is computed without its bias",
     "Check that the bias tensor reaches the node and is filled."},
    {"QD0203", "weight_scale_wrong", "is computed with scaled weights",
     "Check how the weights are converted and, if quantized, their scales."},
    {"QD0204", "activation_dropped", "is computed without its fused activation",
     "Encode the activation as a node of its own, or convert the model so that it is not fused."},
    {"QD0205", "nan_created", "makes NaN of numbers",
     "Look at the inputs of the elements listed: a division by zero, a logarithm or root of a negative number."},
    {"QD0206", "inf_created", "makes infinity of numbers",
     "Look at the inputs of the elements listed: a division by zero or a sum beyond the type's range."},
    {"QD0207", "output_constant", "writes one value everywhere",
     "Check that the node's inputs are connected and that it is executed."},
    {"QD0208", "output_zero", "writes zeros", "Check that the node's inputs are connected and that it is executed."},
    {"QD0209", "cast_wrong", "changes on its way between device and host",
     "Compare the boundary Cast with the tensor before it."},
    {"QD0301", "fp16_overflow", "leaves the range of half precision",
     "Scale the operator's inputs or constants down and its consumers up, or run it in another precision."},
    {"QD0302", "fp16_underflow", "vanishes below the range of half precision",
     "Scale the operator's inputs or constants up and its consumers down, or run it in another precision."},
});

}  // namespace

std::span<const FindingType> finding_types() { return kTypes; }

const FindingType& finding_type(std::string_view cause) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const FindingType& t) { return t.cause == cause; });
  return found == kTypes.end() ? kTypes[2] : *found;  // unexplained
}

}  // namespace qnndbg
