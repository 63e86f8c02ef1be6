// Raster: regions of the operands copied into a tensor that is zero elsewhere. Static models have it in place of
// reshapes, transposes, slices and the like; the regions stand in the record of the output tensor.
#include <algorithm>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"

namespace qnndbg {
namespace {

/// One side of a region: element (i, j, k) stands at offset + i * stride[0] + j * stride[1] + k * stride[2].
struct View {
  std::int64_t offset = 0;
  std::int64_t stride[3] = {};
};

struct Region {
  int operand = 0;
  View from, to;
  std::int64_t size[3] = {};

  std::int64_t count() const { return size[0] * size[1] * size[2]; }
};

/// Whether every element of the view lies in a tensor of `count` elements.
bool lies_within(const View& view, const Region& region, std::int64_t count) {
  std::int64_t low = view.offset;
  std::int64_t high = view.offset;
  for (int k = 0; k < 3; ++k) {
    const std::int64_t reach = (region.size[k] - 1) * view.stride[k];
    (reach < 0 ? low : high) += reach;
  }
  return low >= 0 && high < count;
}

template <class T>
void copy(const Region& r, std::span<const T> x, std::span<T> y) {
  for (std::int64_t i = 0; i < r.size[0]; ++i) {
    for (std::int64_t j = 0; j < r.size[1]; ++j) {
      const std::int64_t from = r.from.offset + i * r.from.stride[0] + j * r.from.stride[1];
      const std::int64_t to = r.to.offset + i * r.to.stride[0] + j * r.to.stride[1];
      for (std::int64_t k = 0; k < r.size[2]; ++k)
        y[static_cast<std::size_t>(to + k * r.to.stride[2])] = x[static_cast<std::size_t>(from + k * r.from.stride[2])];
    }
  }
}

class Raster final : public Op {
 public:
  Raster(Dims dims, std::vector<Region> regions) : dims_(std::move(dims)), regions_(std::move(regions)) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    const std::int64_t count = element_count(dims_);
    auto first = require_operand(inputs, regions_.front().operand);
    if (!first) return fail(first.error());
    for (const Region& region : regions_) {
      auto x = require_operand(inputs, region.operand);
      if (!x) return fail(x.error());
      if (x->type != first->type) return fail("regions of floats and of integers");
      if (!lies_within(region.from, region, element_count(x->dims)) || !lies_within(region.to, region, count))
        return fail("a region of {}x{}x{} leaves its tensor", region.size[0], region.size[1], region.size[2]);
    }
    return std::vector<TensorSpec>{{first->type, dims_}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    std::vector<int> from;
    for (std::size_t k = 0; k < context.inputs.size(); ++k) from.push_back(static_cast<int>(k));
    return std::vector<Stage>{
        {.inputs = std::move(from),
         .bound = "exact",
         .compute = [this, type = context.outputs[0].spec.type](const RunContext& run) -> Result<StageResult> {
           StageResult result{.value = Tensor(type, dims_)};
           for (const Region& region : regions_) {
             const Tensor& x = *run.inputs[static_cast<std::size_t>(region.operand)];
             with_elements(x, result.value, [&]<class T>(std::span<const T> in, std::span<T> out) {
               if (&region == regions_.data()) std::fill(out.begin(), out.end(), T{0});
               copy<T>(region, in, out);
             });
           }
           return result;
         }}};
  }

 private:
  Dims dims_;
  std::vector<Region> regions_;
};

Result<View> view_of(const wire::View* view) {
  if (view == nullptr || view->stride() == nullptr || view->stride()->size() != 3)
    return fail("a region without three strides");
  View out{.offset = view->offset()};
  std::copy(view->stride()->begin(), view->stride()->end(), out.stride);
  return out;
}

Result<Region> region_of(const wire::Region& stored, const OpNode& node) {
  const auto origin = std::find(node.inputs.begin(), node.inputs.end(), stored.origin());
  if (stored.origin() < 0 || origin == node.inputs.end()) return fail("a region of a tensor that it does not read");
  Region region{.operand = static_cast<int>(origin - node.inputs.begin()), .from = {}, .to = {}};
  auto from = view_of(stored.src());
  if (!from) return fail(from.error());
  auto to = view_of(stored.dst());
  if (!to) return fail(to.error());
  region.from = *from;
  region.to = *to;
  if (stored.size() == nullptr || stored.size()->size() != 3) return fail("a region without three extents");
  std::copy(stored.size()->begin(), stored.size()->end(), region.size);
  auto count = check_dims({region.size[0], region.size[1], region.size[2]});
  if (!count) return fail(count.error());
  if (*count == 0) return fail("an empty region");
  return region;
}

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  if (node.outputs.size() != 1) return fail("{} outputs of a copy by regions", node.outputs.size());
  const wire::TensorDescribe* record = model.tensor_record(node.outputs[0]);
  if (record == nullptr || record->regions() == nullptr || record->regions()->size() == 0)
    return fail("its regions are not in the file");
  if (record->blob() == nullptr) return fail("the dims of its output are not in the file");
  Dims dims = ints_of(record->blob()->dims());
  auto room = check_dims(dims);
  if (!room) return fail(room.error());
  std::vector<Region> regions;
  std::int64_t written = 0;
  for (const wire::Region* stored : *record->regions()) {
    auto region = region_of(*stored, node);
    if (!region) return fail(region.error());
    // No element is written twice, which also bounds the work.
    written += region->count();
    if (written > *room) return fail("regions of more elements than the output {} has", to_string(dims));
    regions.push_back(*region);
  }
  return std::make_unique<Raster>(std::move(dims), std::move(regions));
}

const RegisterOp kRegister{"Raster", make};

}  // namespace
}  // namespace qnndbg
