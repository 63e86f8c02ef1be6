// What happens to a log between the device and the person who reads it. Each group of variations changes a log in ways
// that cannot change its cause; the comment on the group says why. What they do is drawn from a seed, so that a failure
// comes back.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace qnndbg::logs {

using Lines = std::vector<std::string>;
using LineNumbers = std::vector<std::uint64_t>;  // from 1

struct Log {
  Lines lines;
  LineNumbers decisive;  // ascending; empty when no line decides
  std::string node;      // the refused node, or empty
};

struct Variation {
  std::string name;
  std::string text;
  LineNumbers decisive;  // where the decisive lines are now; empty where a later copy of them is as good
};

inline std::string join(const Lines& lines, std::string_view end = "\n") {
  std::string text;
  for (const std::string& line : lines) text.append(line).append(end);
  return text;
}

inline std::size_t first_decisive(const Log& log) { return log.decisive.front() - 1; }
inline std::size_t last_decisive(const Log& log) { return log.decisive.back() - 1; }

inline Lines slice(const Lines& lines, std::size_t begin, std::size_t end) {
  end = std::min(end, lines.size());
  begin = std::min(begin, end);
  return Lines(lines.begin() + static_cast<std::ptrdiff_t>(begin), lines.begin() + static_cast<std::ptrdiff_t>(end));
}

inline Lines concatenated(Lines first, const Lines& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

template <class Change>
Variation each_line(const Log& log, std::string name, Change change, std::string_view end = "\n") {
  Lines lines = log.lines;
  for (std::string& line : lines) line = change(line);
  return {std::move(name), join(lines, end), log.decisive};
}

// --- Wrapped: a relay puts its own words before every line and leaves the message as it is ---

/// The message of a line that comes from QNN's own log, without what its caller put before it.
struct QnnBody {
  char level = 'E';
  bool marked = false;  // the level stands in the message: "<E> "
  std::string message;
};

inline std::optional<QnnBody> marked_body(std::string_view text) {
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    if (at + 4 > text.size() || text[at + 2] != '>' || text[at + 3] != ' ') continue;
    if (std::string_view("EWIVD").find(text[at + 1]) == std::string_view::npos) continue;
    return QnnBody{text[at + 1], true, std::string(text.substr(at + 4))};
  }
  return std::nullopt;
}

inline std::optional<QnnBody> qnn_body(std::string_view line) {
  if (std::optional<QnnBody> body = marked_body(line)) return body;
  // Lines of the graph preparation and of the operator checks carry no level; only MNN's callback shows that they are
  // QNN's.
  const std::size_t callback = line.find("QNN_LOG[");
  const std::size_t message = callback == std::string_view::npos ? callback : line.find("]: ", callback);
  if (message == std::string_view::npos) return std::nullopt;
  return QnnBody{'E', false, std::string(line.substr(message + 3))};
}

inline std::string with_level(const QnnBody& body, bool names_library) {
  if (!body.marked) return body.message;
  return std::string(names_library ? "QnnDsp <" : " <") + body.level + "> " + body.message;
}

inline std::string mnn_callback(const QnnBody& body) { return "QNN_LOG[1]: " + with_level(body, false); }
inline std::string tool_clock(const QnnBody& body) { return "   117.3ms [ ERROR ] " + with_level(body, true); }
inline std::string onnxruntime(const QnnBody& body) {
  return "2026-05-14 12:00:00.000100200 [V:onnxruntime:Default, qnn_backend_manager.cc:452 QnnLogging] " +
         with_level(body, false);
}
inline std::string executorch(const QnnBody& body) { return "[ERROR] [Qnn ExecuTorch]: " + with_level(body, true); }
inline std::string native_logcat(const QnnBody& body) {
  return std::string("05-14 12:00:00.001  4242  4243 ") + body.level + " QnnDsp  : " + with_level(body, true);
}
inline std::string own_callback(const QnnBody& body) {
  return "[2026-05-14 12:00:00] [error] " + with_level(body, false);
}

