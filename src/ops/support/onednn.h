// The one oneDNN engine and stream of the process.
#pragma once

#include <dnnl.hpp>

#include "tensor/result.h"

namespace qnndbg::onednn {

const dnnl::engine& engine();
dnnl::stream& stream();

/// Attributes that no environment variable and no default can loosen: strict fp32 arithmetic.
dnnl::primitive_attr strict();

/// A view of caller-owned floats. oneDNN's API is not const-correct; sources are only read.
inline dnnl::memory view(const dnnl::memory::desc& desc, const float* data) {
  return {desc, engine(), const_cast<float*>(data)};
}

/// `data` in the layout that the primitive asks for, copied only when it differs.
dnnl::memory in_layout(dnnl::memory data, const dnnl::memory::desc& wanted);

/// Runs f, turning oneDNN's exceptions into errors.
template <class F>
auto guarded(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const dnnl::error& e) {
    return fail("oneDNN refused the shapes: {}", e.what());
  }
}

}  // namespace qnndbg::onednn
