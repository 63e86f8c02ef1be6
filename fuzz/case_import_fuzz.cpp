// A document of known cases from a stranger, imported into a store that is otherwise empty. What the store then exports
// must import again as the same, and its cases must be found.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "knowledge/case_store.h"

namespace {

using qnndbg::CaseStore;
using qnndbg::KnownCase;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_export(const CaseStore& store) {
  const std::string document = store.export_text(/*all=*/false);
  auto copy = CaseStore::open_in_memory();
  require(copy.has_value());
  const auto report = copy->import_text(document);
  require(report && report->added == store.own().size() && report->built_in == 0);
  require(copy->export_text(/*all=*/false) == document);
  const auto again = copy->import_text(document);
  require(again && again->unchanged == store.own().size() && again->added == 0 && again->updated == 0);
}

void check_case(const CaseStore& store, const KnownCase& known) {
  require(qnndbg::check_case(known).has_value());
  require(store.find(known.id) == &known);
  // The title may have no words, or too many of them.
  const auto found = store.search(known.title, 1);
  require(found || !found.error().message.empty());
  for (const qnndbg::SimilarCase& match : store.nearest(known.fingerprint, 3))
    require(match.similarity >= qnndbg::kLeastSimilarity && match.similarity <= 1 && !match.shared.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto store = CaseStore::open_in_memory();
  require(store.has_value());
  const auto report = store->import_text({reinterpret_cast<const char*>(data), size});
  if (!report) {
    require(!report.error().message.empty() && store->own().empty());
    return 0;
  }
  require(report->added == store->own().size());
  check_export(*store);
  if (!store->own().empty()) check_case(*store, *store->own().front());
  return 0;
}