inline std::vector<Variation> wrapped(const Log& log) {
  std::vector<Variation> all;
  const auto relay = [&](const char* name, const std::string& prefix) {
    all.push_back(each_line(log, name, [&](const std::string& line) { return prefix + line; }));
  };
  relay("logcat of stdout", "05-14 12:00:00.001  4242  4243 I stdout  : ");
  relay("brief logcat", "I/stdout  ( 4242): ");
  relay("build server", "2026-05-14T12:00:00.0010020Z ");
  relay("compose", "runner-1  | ");
  relay("quoted mail", "> ");

  const auto rewrap = [&](const char* name, std::string (*wrapper)(const QnnBody&)) {
    all.push_back(each_line(log, name, [&](const std::string& line) {
      const std::optional<QnnBody> body = qnn_body(line);
      return body ? wrapper(*body) : line;
    }));
  };
  if (!std::any_of(log.lines.begin(), log.lines.end(),
                   [](const std::string& line) { return qnn_body(line).has_value(); }))
    return all;
  rewrap("MNN's callback", mnn_callback);
  rewrap("tool clock", tool_clock);
  rewrap("ONNX Runtime", onnxruntime);
  rewrap("ExecuTorch", executorch);
  rewrap("native logcat", native_logcat);
  rewrap("private callback", own_callback);
  return all;
}

// --- Encoded: the same words in other bytes, as editors, terminals and cut transfers leave them ---

inline std::string tabs_for_spaces(const std::string& line) {
  std::string result;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t end = std::min(line.find_first_not_of(' ', i), line.size());
    if (end - i >= 2) result += '\t';
    if (end - i == 1) result += ' ';
    if (end == i)
      result += line[i++];
    else
      i = end;
  }
  return result;
}

/// What `grep --color=always` leaves around the words that one looks for in such a log.
inline std::string with_matches_coloured(std::string line) {
  constexpr std::string_view kBefore = "\x1b[01;31m\x1b[K", kAfter = "\x1b[m\x1b[K";
  for (const std::string_view word : {std::string_view("rror"), std::string_view("ailed"), std::string_view("QNN")}) {
    for (std::size_t at = line.find(word); at != std::string::npos;) {
      line.insert(at + word.size(), kAfter);
      line.insert(at, kBefore);
      at = line.find(word, at + kBefore.size() + word.size() + kAfter.size());
    }
  }
  return line;
}

inline std::vector<Variation> encoded(const Log& log) {
  std::vector<Variation> all;
  const auto same = [](const std::string& line) { return line; };
  all.push_back(each_line(log, "CRLF", same, "\r\n"));
  all.push_back(each_line(log, "colours", [](const std::string& line) { return "\x1b[1;31m" + line + "\x1b[0m"; }));
  all.push_back(each_line(log, "matches coloured", with_matches_coloured));
  all.push_back(each_line(log, "tab before", [](const std::string& line) { return "\t" + line; }));
  all.push_back(each_line(log, "tabs for spaces", tabs_for_spaces));
  all.push_back(each_line(log, "spaces after", [](const std::string& line) { return line + "   \t"; }));
  all.push_back(each_line(log, "invalid UTF-8 after", [](const std::string& line) { return line + " \xc3\x28\xff"; }));
  all.push_back(each_line(log, "NUL after", [](const std::string& line) { return line + std::string(1, '\0'); }));
  all.push_back({"byte order mark", "\xef\xbb\xbf" + join(log.lines), log.decisive});
  std::string unended = join(log.lines);
  if (!unended.empty()) unended.pop_back();
  all.push_back({"no newline at the end", unended, log.decisive});
  return all;
}

// --- Noisy: lines that good runs print too, and lines of programs that have nothing to do with the run ---

