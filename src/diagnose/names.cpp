#include "diagnose/diagnosis.h"

namespace qnndbg {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::load_failed: return "load_failed";
    case Verdict::rejected: return "rejected";
    case Verdict::bug: return "bug";
    case Verdict::range: return "range";
    case Verdict::clean: return "clean";
    case Verdict::inconclusive: return "inconclusive";
  }
  return "inconclusive";
}

std::string_view name_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::bug: return "bug";
    case FindingKind::input: return "input";
    case FindingKind::range: return "range";
    case FindingKind::rejected: return "rejected";
    case FindingKind::unregistered: return "unregistered";
    case FindingKind::load: return "load";
    case FindingKind::warning: return "warning";
  }
  return "warning";
}

std::string_view name_of(OpStatus status) {
  switch (status) {
    case OpStatus::right: return "right";
    case OpStatus::inherited: return "inherited";
    case OpStatus::broken: return "broken";
    case OpStatus::consequence: return "consequence";
    case OpStatus::not_judged: return "not_judged";
    case OpStatus::set_aside: return "set_aside";
  }
  return "not_judged";
}

}  // namespace qnndbg
