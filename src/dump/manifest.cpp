// Parsing of manifest_%06u.tsv. The format is MNN's: one line per tensor, eight tab-separated columns.
#include <array>
#include <charconv>
#include <unordered_set>

#include "dump/dump.h"
#include "dump/paths.h"

namespace qnndbg {

namespace {

constexpr std::string_view kHeader = "index\tname\tfile\tdata_type\tdimensions\tquant_encoding\tscale\toffset";
constexpr std::size_t kColumns = 8;
enum Column : std::size_t { kIndex, kName, kFile, kDataType, kDimensions, kQuantEncoding, kScale, kOffset };

/// Qnn_QuantizationEncoding_t: scale and offset for the whole tensor; the only encoding that a manifest spells out.
constexpr std::uint32_t kScaleOffset = 0;

/// The backend puts the name into the raw file's name, which no file system lets grow beyond 255 bytes. The limit also
/// bounds the work of DumpNames::role.
constexpr std::size_t kLongestName = 1024;
constexpr std::size_t kHighestRank = 16;  // QNN itself stops at 5 for nearly every operation
/// So that a large file that is no manifest does not fill the memory with messages about it.
constexpr std::size_t kMostProblems = 1000;

template <class Number>
bool parse_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// Splits at tabs and returns how many columns there are; those beyond the eighth are only counted.
std::size_t split_columns(std::string_view line, std::array<std::string_view, kColumns>& columns) {
  std::size_t count = 0;
  while (true) {
    const std::size_t tab = line.find('\t');
    if (count < kColumns) columns[count] = line.substr(0, tab);
    ++count;
    if (tab == std::string_view::npos) return count;
    line.remove_prefix(tab + 1);
  }
}

/// "1x64x64x3"; an empty column is a scalar, which MNN writes as no extents at all.
Result<Dims> parse_dims(std::string_view text) {
  Dims dims;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('x');
    std::int64_t extent = 0;
    if (!parse_number(rest.substr(0, end), extent)) return fail("dimensions {} do not parse", printable(text));
    if (extent <= 0) return fail("dimensions {} have an extent below one", printable(text));
    dims.push_back(extent);
    if (dims.size() > kHighestRank) return fail("dimensions {} have more than {} axes", printable(text), kHighestRank);
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
    if (rest.empty()) return fail("dimensions {} do not parse", printable(text));
  }
  if (auto count = check_dims(dims); !count) return fail(count.error());
  return dims;
}

Result<void> parse_encoding(std::string_view scale, std::string_view offset, DumpEntry& entry) {
  Encoding encoding;
  if (!parse_number(scale, encoding.scale)) return fail("scale {} is not a number", printable(scale));
  if (!parse_number(offset, encoding.offset)) return fail("offset {} is not a 32-bit integer", printable(offset));
  entry.encoding = encoding;
  return {};
}

/// Fills `entry` as far as the columns allow; an error leaves the rest of it at its defaults.
Result<void> parse_columns(const std::array<std::string_view, kColumns>& columns,
                           const std::filesystem::path& directory, DumpEntry& entry) {
  std::uint64_t index = 0;
  if (!parse_number(columns[kIndex], index)) return fail("index {} is not a number", printable(columns[kIndex]));
  if (auto inside = check_relative_path(columns[kFile]); !inside) return fail(inside.error());
  entry.file = directory / std::filesystem::path(columns[kFile]);

  std::uint32_t number = 0;
  const bool parsed = parse_number(columns[kDataType], number);
  const std::optional<DType> type = parsed ? dtype_from_qnn(number) : std::nullopt;
  if (!type) return fail("data_type {} is not one that a dump can hold", printable(columns[kDataType]));
  entry.type = *type;

  auto dims = parse_dims(columns[kDimensions]);
  if (!dims) return fail(dims.error());
  entry.dims = std::move(*dims);

  if (!parse_number(columns[kQuantEncoding], entry.quant_encoding)) {
    return fail("quant_encoding {} is not a number", printable(columns[kQuantEncoding]));
  }
  if (entry.quant_encoding != kScaleOffset) return {};
  return parse_encoding(columns[kScale], columns[kOffset], entry);
}

class ManifestParser {
 public:
  ManifestParser(const std::filesystem::path& manifest, const std::filesystem::path& directory)
      : directory_(directory), file_name_(manifest.filename().string()) {
    execution_.manifest = manifest;
  }

