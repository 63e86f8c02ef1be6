// A QNN library for tests, loaded as the real one is. It reads what it is given at the offsets of QNN's documented
// layouts, written down here a second time and in another way than in src/qnn/abi.h, and writes what it understood to
// the log. The variable FAKE_QNN says how it behaves: "core=2.40,htp=5.51,backend=6,crash=graphFinalize,..."
//
//   core, htp, system  API versions            backend  id of the provider     providers  how many
//   null=SLOT          that function is absent  refuse   type of nodes that are refused
//   crash, hang, exit  function in which it does that    print    a text for standard error
//   soc                largest SoC number that is known
#include <unistd.h>

#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

using Status = std::uint64_t;

std::string setting(const std::string& name, const std::string& otherwise = "") {
  const char* const all = std::getenv("FAKE_QNN");
  const std::string text = "," + std::string(all == nullptr ? "" : all) + ",";
  const std::size_t at = text.find("," + name + "=");
  if (at == std::string::npos) return otherwise;
  const std::size_t begin = at + name.size() + 2;
  return text.substr(begin, text.find(',', begin) - begin);
}

/// Two numbers with a dot between.
std::pair<std::uint32_t, std::uint32_t> version(const std::string& name, const char* otherwise) {
  unsigned major = 0;
  unsigned minor = 0;
  std::sscanf(setting(name, otherwise).c_str(), "%u.%u", &major, &minor);
  return {major, minor};
}

bool old_layout() { return version("core", "2.40").second < 10; }
std::size_t tensor_stride() { return old_layout() ? 120 : 144; }
std::size_t param_stride() { return old_layout() ? 136 : 160; }
std::size_t scalar_value() { return old_layout() ? 4 : 8; }

using Callback = void (*)(const char*, std::uint32_t, std::uint64_t, std::va_list);
Callback log_callback = nullptr;
std::uint32_t log_level = 0;

__attribute__((format(printf, 2, 3))) void log(std::uint32_t level, const char* format, ...) {
  if (log_callback == nullptr || level > log_level) return;
  std::va_list arguments;
  va_start(arguments, format);
  log_callback(format, level, 1, arguments);
  va_end(arguments);
}

void misbehave(const char* function) {
  if (setting("crash") == function) {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would catch it
    std::raise(SIGSEGV);
  }
  if (setting("exit") == function) ::_exit(3);
  if (setting("hang") == function)
    while (true) ::pause();
  if (setting("print") == function) std::fprintf(stderr, "words of the library\n");
}

template <class T>
T at(const void* base, std::size_t offset) {
  T value;
  std::memcpy(static_cast<void*>(&value), static_cast<const char*>(base) + offset, sizeof value);
  return value;
}

std::string text_at(const void* base, std::size_t offset) {
  const char* text = at<const char*>(base, offset);
  return text == nullptr ? "(null)" : text;
}

std::string encoding_words(const char* params) {
  if (at<std::uint32_t>(params, 0) != 1) return "";
  const auto kind = at<std::uint32_t>(params, 4);
  char words[128] = "?";
  if (kind == 0) {
    std::snprintf(words, sizeof words, " q=%g%+d", at<float>(params, 8), at<std::int32_t>(params, 12));
  } else if (kind == 1) {
    const char* values = at<const char*>(params, 16);
    const auto count = at<std::uint32_t>(params, 12);
    std::snprintf(words, sizeof words, " axis=%d n=%u last=%g%+d", at<std::int32_t>(params, 8), count,
                  at<float>(values, (count - 1) * 8), at<std::int32_t>(values, (count - 1) * 8 + 4));
  } else if (kind == 2) {
    std::snprintf(words, sizeof words, " bits=%u q=%g%+d", at<std::uint32_t>(params, 8), at<float>(params, 12),
                  at<std::int32_t>(params, 16));
  } else if (kind == 3) {
    const auto count = at<std::uint32_t>(params, 16);
    const char* offsets = at<const char*>(params, 32);
    std::snprintf(words, sizeof words, " bits=%u axis=%d n=%u last=%g%+d", at<std::uint32_t>(params, 8),
                  at<std::int32_t>(params, 12), count, at<float>(at<const char*>(params, 24), (count - 1) * 4),
                  offsets == nullptr ? 0 : at<std::int32_t>(offsets, (count - 1) * 4));
  } else if (kind == 5) {
    const char* blocks = at<const char*>(params, 8);
    std::snprintf(words, sizeof words, " blocks axis=%d per=%u bits=%u storage=%u first=%g factor=%u",
                  at<std::int32_t>(blocks, 0), at<std::uint32_t>(blocks, 16), at<std::uint32_t>(blocks, 20),
                  at<std::uint32_t>(blocks, 24), at<float>(at<const char*>(blocks, 8), 0),
                  at<std::uint8_t>(at<const char*>(blocks, 32), 1));
  }
  return words;
}

