#include "dump/inputs.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "dump/paths.h"
#include "tensor/layout.h"
#include "tensor/mapped_file.h"
#include "tensor/npy.h"

namespace qnndbg {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// An inputs.json lists a handful of tensors; whatever is larger is another file.
constexpr std::size_t kLargestJson = 16u << 20;

/// One element of "inputs".
struct InputSpec {
  std::string name;
  Dims dims;  // as listed: in the file's own order
  DType type = DType::f32;
  Layout layout = Layout::logical;
  fs::path file;
};

Result<std::string> string_field(const json& object, const char* key) {
  const auto field = object.find(key);
  if (field == object.end()) return fail("\"{}\" is missing", key);
  if (!field->is_string()) return fail("\"{}\" is not a string", key);
  auto text = field->get<std::string>();
  if (text.empty()) return fail("\"{}\" is empty", key);
  return text;
}

Result<Dims> dims_field(const json& object) {
  const auto field = object.find("dims");
  if (field == object.end()) return fail("\"dims\" is missing");
  if (!field->is_array()) return fail("\"dims\" is not an array");
  Dims dims;
  for (const json& extent : *field) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > std::numeric_limits<std::int32_t>::max()) {
      return fail("\"dims\" holds {}, which is not a dimension",
                  printable(extent.dump(-1, ' ', true, json::error_handler_t::replace)));
    }
    dims.push_back(extent.get<std::int64_t>());
  }
  if (auto count = check_dims(dims); !count) return fail("\"dims\": {}", count.error().message);
  return dims;
}

Result<DType> dtype_field(const json& object) {
  auto name = string_field(object, "dtype");
  if (!name) return fail(name.error());
  const auto type = dtype_from_name(*name);
  if (!type || is_quantized(*type)) return fail("\"dtype\" {} is not a known element type", printable(*name));
  return *type;
}

Result<Layout> layout_field(const json& object, std::size_t rank) {
  if (!object.contains("layout")) return Layout::logical;
  auto name = string_field(object, "layout");
  if (!name) return fail(name.error());
  std::transform(name->begin(), name->end(), name->begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  if (*name == "NCHW") return Layout::logical;
  if (*name != "NHWC") return fail("\"layout\" {} is neither NCHW nor NHWC", printable(*name));
  if (rank != 4) return fail("\"layout\" NHWC needs four dims, there are {}", rank);
  return Layout::channel_last;
}

Result<InputSpec> parse_spec(const json& object, const fs::path& directory) {
  if (!object.is_object()) return fail("not an object");
  InputSpec spec;
  auto name = string_field(object, "name");
  if (!name) return fail(name.error());
  spec.name = std::move(*name);

  auto dims = dims_field(object);
  if (!dims) return fail(dims.error());
  spec.dims = std::move(*dims);

  auto type = dtype_field(object);
  if (!type) return fail(type.error());
  spec.type = *type;

  auto layout = layout_field(object, spec.dims.size());
  if (!layout) return fail(layout.error());
  spec.layout = *layout;

  auto file = string_field(object, "file");
  if (!file) return fail(file.error());
  auto path = resolve_inside(directory, *file);
  if (!path) return fail("\"file\": {}", path.error().message);
  spec.file = std::move(*path);
  return spec;
}

template <class Stored>
Result<void> widen(std::span<const std::byte> raw, std::span<std::int32_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored value;
    std::memcpy(&value, raw.data() + i * sizeof value, sizeof value);
    if (!std::in_range<std::int32_t>(value)) return fail("element {} is {}, which does not fit 32 bits", i, value);
    out[i] = static_cast<std::int32_t>(value);
  }
  return {};
}

Result<void> widen(std::span<const std::byte> raw, DType type, std::span<std::int32_t> out) {
  switch (type) {
    case DType::i8: return widen<std::int8_t>(raw, out);
    case DType::i16: return widen<std::int16_t>(raw, out);
    case DType::i32: return widen<std::int32_t>(raw, out);
    case DType::i64: return widen<std::int64_t>(raw, out);
    case DType::u8:
    case DType::bool8: return widen<std::uint8_t>(raw, out);
    case DType::u16: return widen<std::uint16_t>(raw, out);
    case DType::u32: return widen<std::uint32_t>(raw, out);
    case DType::u64: return widen<std::uint64_t>(raw, out);
    default: return fail("{} is not an integer type", name_of(type));
  }
}

/// [N, spatial, C] to [N, C, spatial] for integers, which decode_to_logical would round to fp32.
Tensor channel_first(const Tensor& channel_last, const Dims& logical) {
  Tensor out = Tensor::i32(logical);
  const std::int64_t batch = logical[0], channels = logical[1];
  const std::int64_t pixels = batch * channels == 0 ? 0 : out.size() / (batch * channels);
  const auto from = std::as_const(channel_last).i32();
  const auto to = out.i32();
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t p = 0; p < pixels; ++p) {
      for (std::int64_t c = 0; c < channels; ++c)
        to[(n * channels + c) * pixels + p] = from[(n * pixels + p) * channels + c];
    }
  }
  return out;
}