  Execution parse(std::string_view text) {
    bool crlf = false;
    if (!take_header(text, crlf)) return std::move(execution_);
    execution_.complete = true;
    while (!text.empty()) {
      if (execution_.problems.size() >= kMostProblems) {
        note(fmt::format("more than {} unusable lines; the rest of the file is not read", kMostProblems));
        break;
      }
      take_line(text, crlf);
    }
    if (execution_.entries.empty() && execution_.complete) note("lists no tensor");
    // Not a reason to doubt the run, but one to look at when sizes are off too: a transfer in text mode changes raw
    // files.
    if (crlf) {
      execution_.problems.push_back(
          fmt::format("{}:1: lines end in CRLF: the dump went through a text-mode transfer", file_name_));
    }
    return std::move(execution_);
  }

 private:
  /// Removes the first line (with its newline) from `text`; false in `ended` when there is no newline.
  std::string_view next_line(std::string_view& text, bool& ended) {
    const std::size_t newline = text.find('\n');
    ended = newline != std::string_view::npos;
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(ended ? newline + 1 : text.size());
    ++line_;
    return line;
  }

  bool take_header(std::string_view& text, bool& crlf) {
    bool ended = false;
    std::string_view header = next_line(text, ended);
    if (header.empty() && !ended) {
      note("is empty");
      return false;
    }
    crlf = header.ends_with('\r');
    if (crlf) header.remove_suffix(1);
    if (header != kHeader) {
      note(fmt::format("not the header of a QNN dump manifest: {}", printable(header)));
      return false;
    }
    if (!ended) note("cut off after the header");
    return ended;
  }

  void take_line(std::string_view& text, bool crlf) {
    bool ended = false;
    std::string_view line = next_line(text, ended);
    DumpEntry entry;
    entry.line = line_;
    if (crlf && line.ends_with('\r')) line.remove_suffix(1);
    std::array<std::string_view, kColumns> columns;
    const std::size_t count = split_columns(line, columns);
    if (!ended && (count < kColumns || columns[kOffset].empty())) {
      note("the last line is cut off");
      return;
    }
    if (auto usable = take_entry(line, columns, count, entry); !usable) set_problem(entry, usable.error().message);
    if (!ended) {
      // "-12" may be what is left of "-128", so the numbers of a cut line cannot be trusted to decode anything.
      if (entry.problem.empty() && entry.encoding) {
        set_problem(entry, "the last line is cut off, its offset may be incomplete");
      } else {
        note("the last line has no newline: the manifest may be cut off");
      }
    }
    execution_.entries.push_back(std::move(entry));
  }

  Result<void> take_entry(std::string_view line, const std::array<std::string_view, kColumns>& columns,
                          std::size_t count, DumpEntry& entry) {
    if (count > kName) entry.name = columns[kName].substr(0, kLongestName);
    if (line.find('\0') != std::string_view::npos) return fail("holds a NUL byte");
    if (line.ends_with('\r')) return fail("ends in CRLF, unlike the header");
    if (count != kColumns) return fail("{} columns instead of {}", count, kColumns);
    if (columns[kName].empty()) return fail("the name is empty");
    if (columns[kName].size() > kLongestName) return fail("the name is longer than {} bytes", kLongestName);
    if (!names_.insert(entry.name).second)
      return fail("name {} is already taken by an earlier line", printable(entry.name));
    return parse_columns(columns, directory_, entry);
  }

  void set_problem(DumpEntry& entry, std::string_view problem) { entry.problem = note(problem); }

  /// Records a problem of the current line and returns its full text.
  const std::string& note(std::string_view problem) {
    execution_.complete = false;
    return execution_.problems.emplace_back(fmt::format("{}:{}: {}", file_name_, line_, problem));
  }

  const std::filesystem::path& directory_;
  std::string file_name_;
  int line_ = 0;
  Execution execution_;
  std::unordered_set<std::string> names_;
};

}  // namespace

Execution parse_manifest(std::string_view text, const std::filesystem::path& manifest,
                         const std::filesystem::path& directory) {
  return ManifestParser(manifest, directory).parse(text);
}

}  // namespace qnndbg