/// "x#7 kind=0 type=0x216 2x3 bytes=12 first=1"
std::string tensor_words(const char* tensor) {
  std::string words = text_at(tensor, 16) + "#" + std::to_string(at<std::uint32_t>(tensor, 8));
  char numbers[96];
  std::snprintf(numbers, sizeof numbers, " v%u kind=%u type=%#x ", at<std::uint32_t>(tensor, 0),
                at<std::uint32_t>(tensor, 24), at<std::uint32_t>(tensor, 32));
  words += numbers;
  const char* dims = at<const char*>(tensor, 88);
  for (std::uint32_t i = 0; i < at<std::uint32_t>(tensor, 80); ++i)
    words += (i == 0 ? "" : "x") + std::to_string(at<std::uint32_t>(dims, i * 4));
  words += encoding_words(tensor + 40);
  if (const char* data = at<const char*>(tensor, 104); data != nullptr)
    words += " bytes=" + std::to_string(at<std::uint32_t>(tensor, 112)) +
             " first=" + std::to_string(at<std::uint8_t>(data, 0));
  return words;
}

std::string param_words(const char* param) {
  std::string words = text_at(param, 8) + "=";
  if (at<std::uint32_t>(param, 0) == 1) return words + "[" + tensor_words(param + 16) + "]";
  const auto type = at<std::uint32_t>(param, 16);
  const char* value = param + 16 + scalar_value();
  char number[64] = "?";
  if (type == 0x508) std::snprintf(number, sizeof number, "bool:%u", at<std::uint8_t>(value, 0));
  if (type == 0x032) std::snprintf(number, sizeof number, "i32:%d", at<std::int32_t>(value, 0));
  if (type == 0x132) std::snprintf(number, sizeof number, "u32:%u", at<std::uint32_t>(value, 0));
  if (type == 0x232) std::snprintf(number, sizeof number, "f32:%g", at<float>(value, 0));
  return words + number;
}

/// Passed by value, 80 bytes.
struct OpConfig {
  std::uint64_t words[10];
};

std::string node_words(const OpConfig& node) {
  const char* base = reinterpret_cast<const char*>(&node);
  std::string words = text_at(base, 16) + "::" + text_at(base, 24) + " " + text_at(base, 8);
  for (std::uint32_t i = 0; i < at<std::uint32_t>(base, 32); ++i)
    words += " | " + param_words(at<const char*>(base, 40) + i * param_stride());
  for (std::uint32_t i = 0; i < at<std::uint32_t>(base, 48); ++i)
    words += " | in " + tensor_words(at<const char*>(base, 56) + i * tensor_stride());
  for (std::uint32_t i = 0; i < at<std::uint32_t>(base, 64); ++i)
    words += " | out " + tensor_words(at<const char*>(base, 72) + i * tensor_stride());
  return words;
}

bool is_refused(const OpConfig& node) { return !setting("refuse").empty() && text_at(&node, 24) == setting("refuse"); }

/// An address that stands for an object.
void* handle(std::size_t number) {
  static char objects[0x80];
  return &objects[number];
}

Status log_create(Callback callback, std::uint32_t level, void** out) {
  misbehave("logCreate");
  log_callback = callback;
  log_level = level;
  *out = handle(0x10);
  return 0;
}
Status log_free(void*) { return 0; }

Status backend_create(void* logger, void*, void** out) {
  misbehave("backendCreate");
  if (logger != handle(0x10)) return 4002;
  *out = handle(0x20);
  return 0;
}
Status backend_free(void*) { return 0; }

Status build_id(const char** id) {
  *id = "v2.99.0.260101000000";
  return 0;
}

Status operations(void*, std::uint32_t* count, const void** list) {
  static const char* const names[] = {"qti.aisw", "Relu", nullptr, "qti.aisw", "Conv2d", "cpu"};
  *count = 2;
  *list = static_cast<const void*>(names);
  return 0;
}

