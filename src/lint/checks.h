// Judges a described environment: what is there, what does not fit together, and how to mend it. A pure function of the
// description.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lint/environment.h"

namespace qnndbg::lint {

enum class CheckStatus : unsigned char {
  ok,
  note,         // worth knowing; nothing is wrong
  warning,      // wrong for some uses
  problem,      // something will fail or give the wrong run
  not_checked,  // could not be found out, or was not asked for
};

std::string_view name_of(CheckStatus status);

/// A kind of check. Ids are stable: `group.subject`.
struct CheckType {
  std::string_view id;
  std::string_view why;  // why it matters, one sentence
};

/// Every kind, in the order in which check() reports them.
std::span<const CheckType> check_types();

struct Check {
  std::string_view id;  // of check_types()
  CheckStatus status = CheckStatus::ok;
  std::string found;       // what was found, one sentence without a full stop; may hold foreign text
  std::string fix;         // a command, or a sentence; empty: nothing to do
  std::string_view cause;  // class of docs/doctor.md that the problem leads to ("sdk_mix"); empty: none
};

/// The group of an id: "libraries" of "libraries.one_build".
std::string_view group_of(std::string_view id);

/// All checks, in the order of check_types(). Most ids come once per subject (directory, package, ...).
std::vector<Check> check(const Environment& environment);

}  // namespace qnndbg::lint
