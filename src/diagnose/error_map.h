// Where in a tensor its error sits: along each axis, over a plane, and at the worst elements. Errors are in multiples
// of the bound, 1 is the line.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "diagnose/bounds.h"
#include "tensor/tensor.h"

namespace qnndbg {

/// One index of an axis with the elements that have it.
struct AxisIndex {
  std::int64_t index = 0;
  double ratio = 0;         // largest error
  std::int64_t beyond = 0;  // elements beyond the bound
};

/// The error along one axis. Long axes are pooled: entry i stands for the indices from i * group on.
struct AxisErrors {
  int axis = 0;  // of the logical dims
  std::int64_t extent = 0;
  std::int64_t group = 1;  // indices per entry
  std::vector<double> ratio;
  std::vector<std::int64_t> beyond;
  std::vector<AxisIndex> worst;  // single indices with elements beyond the bound, largest error first
};

/// The largest error over a plane: the last two axes with more than one index (one row where there is one such axis),
/// maximum over all others, pooled.
struct ErrorPlane {
  int row_axis = -1;  // -1: there is none
  int column_axis = -1;
  std::int64_t row_group = 1, column_group = 1;  // indices per cell
  std::int64_t rows = 0, columns = 0;
  std::vector<double> ratio;  // rows * columns
};

struct ElementError {
  std::int64_t index = 0;              // flat, logical order
  std::vector<std::int64_t> position;  // the same by axes
  float device = 0;
  float reference = 0;
  double bound = 0;  // what was allowed
  double ratio = 0;  // |device - reference| / bound; infinite where the bound is 0 or the device has no number
};

struct ErrorMap {
  std::int64_t beyond = 0;       // elements beyond the bound
  std::vector<AxisErrors> axes;  // those with more than one index
  ErrorPlane plane;
  std::vector<ElementError> worst;  // largest error first, only elements with an error
};

/// How fine a map is. The default fits a screen.
struct MapSize {
  std::int64_t axis_entries = 256;
  std::int64_t plane_rows = 16;
  std::int64_t plane_columns = 64;
  std::size_t worst = 8;  // of the elements, and of the indices of an axis
};

/// `reference` as judged, `magnitude` empty unless the bound needs it; all have the elements of `dims`. Elements whose
/// reference is not finite count as right.
ErrorMap map_errors(std::span<const float> device, std::span<const float> reference, std::span<const float> magnitude,
                    const Dims& dims, const Bound& bound, const MapSize& size = {});

}  // namespace qnndbg
