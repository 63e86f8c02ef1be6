// Encodings of fixed-point tensors: what the dump says against what the model means. A wrong one is a fault of its own,
// whether or not an element shows it: every reader takes the integers for other numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/device_run.h"

namespace qnndbg {

struct EncodingDifference {
  std::string cause;    // quant_scale_invalid, quant_offset_wrong, quant_offset_sign or quant_scale_wrong
  bool digits = false;  // the scale differs as little as one printed with six digits: a warning, no bug
  double relative = 0;  // |used - meant| / meant of the scales
};

/// Compares two encodings of the same tensor; nullopt: they agree to 1e-6, or belong to types of different widths and
/// cannot be compared. Types of one width that differ in sign are compared by the real value of their lowest integer.
/// A meant scale that is itself no positive number is not compared with.
std::optional<EncodingDifference> compare_encoding(DType type, const Encoding& used, DType meant_type,
                                                   const Encoding& meant);

/// A dumped tensor whose encoding is not the model's.
struct WrongEncoding {
  int entry = -1;
  int output = 0;  // of the operator
  EncodingDifference difference = {};
  std::string used = {};   // "scale 0.0134263, offset 0"
  std::string meant = {};  // the same of the model, or what a scale has to be
  std::string sentence = {};
};

/// Checks the operator's outputs and the stages that have their output's encoding (or their input's). An output that
/// only hands on its input's wrong encoding is not listed; its maker is. Nor is one that declares no encoding and has
/// that of another tensor of an operator that keeps encodings.
std::vector<WrongEncoding> wrong_encodings(const Graph& graph, const DeviceRun& run, const OpNode& node);

/// The same for one entry that stands for a tensor of the model; nullopt: right, or nothing to compare with.
std::optional<WrongEncoding> wrong_encoding(const Graph& graph, const DeviceRun& run, int entry, int tensor);

}  // namespace qnndbg
