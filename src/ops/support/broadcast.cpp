#include "ops/support/broadcast.h"

#include <algorithm>

namespace qnndbg {

Result<Dims> broadcast_dims(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1) return fail("{} and {} do not broadcast", to_string(a), to_string(b));
    out[out.size() - 1 - i] = da == 1 ? db : da;
  }
  return out;
}

Dims broadcast_strides(const Dims& dims, const Dims& out) {
  const Dims own = strides_of(dims);
  Dims strides(out.size(), 0);
  const std::size_t lead = out.size() - dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) strides[lead + i] = dims[i] == 1 ? 0 : own[i];
  return strides;
}

}  // namespace qnndbg
