// The hash by which a diagnosis names its details.
#pragma once

#include <string>
#include <string_view>

namespace qnndbg {

/// SHA-256 (FIPS 180-4) in 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace qnndbg
