// What a report draws beside the diagnosis: for every judged tensor the distribution of its values and where its error
// sits, and the parameters of the operators.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "diagnose/error_map.h"
#include "graph/operator_model.h"

namespace qnndbg {

/// Two distributions over the same bins.
struct Histogram {
  double low = 0, high = 0;                     // ends of the range that the bins share equally, in the tensor's unit
  std::vector<std::int64_t> device, reference;  // elements per bin; both have the same number of bins
  std::int64_t device_outside = 0, reference_outside = 0;  // NaN and infinite elements, which no bin holds
};

/// The bins cover all finite values of both; a range of a single value has all of it in the first bin.
Histogram histogram_of(std::span<const float> device, std::span<const float> reference, std::size_t bins);

/// A judged tensor of the dump.
struct TensorDetails {
  std::string name;  // as dumped
  int op_index = -1;
  Histogram histogram;
  ErrorMap errors;
};

struct OperatorDetails {
  int index = -1;
  std::vector<OperatorParameter> parameters;
};

struct Details {
  std::vector<OperatorDetails> operators;  // those with parameters
  std::vector<TensorDetails> tensors;      // in the order in which they were judged
};

/// Sizes that keep the details of a network of hundreds of operators near a megabyte; a broken tensor gets the finer
/// map.
constexpr std::size_t kHistogramBins = 40;
constexpr MapSize kSoundMap = {.axis_entries = 48, .plane_rows = 12, .plane_columns = 24, .worst = 3};
constexpr MapSize kBrokenMap = {.axis_entries = 128, .plane_rows = 32, .plane_columns = 64, .worst = 8};

}  // namespace qnndbg