Status validate(void* backend, OpConfig node) {
  misbehave("backendValidateOpConfig");
  if (backend != handle(0x20)) return 4002;
  log(1, " <E> %s\n", node_words(node).c_str());
  return is_refused(node) ? 0xABCD000000000000U | 3110U : 0;
}

/// SoC and architecture, read where a library of this HTP API version looks for them.
Status device_create(void*, const void** configs, void** out) {
  misbehave("deviceCreate");
  const std::size_t where = version("htp", "5.51").second <= 30 ? 4 : 8;
  std::uint32_t soc = 30;
  std::uint32_t arch = 68;
  for (; configs != nullptr && *configs != nullptr; ++configs) {
    const void* custom = at<const void*>(*configs, 8);
    const auto option = at<std::uint32_t>(custom, 0);
    if (option == 0) soc = at<std::uint32_t>(custom, where);
    if (option == 1) arch = at<std::uint32_t>(custom, where + 4);
    if (option == 1 && at<std::uint32_t>(custom, where) != 0) return 14001;
  }
  log(1, " <E> device soc=%u arch=%u\n", soc, arch);
  if (soc > static_cast<unsigned>(std::atoi(setting("soc", "90").c_str()))) return 14001;
  if (soc == 57)
    log(2,
        " <W> Arch 68 set by custom config is different from arch associated with SoC 57, will overwrite it to 75\n");
  *out = handle(0x30);
  return 0;
}
Status device_free(void*) { return 0; }

struct Graph {
  std::vector<std::string> nodes;
  std::uint32_t next_id = 1;
};
Graph graph;

Status context_create(void*, void* device, void*, void** out) {
  if (device != handle(0x30)) return 5000;
  *out = handle(0x40);
  return 0;
}
Status context_free(void*, void*) { return 0; }

Status graph_create(void*, const char* name, const void** configs, void** out) {
  graph = {};
  std::string words;
  for (; configs != nullptr && *configs != nullptr; ++configs) {
    const void* custom = at<const void*>(*configs, 8);
    const auto option = at<std::uint32_t>(custom, 0);
    char text[64] = "";
    if (option == 2) std::snprintf(text, sizeof text, " precision=%u", at<std::uint32_t>(custom, 8));
    if (option == 1)
      std::snprintf(text, sizeof text, " optimization=%u:%g", at<std::uint32_t>(custom, 8), at<float>(custom, 12));
    words += text;
  }
  log(1, " <E> graph %s%s\n", name, words.c_str());
  *out = handle(0x50);
  return 0;
}

Status tensor_create(void*, char* tensor) {
  misbehave("tensorCreateGraphTensor");
  const std::uint32_t id = graph.next_id++;
  std::memcpy(tensor + 8, &id, sizeof id);
  return 0;
}

Status add_node(void*, OpConfig node) {
  misbehave("graphAddNode");
  if (is_refused(node)) return 6005;
  graph.nodes.push_back(node_words(node));
  return 0;
}

Status finalize(void*, void*, void*) {
  misbehave("graphFinalize");
  for (const std::string& node : graph.nodes) log(1, " <E> %s\n", node.c_str());
  return setting("refuse") == "finalize" ? 1002 : 0;
}

/// Each output is the first input, each byte plus its position in the list of outputs.
Status execute(void*, const char* inputs, std::uint32_t input_count, const char* outputs, std::uint32_t output_count,
               void*, void*) {
  misbehave("graphExecute");
  if (input_count == 0) return 6000;
  const char* from = at<const char*>(inputs, 104);
  const auto bytes = at<std::uint32_t>(inputs, 112);
  log(1, " <E> execute %u in %u out, last in #%u\n", input_count, output_count,
      at<std::uint32_t>(inputs, (input_count - 1) * tensor_stride() + 8));
  for (std::uint32_t i = 0; i < output_count; ++i) {
    const char* output = outputs + i * tensor_stride();
    char* to = at<char*>(output, 104);
    const std::uint32_t size = at<std::uint32_t>(output, 112);
    for (std::uint32_t j = 0; j < size && j < bytes; ++j) to[j] = static_cast<char>(from[j] + static_cast<char>(i));
  }
  return 0;
}

