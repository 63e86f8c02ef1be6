// The one table of finding ids: QD01xx input, 02xx numeric, 03xx range, 04xx rejected, 05xx unregistered and load,
// 06xx quantization, 09xx warnings. An id never changes its meaning; new causes get new ids.
#pragma once

#include <span>
#include <string_view>

namespace qnndbg {

struct FindingType {
  std::string_view id;     // "QD0202"
  std::string_view cause;  // id of docs/causes.md
  std::string_view title;  // completes "<Type> `<name>` ..." in a headline
  std::string_view next;   // what to do about it, one sentence
};

/// Every type, by id.
std::span<const FindingType> finding_types();

/// The type of a cause. Precondition: the cause is in the table (a test checks that every cause a room names is).
const FindingType& finding_type(std::string_view cause);

}  // namespace qnndbg
