// JSON from strangers: text is gone over with limits before anything is built from it.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tensor/result.h"

namespace qnndbg {

/// What a document may have at most. An object keeps its members in their order and finds them by going over them, so
/// the number of members bounds the time, and the number of values the memory.
struct JsonLimits {
  std::size_t bytes = 0;
  std::size_t depth = 0;     // of nesting; the document itself is 1
  std::size_t members = 0;   // of an object
  std::size_t elements = 0;  // of a list
  std::size_t values = 0;    // in all
};

/// The document, in UTF-8. Refused, with the place ("cases[3].fingerprint: ..." or "line 3, column 7: ..."): what is
/// not JSON or not UTF-8, a member that an object has twice, and whatever exceeds the limits.
Result<nlohmann::ordered_json> parse_guarded(std::string_view text, const JsonLimits& limits);

/// A word of a document for a message: at most 80 bytes of it.
std::string short_word(std::string_view word);

}  // namespace qnndbg
