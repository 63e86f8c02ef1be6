// Linear least squares through the normal equations.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace qnndbg {

class LeastSquares {
 public:
  explicit LeastSquares(std::int64_t unknowns);
  ~LeastSquares();
  LeastSquares(const LeastSquares&) = delete;
  LeastSquares& operator=(const LeastSquares&) = delete;

  /// One equation: row . x = value.
  void add(std::span<const double> row, double value);
  std::int64_t rows() const { return rows_; }

  /// The solution. Directions that the rows do not determine stay near zero
  /// (a ridge of 1e-9 of the mean diagonal).
  std::vector<double> solve() const;

 private:
  struct Equations;
  std::unique_ptr<Equations> equations_;
  std::int64_t rows_ = 0;
};

}  // namespace qnndbg