inline constexpr std::string_view kNoise[] = {
    "05-14 12:00:00.001  1201  1340 I SystemUI: notification shade collapsed",
    "05-14 12:00:00.002   977   990 E storaged: uid io stats read failed, trying again in 60 s",
    "05-14 12:00:00.003   811   811 W Bluetooth: link quality 61, no action",
    "2026-05-14 12:00:00.004  2214-2214  LocationProvider        com.example.maps               D  no fix, keeps the "
    "last one",
    "QnnDsp <W> Performance Estimates unsupported",
    "     0.0ms [WARNING] QnnDsp <W> This META does not have Alloc2 Support",
    "     0.0ms [WARNING]  <W> Async property not supported",
    "     0.0ms [WARNING] QnnDsp <W> Function not called, PrepareLib isn't loaded!",
    "QNN_LOG[1]:  <E> DSP_INFO UNSUPPORTED_KEY: 14",
    "QNN_LOG[1]:  <E> unexpected GraphHtpSettings option 66",
    "[WARNING] [Qnn ExecuTorch]: QnnDsp <W> sg_stubPtr is not null, skip loadRemoteSymbols",
    "[INFO] [Qnn ExecuTorch]: expected magic number: 0x5678abcd but get: 0x2000000",
    "Can't open file:/sys/devices/system/cpu/cpufreq/policy0/affected_cpus",
    "CPU Group: [ 0  1  2  3 ], 300000 - 1804800",
    "The device supports: i8sdot:1, fp16:1, i8mm: 1, sve2: 0, sme2: 0",
    "[ 4121.008123] usb 1-2: new high-speed USB device number 7 using xhci_hcd",
    "--------- beginning of main",
    "make[2]: Nothing to be done for 'all'.",
    "10.0.0.9 - - [14/May/2026:12:00:00 +0000] \"GET /health HTTP/1.1\" 200 2",
};

/// True for a line before which another program's line can stand: one that begins a message, rather than going on with
/// it (an indented line, an empty one, a frame of a backtrace).
inline bool begins_message(const std::string& line) {
  if (line.empty() || line[0] == '#' || line[0] == '\t') return false;
  if (line[0] != ' ') return true;
  const std::size_t clock = line.find_first_not_of(' ');
  return clock != std::string::npos && std::isdigit(static_cast<unsigned char>(line[clock])) &&
         line.find("ms [", clock) != std::string::npos;
}

inline Variation with_noise(const Log& log, std::uint64_t seed, std::uint64_t one_in) {
  std::mt19937_64 random(seed);
  Lines lines;
  LineNumbers decisive;
  for (std::size_t i = 0; i < log.lines.size(); ++i) {
    while (begins_message(log.lines[i]) && random() % one_in == 0)
      lines.emplace_back(kNoise[random() % std::size(kNoise)]);
    lines.push_back(log.lines[i]);
    if (std::find(log.decisive.begin(), log.decisive.end(), i + 1) != log.decisive.end())
      decisive.push_back(lines.size());
  }
  return {"noise, seed " + std::to_string(seed), join(lines), decisive};
}

inline std::vector<Variation> noisy(const Log& log) {
  std::vector<Variation> all;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) all.push_back(with_noise(log, seed, 2 + seed % 3));
  // A long-running phone: hundreds of foreign lines before the first one that matters, and after the last.
  Lines foreign;
  for (std::size_t i = 0; i < 400; ++i) foreign.emplace_back(kNoise[i % std::size(kNoise)]);
  Variation buried{"between 400 lines of noise", join(concatenated(concatenated(foreign, log.lines), foreign)),
                   log.decisive};
  for (std::uint64_t& line : buried.decisive) line += foreign.size();
  all.push_back(std::move(buried));
  return all;
}

// --- Truncated: what is cut off is not needed, for the decisive lines are by definition enough for the class ---

inline Variation cut(const Log& log, std::string name, std::size_t begin, std::size_t end) {
  Variation result{std::move(name), join(slice(log.lines, begin, end)), log.decisive};
  for (std::uint64_t& line : result.decisive) line -= begin;
  return result;
}