Status binary_size(void*, std::uint64_t* size) {
  *size = 5;
  return 0;
}
Status binary(void*, void* to, std::uint64_t size, std::uint64_t* written) {
  std::memcpy(to, "bytes", size < 5 ? size : 5);
  *written = 5;
  return 0;
}

Status profile_create(void*, std::uint32_t level, void** out) {
  *out = handle(0x60 + level);
  return 0;
}
const std::uint64_t event_ids[] = {100, 200};
const std::uint64_t sub_event_ids[] = {201};
Status profile_events(void*, const std::uint64_t** ids, std::uint32_t* count) {
  *ids = event_ids;
  *count = 2;
  return 0;
}
Status profile_sub_events(std::uint64_t event, const std::uint64_t** ids, std::uint32_t* count) {
  *ids = sub_event_ids;
  *count = event == 200 ? 1 : 0;
  return 0;
}
Status profile_event_data(std::uint64_t event, void* data) {
  const std::uint32_t type = 404;
  const std::uint32_t unit = 3;
  const std::uint64_t value = event * 10;
  const char* name = event == 201 ? "relu:OpId_1 (cycles)" : "total";
  std::memcpy(data, &type, 4);
  std::memcpy(static_cast<char*>(data) + 4, &unit, 4);
  std::memcpy(static_cast<char*>(data) + 8, &value, 8);
  std::memcpy(static_cast<char*>(data) + 16, static_cast<const void*>(&name), 8);
  return 0;
}
Status profile_free(void*) { return 0; }

struct Entry {
  const char* name;
  int slot;
  int old_slot;
  void* function;
};

template <class F>
void* pointer(F function) {
  return reinterpret_cast<void*>(function);
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> list = {
      {"backendCreate", 1, 1, pointer(backend_create)},
      {"backendGetBuildId", 4, 3, pointer(build_id)},
      {"backendGetSupportedOperations", 6, 5, pointer(operations)},
      {"backendValidateOpConfig", 7, 6, pointer(validate)},
      {"backendFree", 8, 7, pointer(backend_free)},
      {"contextCreate", 9, 8, pointer(context_create)},
      {"contextGetBinarySize", 11, 10, pointer(binary_size)},
      {"contextGetBinary", 12, 11, pointer(binary)},
      {"contextFree", 14, 13, pointer(context_free)},
      {"graphCreate", 15, 14, pointer(graph_create)},
      {"graphAddNode", 18, 16, pointer(add_node)},
      {"graphFinalize", 19, 17, pointer(finalize)},
      {"graphExecute", 21, 19, pointer(execute)},
      {"tensorCreateGraphTensor", 24, 22, pointer(tensor_create)},
      {"logCreate", 25, 23, pointer(log_create)},
      {"logFree", 27, 25, pointer(log_free)},
      {"profileCreate", 28, 26, pointer(profile_create)},
      {"profileGetEvents", 30, 27, pointer(profile_events)},
      {"profileGetSubEvents", 31, 28, pointer(profile_sub_events)},
      {"profileGetEventData", 32, 29, pointer(profile_event_data)},
      {"profileFree", 34, 30, pointer(profile_free)},
      {"deviceCreate", 40, 36, pointer(device_create)},
      {"deviceFree", 43, 39, pointer(device_free)},
  };
  return list;
}

/// 552 bytes; slots begin at 40.
alignas(8) char provider[552];

void put(std::size_t offset, std::uint32_t number) { std::memcpy(provider + offset, &number, sizeof number); }

void fill_provider() {
  std::memset(provider, 0, sizeof provider);
  static const char name[] = "FAKE";
  const char* const name_pointer = name;
  put(0, static_cast<std::uint32_t>(std::atoi(setting("backend", "6").c_str())));
  std::memcpy(provider + 8, static_cast<const void*>(&name_pointer), sizeof name_pointer);
  const auto [core_major, core_minor] = version("core", "2.40");
  const auto [htp_major, htp_minor] = version("htp", "5.51");
  put(16, core_major);
  put(20, core_minor);
  put(28, htp_major);
  put(32, htp_minor);
  for (const Entry& entry : entries())
    if (setting("null") != entry.name)
      std::memcpy(provider + 40 + 8 * (old_layout() ? entry.old_slot : entry.slot),
                  static_cast<const void*>(&entry.function), sizeof(void*));
}

// --- System library --------------------------------------------------------------------------------------------------

alignas(8) char system_provider[64];

