// The details of a diagnosis read back, to be drawn again.
#pragma once

#include <string_view>

#include "tensor/result.h"

namespace qnndbg {

/// A larger file is refused unread; that of a network of 500 operators has 1 MB.
inline constexpr std::size_t kLargestDetails = std::size_t{256} << 20;

/// Whether `text` is a document "qnn-debug/details/1" (schema/details.schema.json) of a sane size. It may come from a
/// stranger; its fields are not looked at, the page that draws them is prepared for any.
Result<void> check_details(std::string_view text);

}  // namespace qnndbg