inline std::vector<Variation> truncated(const Log& log) {
  std::vector<Variation> all;
  for (const std::size_t kept : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    const std::size_t begin = first_decisive(log) - std::min(first_decisive(log), kept);
    const std::size_t end = last_decisive(log) + 1 + kept;
    const std::string suffix = ", " + std::to_string(kept) + " lines kept";
    all.push_back(cut(log, "head cut off" + suffix, begin, log.lines.size()));
    all.push_back(cut(log, "tail cut off" + suffix, 0, end));
    all.push_back(cut(log, "head and tail cut off" + suffix, begin, end));
  }
  // A line that was being written when the log was taken.
  const std::size_t next = last_decisive(log) + 1;
  if (next < log.lines.size()) {
    Variation broken = cut(log, "next line cut in half", 0, next);
    broken.text += log.lines[next].substr(0, log.lines[next].size() / 2);
    all.push_back(std::move(broken));
  }
  // Only where no decisive line is longer: what stands beyond the edge may be what decides.
  constexpr std::size_t kColumns = 200;
  const auto fits = [&](std::uint64_t line) { return log.lines[line - 1].size() <= kColumns; };
  if (std::all_of(log.decisive.begin(), log.decisive.end(), fits))
    all.push_back(each_line(log, "200 columns", [](const std::string& line) { return line.substr(0, kColumns); }));
  return all;
}

// --- Reordered: more than one attempt in one log ---

/// The lines that follow from the decisive ones. A crash is left out: alone it is a finding of its own.
inline Lines consequences(const Log& log) {
  constexpr std::string_view kCrash[] = {"Segmentation",   "Fatal signal", "backtrace", "returncode",          "Abort",
                                         "ssert",          "Traceback",    "File \"",   "Failed to open file", "#0",
                                         "Not registered", "Don't support"};
  Lines result;
  for (const std::string& line : slice(log.lines, last_decisive(log) + 1, last_decisive(log) + 13)) {
    const auto named = [&](std::string_view word) { return line.find(word) != std::string::npos; };
    if (begins_message(line) && std::none_of(std::begin(kCrash), std::end(kCrash), named)) result.push_back(line);
  }
  return result;
}

inline const Lines& sound_run() {
  static const Lines lines = {
      "     0.0ms [  INFO ] QnnDsp <I> Initializing HtpProvider",
      "     3.1ms [  INFO ] QnnDsp <I> Starting stage: Graph Preparation Initializing",
      "     9.0ms [  INFO ] QnnDsp <I> Completed stage: Graph Preparation Initializing (5870 us)",
      "     9.1ms [  INFO ] QnnDsp <I> ====== DDR bandwidth summary ======",
      "     9.1ms [  INFO ] QnnDsp <I> spill_bytes=0",
      "     9.1ms [  INFO ] QnnDsp <I> fill_bytes=0",
      "    12.7ms [VERBOSE] QnnDsp <V> QnnGraph_finalize done. status 0x0",
      "    14.0ms [WARNING] QnnDsp <W> Backend 6 free cleanup called during process exit",
  };
  return lines;
}

inline std::vector<Variation> reordered(const Log& log) {
  std::vector<Variation> all;
  const Lines after = consequences(log);
  // Every line put in front comes again behind its cause: the log shows the same failure twice, the first time without
  // its beginning.
  if (!after.empty()) all.push_back({"consequences of an attempt before", join(concatenated(after, log.lines)), {}});
  all.push_back({"consequences twice", join(concatenated(log.lines, after)), log.decisive});
  all.push_back({"two equal attempts", join(concatenated(log.lines, log.lines)), {}});
  Variation later{"after a sound run", join(concatenated(sound_run(), log.lines)), log.decisive};
  for (std::uint64_t& line : later.decisive) line += sound_run().size();
  all.push_back(std::move(later));
  all.push_back({"before a sound run", join(concatenated(log.lines, sound_run())), log.decisive});
  return all;
}

// --- Repeated: the same refusal for ten nodes or ten graphs is one cause ---

inline std::string with_node(std::string line, const std::string& node, const std::string& other) {
  for (std::size_t at = line.find(node); at != std::string::npos; at = line.find(node, at + other.size()))
    line.replace(at, node.size(), other);
  return line;
}

inline std::vector<Variation> repeated(const Log& log) {
  const std::size_t end = last_decisive(log) + 1;
  const Lines block = slice(log.lines, first_decisive(log), end);
  Lines lines = slice(log.lines, 0, end);
  for (int copy = 1; copy < 10; ++copy)
    for (const std::string& line : block)
      lines.push_back(log.node.empty() ? line : with_node(line, log.node, log.node + "_" + std::to_string(copy)));
  return {{"ten times", join(concatenated(lines, slice(log.lines, end, log.lines.size()))), {}}};
}

}  // namespace qnndbg::logs
