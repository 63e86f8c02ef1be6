#include "ops/support/least_squares.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace qnndbg {
namespace {

// Rows are collected and multiplied in blocks: a matrix product instead of rank-one updates.
constexpr Eigen::Index kBlock = 256;

}  // namespace

struct LeastSquares::Equations {
  Eigen::MatrixXd gram;   // A^T A
  Eigen::VectorXd right;  // A^T b
  Eigen::MatrixXd rows;
  Eigen::VectorXd values;
  Eigen::Index used = 0;

  void flush() {
    if (used == 0) return;
    gram.noalias() += rows.topRows(used).transpose() * rows.topRows(used);
    right.noalias() += rows.topRows(used).transpose() * values.head(used);
    used = 0;
  }
};

LeastSquares::LeastSquares(std::int64_t unknowns) : equations_(std::make_unique<Equations>()) {
  equations_->gram = Eigen::MatrixXd::Zero(unknowns, unknowns);
  equations_->right = Eigen::VectorXd::Zero(unknowns);
  equations_->rows = Eigen::MatrixXd::Zero(kBlock, unknowns);
  equations_->values = Eigen::VectorXd::Zero(kBlock);
}

LeastSquares::~LeastSquares() = default;

void LeastSquares::add(std::span<const double> row, double value) {
  Equations& e = *equations_;
  e.rows.row(e.used) = Eigen::Map<const Eigen::RowVectorXd>(row.data(), static_cast<Eigen::Index>(row.size()));
  e.values[e.used] = value;
  ++rows_;
  if (++e.used == kBlock) e.flush();
}

std::vector<double> LeastSquares::solve() const {
  Equations& e = *equations_;
  e.flush();
  const double ridge = 1e-9 * e.gram.trace() / static_cast<double>(std::max<Eigen::Index>(1, e.gram.rows()));
  Eigen::MatrixXd matrix = e.gram;
  matrix.diagonal().array() += std::max(ridge, 1e-300);
  const Eigen::VectorXd x = matrix.ldlt().solve(e.right);
  return {x.data(), x.data() + x.size()};
}

}  // namespace qnndbg
