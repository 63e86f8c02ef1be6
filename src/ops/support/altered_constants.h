// Mistakes with a constant of an operator (a bias, a per-channel scale, a constant operand): dropped, in another order,
// scaled.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace qnndbg {

/// The causes that name mistakes with one kind of constant; an empty id leaves that mistake out.
struct ConstantRole {
  std::string_view dropped = {};
  std::string_view misordered = {};
  std::string_view scaled = {};
  std::string_view differs = {};
};

/// A constant that is added.
inline constexpr ConstantRole kAddedConstant{"bias_dropped", "bias_misordered", "bias_scale_wrong", "bias_differs"};
/// A constant that is multiplied; as zeros it gives an output of zeros, which says nothing about the constant.
inline constexpr ConstantRole kFactorConstant{"", "weight_layout_wrong", "weight_scale_wrong", "weights_differ"};

/// One number read back from the device's output, known to within `tolerance`; an infinite one tells nothing.
struct ConstantEstimate {
  double value = 0;
  double tolerance = 0;

  bool allows(double v) const;
};

/// One constant c from t_i = w_i c by least squares, each t_i known to within an error of its own.
class SlopeFit {
 public:
  void add(double weight, double target, double error);
  ConstantEstimate estimate() const;

 private:
  double weight_target_ = 0;
  double weight_weight_ = 0;
  double weight_error_ = 0;
};

/// What the device may have held in place of the constant.
struct AlteredConstant {
  std::string cause = {};
  std::string used = {};
  int free_parameters = 0;
  std::vector<float> values = {};
};

/// The other constants that `device` allows: zeros, the values reversed, rolled, two exchanged, in any other order, or
/// times one factor; failing all that, other numbers where the right ones do not fit. `meant` are the right values as
/// the device holds them, `unrounded` as the model gives them (may be empty), `device` what the output tells of each;
/// `run` says how the device rounds constants.
std::vector<AlteredConstant> altered_constants(std::span<const float> meant, std::span<const float> unrounded,
                                               std::span<const ConstantEstimate> device, const ConstantRole& role,
                                               const RunContext& run);

}  // namespace qnndbg