Status system_create(void** out) {
  *out = handle(0x70);
  return 0;
}
Status system_free(void*) { return 0; }

void put_bytes(char* to, std::size_t offset, const void* from, std::size_t bytes) {
  std::memcpy(to + offset, from, bytes);
}
template <class T>
void put_value(char* to, std::size_t offset, T value) {
  put_bytes(to, offset, static_cast<const void*>(&value), sizeof value);
}

/// One graph `g` with an input `x` of version 1 and outputs `y` and `z` of version 2.
Status system_binary_info(void*, void* buffer, std::uint64_t size, const void** info, std::uint64_t* info_size) {
  misbehave("systemContextGetBinaryInfo");
  if (size < 4 || std::memcmp(buffer, "QNNB", 4) != 0) return 30010;
  alignas(8) static char tensors[3 * 144];
  alignas(8) static char graphs[2 * 88];
  alignas(8) static char description[144];
  static std::uint32_t dims[2] = {2, 5};
  static const std::uint32_t blob[2] = {1, 79};
  static const char* const names[] = {"x", "y", "z"};
  for (std::size_t i = 0; i < 3; ++i) {
    char* tensor = tensors + i * 144;
    put_value(tensor, 0, std::uint32_t{i == 0 ? 1U : 2U});
    put_value(tensor, 16, names[i]);
    put_value(tensor, 24, std::uint32_t{i == 0 ? 0U : 1U});
    put_value(tensor, 32, std::uint32_t{0x416});
    put_value(tensor, 40, std::uint32_t{1});
    put_value(tensor, 44, std::uint32_t{0});
    put_value(tensor, 48, 0.5F);
    put_value(tensor, 52, std::int32_t{-static_cast<std::int32_t>(i)});
    put_value(tensor, 80, std::uint32_t{2});
    put_value(tensor, 88, &dims[0]);
  }
  put_value(graphs, 0, std::uint32_t{3});
  for (std::size_t i = 0; i < 2; ++i) {
    char* one = graphs + i * 88;
    put_value(one, 8, i == 0 ? "g" : "h");
    put_value(one, 16, std::uint32_t{1});
    put_value(one, 24, &tensors[0]);
    put_value(one, 32, std::uint32_t{2});
    put_value(one, 40, &tensors[144]);
  }
  const auto wanted = static_cast<std::uint32_t>(std::atoi(setting("description", "3").c_str()));
  std::memset(description, 0, sizeof description);
  put_value(description, 0, wanted);
  char* body = description + 8;
  put_value(body, 0, std::uint32_t{6});
  put_value(body, 8, "v2.51.0");
  put_value(body, 16, std::uint32_t{2});
  put_value(body, 20, std::uint32_t{40});
  put_value(body, 28, std::uint32_t{5});
  put_value(body, 32, std::uint32_t{51});
  put_value(body, 40, "soc words");
  if (wanted == 3) {
    put_value(body, 88, std::uint32_t{2});
    put_value(body, 96, &graphs[0]);
    put_value(body, 112, std::uint32_t{8});
    put_value(body, 120, &blob[0]);
    put_value(body, 128, std::uint32_t{69});
  } else {
    put_value(body, 112, std::uint32_t{2});
    put_value(body, 120, &graphs[0]);
  }
  *info = description;
  *info_size = 0;
  return 0;
}

}  // namespace

extern "C" Status QnnInterface_getProviders(const void*** list, std::uint32_t* count) {
  misbehave("QnnInterface_getProviders");
  fill_provider();
  static const void* providers[1];
  providers[0] = provider;
  *list = providers;
  *count = static_cast<std::uint32_t>(std::atoi(setting("providers", "1").c_str()));
  return 0;
}

extern "C" Status QnnSystemInterface_getProviders(const void*** list, std::uint32_t* count) {
  static const void* providers[1];
  std::memset(system_provider, 0, sizeof system_provider);
  const auto [major, minor] = version("system", "1.15");
  std::memcpy(system_provider + 16, &major, 4);
  std::memcpy(system_provider + 20, &minor, 4);
  void* functions[4] = {pointer(system_create), pointer(system_binary_info), nullptr, pointer(system_free)};
  std::memcpy(system_provider + 32, static_cast<const void*>(functions), sizeof functions);
  providers[0] = system_provider;
  *list = providers;
  *count = 1;
  return 0;
}
