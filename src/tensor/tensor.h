// A dense tensor in *logical* order: the order of the model's own dims (N, C, H, W for an image), whatever
// layout the device used. Everything above src/dump works on these.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/result.h"

namespace qnndbg {

using Dims = std::vector<std::int64_t>;

/// Number of elements; 1 for rank 0. Precondition: dims passed check_dims.
std::int64_t element_count(const Dims& dims);

/// Refuses negative extents and products that no tensor of a real model reaches (more than 2^31 - 1 elements),
/// before anything is allocated. Zero extents excuse no others: [0, 2^62, 2^62] is refused, as its strides overflow.
/// Returns the element count.
Result<std::int64_t> check_dims(const Dims& dims);

/// "1x3x64x64"; "scalar" for rank 0.
std::string to_string(const Dims& dims);

/// Owned elements of one of two types: f32 for data, i32 for shapes and indices. Memory is 64-byte aligned and
/// starts uninitialized.
class Tensor {
 public:
  Tensor() = default;
  /// Precondition: check_dims(dims) holds, type is f32 or i32. Throws std::bad_alloc as a vector would.
  Tensor(DType type, Dims dims);

  static Tensor f32(Dims dims) { return Tensor(DType::f32, std::move(dims)); }
  static Tensor i32(Dims dims) { return Tensor(DType::i32, std::move(dims)); }
  static Tensor of(std::vector<std::int32_t> values);  // rank 1, i32

  DType type() const { return type_; }
  const Dims& dims() const { return dims_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// Elements as f32 / i32. Precondition: the tensor has that type.
  std::span<float> f32() { return {static_cast<float*>(data_.get()), static_cast<std::size_t>(size_)}; }
  std::span<const float> f32() const {
    return {static_cast<const float*>(data_.get()), static_cast<std::size_t>(size_)};
  }
  std::span<std::int32_t> i32() { return {static_cast<std::int32_t*>(data_.get()), static_cast<std::size_t>(size_)}; }
  std::span<const std::int32_t> i32() const {
    return {static_cast<const std::int32_t*>(data_.get()), static_cast<std::size_t>(size_)};
  }

  /// Same elements under other dims with the same count.
  void reshape(Dims dims);
  Tensor clone() const;

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  DType type_ = DType::f32;
  Dims dims_;
  std::int64_t size_ = 0;
  std::unique_ptr<void, Free> data_;
};

/// Row-major strides in elements.
Dims strides_of(const Dims& dims);

}  // namespace qnndbg
