#include "report/read_details.h"

#include "knowledge/guarded_json.h"

namespace qnndbg {
namespace {

constexpr std::string_view kSchema = "qnn-debug/details/1";

constexpr JsonLimits kLimits = {
    .bytes = kLargestDetails,
    .depth = 20,            // of an element of a replay of an operator
    .members = 64,          // metrics have 25
    .elements = 1'000'000,  // tensors of a dump
    .values = 40'000'000,
};

}  // namespace

Result<void> check_details(std::string_view text) {
  const Result<nlohmann::ordered_json> document = parse_guarded(text, kLimits);
  if (!document) return fail(document.error());
  const auto schema = document->is_object() ? document->find("schema") : document->end();
  if (!document->is_object() || schema == document->end() || !schema->is_string())
    return fail("no details of a diagnosis: it has no \"schema\": \"{}\"", kSchema);
  if (schema->get<std::string>() != kSchema)
    return fail("schema: \"{}\" is not \"{}\", which this qnn-debug reads", short_word(schema->get<std::string>()),
                kSchema);
  return {};
}

}  // namespace qnndbg
