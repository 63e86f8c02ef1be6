#include "tensor/tensor.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <new>

namespace qnndbg {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector register

constexpr std::int64_t kMaxElements = std::numeric_limits<std::int32_t>::max();

void* allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  // aligned_alloc wants a multiple of the alignment.
  void* p = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

std::int64_t element_count(const Dims& dims) {
  std::int64_t count = 1;
  for (std::int64_t d : dims) count *= d;
  return count;
}

Result<std::int64_t> check_dims(const Dims& dims) {
  // Zero extents count as one here: otherwise [0, 2^62, 2^62] would pass and its strides overflow.
  std::int64_t bound = 1;
  for (std::int64_t d : dims) {
    if (d < 0) return fail("negative extent in dims {}", to_string(dims));
    if (d > kMaxElements / bound) return fail("dims {} have more than {} elements", to_string(dims), kMaxElements);
    bound *= std::max<std::int64_t>(d, 1);
  }
  return element_count(dims);
}

std::string to_string(const Dims& dims) { return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "x")); }

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

Tensor::Tensor(DType type, Dims dims) : type_(type), dims_(std::move(dims)), size_(element_count(dims_)) {
  assert(type == DType::f32 || type == DType::i32);
  data_.reset(allocate(static_cast<std::size_t>(size_) * size_of(type)));
}

Tensor Tensor::of(std::vector<std::int32_t> values) {
  Tensor t = i32({static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.i32().begin());
  return t;
}

void Tensor::reshape(Dims dims) {
  assert(element_count(dims) == size_);
  dims_ = std::move(dims);
}

Tensor Tensor::clone() const {
  Tensor copy;
  copy.type_ = type_;
  copy.dims_ = dims_;
  copy.size_ = size_;
  const std::size_t bytes = static_cast<std::size_t>(size_) * size_of(type_);
  copy.data_.reset(allocate(bytes));
  if (bytes > 0) std::memcpy(copy.data_.get(), data_.get(), bytes);
  return copy;
}

}  // namespace qnndbg
