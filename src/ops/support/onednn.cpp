#include "ops/support/onednn.h"

namespace qnndbg::onednn {

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

dnnl::stream& stream() {
  // A stream belongs to the thread that submits to it.
  thread_local dnnl::stream s(engine());
  return s;
}

dnnl::primitive_attr strict() {
  dnnl::primitive_attr attr;
  attr.set_fpmath_mode(dnnl::fpmath_mode::strict);
  return attr;
}

dnnl::memory in_layout(dnnl::memory data, const dnnl::memory::desc& wanted) {
  if (data.get_desc() == wanted) return data;
  dnnl::memory copy(wanted, engine());
  dnnl::reorder(data, copy).execute(stream(), data, copy);
  return copy;
}

}  // namespace qnndbg::onednn
