// Linear least squares with several right-hand sides over one matrix, through the normal equations.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace qnndbg {

class LeastSquares {
 public:
  /// `unknowns` columns, `sides` right-hand sides.
  LeastSquares(std::int64_t unknowns, std::int64_t sides);
  ~LeastSquares();
  LeastSquares(const LeastSquares&) = delete;
  LeastSquares& operator=(const LeastSquares&) = delete;

  /// One equation per side: row . x[side] = values[side].
  void add(std::span<const double> row, std::span<const double> values);
  std::int64_t rows() const { return rows_; }

  /// The solutions, side after side, `unknowns` numbers each. Directions that the rows do not determine stay near zero
  /// (a ridge of 1e-9 of the mean diagonal).
  std::vector<double> solve() const;

 private:
  struct Equations;
  std::unique_ptr<Equations> equations_;
  std::int64_t rows_ = 0;
};

}  // namespace qnndbg
