// parse_npy on arbitrary bytes: no crash, and a result that agrees with the size of the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tensor/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace qnndbg;
  const auto tensor = parse_npy(std::as_bytes(std::span(data, size)), "fuzz.npy");
  if (!tensor) {
    if (tensor.error().message.empty()) std::abort();
    return 0;
  }
  // One element is at least one byte of the file.
  if (tensor->size() < 0 || static_cast<std::uint64_t>(tensor->size()) > size) std::abort();
  if (element_count(tensor->dims()) != tensor->size()) std::abort();
  // Every element is read, so that uninitialized or foreign memory is noticed.
  std::uint64_t sum = 0;
  if (tensor->type() == DType::f32) {
    for (const float v : tensor->f32()) sum += v == 0;
  } else {
    for (const std::int32_t v : tensor->i32()) sum += v == 0;
  }
  if (sum > size) std::abort();
  return 0;
}
