// Rank: the number of axes, on the host.
#include "ops/registry.h"
#include "ops/support/dims_scalar.h"

namespace qnndbg {
namespace {

class Rank final : public DimsScalar {
  std::int64_t value(const Dims& dims) const override { return static_cast<std::int64_t>(dims.size()); }
};

Result<std::unique_ptr<Op>> make(const Model&, const OpNode&) { return std::make_unique<Rank>(); }

const RegisterOp kRegister{"Rank", make};

}  // namespace
}  // namespace qnndbg
