#include "graph/model.h"

#include <cstring>

#include "graph/elements.h"
#include "graph/mnn_reader.h"
#include "graph/mnn_wire.h"

namespace qnndbg {

namespace {

std::vector<const wire::TensorDescribe*> records_of(const wire::Net& net, std::size_t tensors) {
  std::vector<const wire::TensorDescribe*> records;
  if (net.extraTensorDescribe() == nullptr) return records;
  records.resize(tensors);
  for (const wire::TensorDescribe* record : *net.extraTensorDescribe()) {
    const auto tensor = static_cast<std::size_t>(record->index());
    if (record->index() >= 0 && tensor < tensors) records[tensor] = record;
  }
  return records;
}

}  // namespace

Result<Model> Model::build(Bytes bytes, const std::filesystem::path& path) {
  const Result<const wire::Net*> net = verified_net(bytes);
  if (!net) return fail("{}: {}", path.string(), net.error().message);
  Result<Graph> graph = read_graph(**net, bytes.size());
  if (!graph) return fail("{}: {}", path.string(), graph.error().message);

  Model model;
  model.path_ = path;
  model.bytes_ = bytes;
  model.net_ = *net;
  model.graph_ = std::move(*graph);
  model.records_ = records_of(**net, model.graph_.tensors.size());
  model.offline_plugin_ = is_offline_plugin(**net);
  const wire::ExtraInfo* info = (*net)->extraInfo();
  if (info != nullptr && info->version() != nullptr) model.converter_version_ = info->version()->str();
  return model;
}

Result<Model> Model::open(const std::filesystem::path& path, const Options& options) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file) return fail(file.error());
  Result<Model> model = build(file->bytes(), path);
  if (!model) return model;
  model->file_ = std::move(*file);
  Result<SideFiles> side_files = SideFiles::open(path, options.weights);
  if (!side_files) return fail(side_files.error());
  for (const wire::Op* op : *model->net_->oplists()) {
    if (op->externalPath() != nullptr && op->externalPath()->size() > 0) side_files->add(op->externalPath()->str());
  }
  model->side_files_ = std::move(*side_files);
  return model;
}

Result<Model> Model::parse(Bytes bytes, const std::string& name) {
  if (is_aligned(bytes, alignof(std::uint64_t))) return build(bytes, name);
  std::vector<std::uint64_t> copy((bytes.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  Result<Model> model = build(std::as_bytes(std::span(copy)).first(bytes.size()), name);
  if (model) model->aligned_copy_ = std::move(copy);
  return model;
}

const wire::TensorDescribe* Model::tensor_record(int tensor) const {
  return records_.empty() ? nullptr : records_[static_cast<std::size_t>(tensor)];
}

const wire::Op& Model::wire_op(int index) const {
  return *net_->oplists()->Get(static_cast<flatbuffers::uoffset_t>(index));
}

Result<Bytes> Model::external_part(int op, const flatbuffers::Vector<std::int64_t>& external, int part) const {
  const auto entry = static_cast<flatbuffers::uoffset_t>(part) + 1;
  if (entry >= external.size()) return Bytes();
  std::int64_t offset = entry_of(external, 0);
  for (flatbuffers::uoffset_t i = 1; i < entry; ++i) {
    const std::int64_t skipped = entry_of(external, i);
    if (skipped < 0 || __builtin_add_overflow(offset, skipped, &offset)) {
      return fail("its side-file record is impossible: part {} has {} bytes", i - 1, skipped);
    }
  }
  const flatbuffers::String* own = wire_op(op).externalPath();
  const bool named = own != nullptr && own->size() > 0;
  return side_files_.read(named ? std::optional(own->str()) : std::nullopt, offset, entry_of(external, entry));
}

Result<FloatArray> Model::float_part(int op, const flatbuffers::Vector<float>* inline_values,
                                     const flatbuffers::Vector<std::int64_t>* external, int part) const {
  if (!is_external(external)) return as_floats(bytes_of(inline_values));
  return external_part(op, *external, part).and_then(as_floats).map_error([&](const Error& error) {
    return located(op, error);
  });
}

Error Model::located(int op, const Error& error) const {
  return Error{fmt::format("{}: {}: {}", path_.string(), describe(node(op)), error.message)};
}

}  // namespace qnndbg