bool is_float(DType type) { return type == DType::f16 || type == DType::f32 || type == DType::f64; }

Result<Tensor> load(const InputSpec& spec) {
  auto file = MappedFile::open(spec.file);
  if (!file) return fail(file.error());
  const auto raw = file->bytes();
  const auto count = static_cast<std::size_t>(element_count(spec.dims));
  const std::size_t expected = count * size_of(spec.type);
  if (raw.size() != expected) {
    return fail("{} has {} bytes, {} {} needs {}", spec.file.string(), raw.size(), to_string(spec.dims),
                name_of(spec.type), expected);
  }
  const Dims logical = to_logical_dims(spec.dims, spec.layout);
  if (is_float(spec.type)) {
    Tensor tensor = Tensor::f32(logical);
    decode_to_logical(raw, spec.type, Encoding{}, HalfKind::ieee, logical, spec.layout, tensor.f32());
    return tensor;
  }
  Tensor tensor = Tensor::i32(spec.dims);
  if (auto widened = widen(raw, spec.type, tensor.i32()); !widened) {
    return fail("{}: {}", spec.file.string(), widened.error().message);
  }
  if (spec.layout == Layout::channel_last) return channel_first(tensor, logical);
  return tensor;
}

Result<InputMap> read_inputs_json(const fs::path& path) {
  auto file = MappedFile::open(path);
  if (!file) return fail(file.error());
  const auto bytes = file->bytes();
  if (bytes.size() > kLargestJson)
    return fail("{}: {} bytes are too many for an inputs.json", path.string(), bytes.size());
  // A copy, because the map would follow a writer into a truncated file in the middle of parsing.
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  return parse_inputs_json(text, path.string(), directory);
}

bool exists(std::string_view path) {
  std::error_code error;
  return fs::exists(fs::path(path), error);
}

/// The '=' of NAME=FILE. Names and directories may hold '=' too: the first one after which an existing file stands,
/// else the first.
std::size_t separator_of(std::string_view argument) {
  const std::size_t first = argument.find('=');
  for (std::size_t at = first; at != std::string_view::npos; at = argument.find('=', at + 1)) {
    if (exists(argument.substr(at + 1))) return at;
  }
  return first;
}

Result<InputMap> read_argument(const std::string& argument) {
  if (argument.find('\0') != std::string::npos) return fail("--inputs {}: holds a NUL byte", printable(argument));
  if (exists(argument) || argument.find('=') == std::string::npos) {
    if (argument.ends_with(".npy")) return fail("{}: say for which input it is: --inputs NAME={}", argument, argument);
    std::error_code error;
    if (fs::is_directory(argument, error))
      return fail("{}: a directory; --inputs takes an inputs.json or NAME=FILE.npy", argument);
    return read_inputs_json(argument);
  }
  const std::size_t separator = separator_of(argument);
  if (separator == 0) return fail("--inputs {}: the name before '=' is empty", printable(argument));
  auto tensor = read_npy(argument.substr(separator + 1));
  if (!tensor) return fail(tensor.error());
  InputMap inputs;
  inputs.emplace(argument.substr(0, separator), std::move(*tensor));
  return inputs;
}

}  // namespace

Result<InputMap> parse_inputs_json(std::string_view text, const std::string& name, const fs::path& directory) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return fail("{}: not valid JSON", name);
  if (!document.is_object()) return fail("{}: not a JSON object", name);
  const auto list = document.find("inputs");
  if (list == document.end() || !list->is_array()) return fail("{}: \"inputs\" is missing or not an array", name);

  InputMap inputs;
  for (std::size_t i = 0; i < list->size(); ++i) {
    auto spec = parse_spec((*list)[i], directory);
    if (!spec) return fail("{}: inputs[{}]: {}", name, i, spec.error().message);
    if (inputs.contains(spec->name))
      return fail("{}: inputs[{}]: name {} is listed twice", name, i, printable(spec->name));
    auto tensor = load(*spec);
    if (!tensor) return fail("{}: inputs[{}] ({}): {}", name, i, printable(spec->name), tensor.error().message);
    inputs.emplace(std::move(spec->name), std::move(*tensor));
  }
  return inputs;
}

Result<InputMap> read_inputs(const std::vector<std::string>& arguments) {
  InputMap inputs;
  for (const std::string& argument : arguments) {
    auto read = read_argument(argument);
    if (!read) return fail(read.error());
    // merge() keeps what is already there, and the later argument must win.
    read->merge(inputs);
    inputs = std::move(*read);
  }
  return inputs;
}

}  // namespace qnndbg
