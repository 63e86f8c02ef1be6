#include "dump/dump_writer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

namespace qnndbg {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kHeader = "index\tname\tfile\tdata_type\tdimensions\tquant_encoding\tscale\toffset\n";
/// Qnn_QuantizationEncoding_t: none, and one scale and offset for the whole tensor.
constexpr std::uint32_t kNoEncoding = 2147483647;
constexpr std::uint32_t kScaleOffset = 0;
/// File systems allow 255 bytes for a file's name; the fixed part of ours takes below 50.
constexpr std::size_t kLongestNameInFile = 200;

/// Letters, digits, '-', '_' and '.' stay, as MNN's backend does it.
std::string file_part(std::string_view name) {
  std::string part(name.substr(0, kLongestNameInFile));
  const auto stays = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  std::replace_if(part.begin(), part.end(), [&](char c) { return !stays(c); }, '_');
  return part;
}

Result<void> write_file(const fs::path& path, std::span<const std::byte> data) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  file.close();
  if (!file) return fail("{}: {}", path.string(), errno == 0 ? "cannot be written" : std::strerror(errno));
  return {};
}

}  // namespace

DumpWriter::DumpWriter(fs::path directory, unsigned execution)
    : directory_(std::move(directory)), execution_(execution), lines_(kHeader) {}

Result<void> DumpWriter::add(const Entry& entry, std::span<const std::byte> data) {
  if (entry.name.empty() || entry.name.find_first_of("\t\n\r") != std::string::npos)
    return fail("a tensor is called `{}`, which a manifest cannot hold", entry.name);
  const Result<std::int64_t> count = check_dims(entry.dims);
  if (!count) return fail("{}: {}", entry.name, count.error().message);
  if (data.size() != static_cast<std::size_t>(*count) * size_of(entry.type))
    return fail("{}: {} bytes for dims {}", entry.name, data.size(), to_string(entry.dims));
  const std::string file =
      fmt::format("execution_{:06}_tensor_{:04}_{}.raw", execution_, count_, file_part(entry.name));
  if (auto written = write_file(directory_ / file, data); !written) return written;
  const Encoding encoding = entry.encoding.value_or(Encoding{});
  // MNN prints scales with nine digits, enough for every float.
  lines_ += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{:.9g}\t{}\n", count_, entry.name, file, qnn_number(entry.type),
                        fmt::join(entry.dims, "x"), entry.encoding ? kScaleOffset : kNoEncoding,
                        entry.encoding ? encoding.scale : 0.0, entry.encoding ? encoding.offset : 0);
  ++count_;
  return {};
}

Result<void> DumpWriter::finish() && {
  return write_file(directory_ / fmt::format("manifest_{:06}.tsv", execution_), std::as_bytes(std::span(lines_)));
}

}  // namespace qnndbg
