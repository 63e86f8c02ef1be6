// Error bounds as data (data/bounds.json): how far a sound operator may be from its reference.
#pragma once

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
};

class Bounds {
 public:
  /// The table that was built in, for an HTP architecture ("v75"). Measured architectures get their constants;
  /// "unknown" gets the loosest of the measured ones; any other gets the forward-error bound on top. `tolerance_scale`
  /// multiplies everything.
  static Result<Bounds> load(std::string_view arch, double tolerance_scale);

  /// The bound of a key that an operator names (Stage::bound); keys that the table lacks get "unmeasured".
  Bound of(std::string_view key) const;

  /// The bound of a fixed-point tensor with this encoding, whose replay is clipped to what the tensor can hold: a
  /// fraction of an output step. Operators that were not measured in 8 bits get their float bound on top.
  /// Precondition: is_valid(encoding).
  Bound of_fixed_point(std::string_view key, DType type, const Encoding& encoding) const;

  /// False when the architecture was never measured (the caller says so in a note).
  bool architecture_measured() const { return measured_; }

 private:
  struct Entry {
    std::string key;
    Bound bound;
  };
  std::vector<Entry> entries_;
  double steps_ = 0;  // of a fixed-point tensor's scale
  std::vector<std::string> measured_in_8_bits_;
  bool measured_ = true;
};

}  // namespace qnndbg
