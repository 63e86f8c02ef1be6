#include "tensor/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

#include "tensor/half.h"
#include "tensor/mapped_file.h"

namespace qnndbg {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they are");

constexpr std::string_view kMagic = "\x93NUMPY";

/// What the header says, still unchecked.
struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<Dims> shape;
};

/// Reads the header: a Python dict literal with exactly the keys descr, fortran_order and shape. Every step returns
/// false at the first thing that NumPy does not write.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  bool parse(Header& header) {
    if (!take('{')) return false;
    while (!take('}'))
      if (!parse_entry(header) || !(take(',') || peek('}'))) return false;
    skip_space();
    return text_.empty() && header.descr && header.fortran_order && header.shape;
  }

 private:
  bool parse_entry(Header& header) {
    std::string key;
    if (!parse_string(key) || !take(':')) return false;
    if (key == "descr" && !header.descr) return parse_string(header.descr.emplace());
    if (key == "fortran_order" && !header.fortran_order) return parse_bool(header.fortran_order.emplace());
    if (key == "shape" && !header.shape) return parse_tuple(header.shape.emplace());
    return false;  // an unknown or repeated key
  }

  bool parse_string(std::string& value) {
    skip_space();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return false;
    const std::size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return false;
    value = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    // Printable only, for the value may stand in a message; a backslash would begin an escape.
    return std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
  }

  bool parse_bool(bool& value) {
    skip_space();
    value = text_.starts_with("True");
    if (!value && !text_.starts_with("False")) return false;
    text_.remove_prefix(value ? 4 : 5);
    return true;
  }

  bool parse_tuple(Dims& dims) {
    if (!take('(')) return false;
    bool comma = true;  // may another number follow?
    while (!take(')')) {
      if (!comma || !parse_number(dims.emplace_back())) return false;
      comma = take(',');
    }
    return dims.size() != 1 || comma;  // "(3)" is a number in Python, "(3,)" the tuple
  }

  bool parse_number(std::int64_t& value) {
    skip_space();
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || text_.front() == '-') return false;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return true;
  }

  void skip_space() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size())); }

  bool peek(char c) {
    skip_space();
    return text_.starts_with(c);
  }

  bool take(char c) {
    if (!peek(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

  std::string_view text_;
};

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The two parts of a file: the header's text and the elements.
struct Parts {
  std::string_view header;
  std::span<const std::byte> data;
};

Result<Parts> split(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text = as_text(bytes);
  if (!text.starts_with(kMagic)) return fail("{}: not a .npy file", name);
  if (text.size() < kMagic.size() + 2) return fail("{}: cut short in the .npy header", name);
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(bytes[kMagic.size() + i]); };
  const std::size_t major = byte(0), minor = byte(1);
  if (major < 1 || major > 3 || minor != 0)
    return fail("{}: .npy format version {}.{} is not known (1.0 to 3.0 are)", name, major, minor);
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t prefix = kMagic.size() + 2 + length_bytes;
  if (text.size() < prefix) return fail("{}: cut short in the .npy header", name);
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= byte(2 + i) << (8 * i);
  if (length > text.size() - prefix) return fail("{}: cut short in the .npy header", name);
  return Parts{text.substr(prefix, length), bytes.subspan(prefix + length)};
}

template <class T>
T load(std::span<const std::byte> data, std::size_t i) {
  T value;
  std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
  return value;
}

using Convert = Result<Tensor> (*)(std::span<const std::byte> data, Dims dims, const std::string& name);

template <class T>
Result<Tensor> to_f32(std::span<const std::byte> data, Dims dims, const std::string&) {
  Tensor t = Tensor::f32(std::move(dims));
  const std::span<float> out = t.f32();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(load<T>(data, i));
  return t;
}

Result<Tensor> half_to_f32(std::span<const std::byte> data, Dims dims, const std::string&) {
  Tensor t = Tensor::f32(std::move(dims));
  const std::span<float> out = t.f32();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = half_to_float(load<std::uint16_t>(data, i), HalfKind::ieee);
  return t;
}

template <class T>
Result<Tensor> to_i32(std::span<const std::byte> data, Dims dims, const std::string& name) {
  Tensor t = Tensor::i32(std::move(dims));
  const std::span<std::int32_t> out = t.i32();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const T value = load<T>(data, i);
    if (!std::in_range<std::int32_t>(value)) return fail("{}: element {} ({}) does not fit 32 bits", name, i, value);
    out[i] = static_cast<std::int32_t>(value);
  }
  return t;
}

struct Format {
  std::string_view descr;
  std::size_t size;
  Convert convert;
};

constexpr Format kFormats[] = {
    {"<f4", 4, to_f32<float>},        {"<f8", 8, to_f32<double>},       {"<f2", 2, half_to_f32},
    {"<i4", 4, to_i32<std::int32_t>}, {"<i8", 8, to_i32<std::int64_t>}, {"|u1", 1, to_i32<std::uint8_t>},
    {"|i1", 1, to_i32<std::int8_t>},  {"|b1", 1, to_i32<std::uint8_t>},
};

/// The header's text of version 1.0, padded so that the elements start at a multiple of 64 bytes.
std::string header_of(const Tensor& tensor) {
  const Dims& dims = tensor.dims();
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                  tensor.type() == DType::f32 ? "<f4" : "<i4", fmt::join(dims, ", "), dims.size() == 1 ? "," : "");
  const std::size_t prefix = kMagic.size() + 4;
  text.append(63 - (prefix + text.size()) % 64, ' ');
  text += '\n';
  return text;
}

}  // namespace

Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  const Result<Parts> parts = split(bytes, name);
  if (!parts) return fail(parts.error());
  Header header;
  if (!HeaderParser(parts->header).parse(header)) return fail("{}: malformed .npy header", name);
  const auto* format =
      std::find_if(std::begin(kFormats), std::end(kFormats), [&](const Format& f) { return f.descr == *header.descr; });
  if (format == std::end(kFormats))
    return fail("{}: element type '{}' is not supported; save it as float32 or int32", name, *header.descr);
  if (*header.fortran_order) return fail("{}: Fortran order is not supported; save np.ascontiguousarray(...)", name);
  const Result<std::int64_t> count = check_dims(*header.shape);
  if (!count) return fail("{}: {}", name, count.error().message);
  const std::size_t expected = static_cast<std::size_t>(*count) * format->size;
  if (parts->data.size() != expected)
    return fail("{}: holds {} bytes of elements, its header ({} of '{}') says {}", name, parts->data.size(),
                to_string(*header.shape), format->descr, expected);
  return format->convert(parts->data, std::move(*header.shape), name);
}

Result<Tensor> read_npy(const std::filesystem::path& path) {
  const Result<MappedFile> file = MappedFile::open(path);
  if (!file) return fail(file.error());
  return parse_npy(file->bytes(), path.string());
}

Result<void> write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  const std::string header = header_of(tensor);
  if (header.size() > std::numeric_limits<std::uint16_t>::max())
    return fail("{}: too many dims for a .npy file ({})", path.string(), tensor.rank());
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << kMagic << '\x01' << '\x00' << static_cast<char>(header.size() & 0xff) << static_cast<char>(header.size() >> 8)
      << header;
  const void* data = tensor.type() == DType::f32 ? static_cast<const void*>(tensor.f32().data()) : tensor.i32().data();
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(tensor.size() * 4));
  out.close();
  if (out.fail())
    return fail("{}: cannot write: {}", path.string(), std::error_code(errno, std::generic_category()).message());
  return {};
}

}  // namespace qnndbg
