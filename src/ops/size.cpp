// Size: the number of elements, on the host.
#include "ops/registry.h"
#include "ops/support/dims_scalar.h"

namespace qnndbg {
namespace {

class Size final : public DimsScalar {
  std::int64_t value(const Dims& dims) const override { return element_count(dims); }
};

Result<std::unique_ptr<Op>> make(const Model&, const OpNode&) { return std::make_unique<Size>(); }

const RegisterOp kRegister{"Size", make};

}  // namespace
}  // namespace qnndbg
