// Error bounds as data (data/bounds.json): how far a sound operator may be from its reference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/result.h"

namespace qnndbg {

/// bound_i = (y |y_i| + max_y max|y| + magnitude M_i) u + absolute, with u = 2^-11.
struct Bound {
  double y = 0;
  double max_y = 0;
  double magnitude = 0;
  double absolute = 0;
  /// What a fixed-point tensor can hold. The device saturates there, so the reference (and the result of a hypothesis)
  /// is clipped to it before it is compared.
  std::optional<ValueRange> clip = {};

  /// The line of one element: its reference, the largest |reference| of the tensor, and M_i.
  double at(double reference, double max_abs, double m) const;

  /// The constant that gives the line its unit: the first of y, max_y, magnitude (in u) and absolute that is not 0.
  double leading() const { return y > 0 ? y : max_y > 0 ? max_y : magnitude > 0 ? magnitude : absolute; }
};

/// The sound operators of one HTP architecture that a bound rests on. Errors are in the unit of Bound::leading: `worst`
/// is the leading constant that would just have sufficed, the other terms in proportion.
struct BoundBasis {
  std::string arch;
  std::int64_t runs = 0;
  std::int64_t instances = 0;  // judged stages
  std::int64_t elements = 0;
  double worst = 0;
  double p999 = 0;  // 99.9 % of the elements stay below it
  std::string library;
};

class Bounds {
 public:
  /// The table that was built in, for an HTP architecture ("v75"). Measured architectures get their constants;
  /// "unknown" gets the loosest of the measured ones; any other gets the forward-error bound on top. `tolerance_scale`
  /// multiplies everything.
  static Result<Bounds> load(std::string_view arch, double tolerance_scale);

  /// The bound of a key that an operator names (Stage::bound); keys that the table lacks get "unmeasured".
  Bound of(std::string_view key) const;

  bool has(std::string_view key) const;

  /// What was measured of a key on the architecture; where that is unknown or was never measured, on the one with the
  /// largest `worst`. nullopt: no instance was ever seen.
  std::optional<BoundBasis> basis(std::string_view key) const;

  /// True for bounds of operators that the device computes exactly and rounds once, to nearest: their errors have no
  /// mean (shift.h).
  bool rounds_once(std::string_view key) const;

  /// The bound of a fixed-point tensor with this encoding, whose replay is clipped to what the tensor can hold: a
  /// fraction of an output step. Operators that were not measured in 8 bits get their float bound on top; sums in 16
  /// bits have a line of their own.
  /// Precondition: is_valid(encoding).
  Bound of_fixed_point(std::string_view key, DType type, const Encoding& encoding) const;

  /// False when the architecture was never measured (the caller says so in a note).
  bool architecture_measured() const { return measured_; }

 private:
  struct Entry {
    std::string key;
    Bound bound;
  };
  struct Measured {
    std::string key;
    BoundBasis basis;
  };
  std::string arch_;
  std::vector<Entry> entries_;
  std::vector<Measured> measurements_;
  std::vector<std::string> round_once_;
  double steps_ = 0;  // of a fixed-point tensor's scale
  std::vector<std::string> measured_in_8_bits_;
  // Sums with 16-bit data: their steps, and the part that grows with the terms.
  double wide_steps_ = 0;
  double wide_magnitude_ = 0;
  std::vector<std::string> wide_sums_;
  bool measured_ = true;
};

}  // namespace qnndbg
