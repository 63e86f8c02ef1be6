#include <algorithm>
#include <charconv>

#include "lint/collect_parts.h"
#include "lint/run_program.h"

namespace qnndbg::lint {
namespace {

constexpr std::chrono::seconds kListLimit{15};    // adb may have to start its server
constexpr std::chrono::seconds kSearchLimit{60};  // a phone greps some 100 MB of libraries

constexpr const char* kDefaultDirectory = "/data/local/tmp";
/// Where firmware keeps QNN libraries of its own, for CPU and DSP.
constexpr const char* kVendorDirectories[] = {"/vendor/lib64", "/vendor/dsp/cdsp", "/vendor/lib/rfsa/adsp"};

constexpr std::size_t kMostLibraries = 512;

/// Lines "soc MODEL", "dir PATH", "bad PATH" and "lib MACHINE BUILD NAME", one per QNN library of the directory named
/// last. Only what Android's toybox has.
std::string phone_script(const std::vector<std::string>& directories) {
  std::string list;
  for (const std::string& directory : directories) list += ' ' + shell_quoted(directory);
  return "echo \"soc $(getprop ro.soc.model 2>/dev/null)\"; for d in" + list +
         R"(; do
if [ -d "$d" ]; then echo "dir $d"; else echo "bad $d"; fi
for f in "$d"/libQnn*.so; do
[ -f "$f" ] || continue
m=$(od -An -tu1 -j18 -N2 "$f" 2>/dev/null | tr -s ' ' ' ')
b=$(grep -aoEm1 'v[0-9]+\.[0-9]+\.[0-9]+\.[0-9]{6,14}(_[0-9]+)?' "$f" 2>/dev/null | head -n 1)
echo "lib ${m# }|$b|${f##*/}"
done
done)";
}

/// "183 0": the two bytes of e_machine.
Machine machine_in(std::string_view bytes) {
  const std::vector<std::string> parts = split_list(bytes, ' ');
  unsigned low = 0;
  if (parts.empty() || std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), low).ec != std::errc())
    return Machine::unknown;
  return machine_of(low);  // all machines that matter are below 256
}

std::vector<PhoneDevice> devices_in(std::string_view text) {
  std::vector<PhoneDevice> devices;
  for (std::string line : split_list(text, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || tab == 0) continue;
    devices.push_back({.serial = line.substr(0, tab), .state = line.substr(tab + 1)});
  }
  return devices;
}

void add_library(std::string_view line, LibraryDirectory& directory) {
  const std::vector<std::string> fields = split_list(line, '|');
  if (fields.size() != 3 || directory.libraries.size() == kMostLibraries) return;
  SharedLibrary library{.path = directory.path + '/' + fields[2], .name = fields[2]};
  library.machine = machine_in(fields[0]);
  library.build = find_build_id(fields[1]);
  if (library.machine == Machine::unknown) library.problem = "cannot be read";
  directory.libraries.push_back(std::move(library));
}

/// The directories that the script's answer describes, in its order.
std::vector<LibraryDirectory> directories_in(std::string_view text, std::string& soc) {
  std::vector<LibraryDirectory> directories;
  for (std::string line : split_list(text, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    const std::string rest = line.size() > 4 ? line.substr(4) : std::string();
    if (line.starts_with("soc ")) soc = rest;
    if (line.starts_with("dir ")) directories.push_back({.path = rest});
    if (line.starts_with("bad ")) directories.push_back({.path = rest, .problem = "does not exist on the phone"});
    if (line.starts_with("lib ") && !directories.empty()) add_library(rest, directories.back());
  }
  return directories;
}

void search_phone(const Request& request, Phone& phone, std::vector<Deployment>& deployments) {
  std::vector<std::string> paths = request.phone_directories;
  if (paths.empty()) paths.emplace_back(kDefaultDirectory);
  const std::size_t own_paths = paths.size();
  paths.insert(paths.end(), std::begin(kVendorDirectories), std::end(kVendorDirectories));
  const Result<ProgramOutput> output =
      run_program(phone.adb, {"shell", phone_script(paths)}, kSearchLimit, request.stop);
  if (!output) {
    phone.problem = output.error().message;
    return;
  }
  Deployment own{.place = Place::phone};
  Deployment vendor{.place = Place::phone_vendor};
  for (LibraryDirectory& directory : directories_in(output->text, phone.soc))
    (own.directories.size() < own_paths ? own : vendor).directories.push_back(std::move(directory));
  if (own.directories.empty()) {
    phone.problem = fmt::format("adb shell answered: {}", output->text.substr(0, 200));
    return;
  }
  deployments.push_back(std::move(own));
  deployments.push_back(std::move(vendor));
}

}  // namespace

Phone collect_phone(const Request& request, const Variables& variables, std::vector<Deployment>& deployments) {
  Phone phone;
  phone.asked = request.adb;
  phone.adb = find_program(value_of(variables, "PATH"), "adb");
  phone.serial = value_of(variables, "ANDROID_SERIAL");
  if (!phone.asked || phone.adb.empty()) return phone;
  const Result<ProgramOutput> output = run_program(phone.adb, {"devices"}, kListLimit, request.stop);
  if (!output || output->status != 0) {
    phone.problem = output ? fmt::format("adb devices ended with status {}", output->status) : output.error().message;
    return phone;
  }
  phone.devices = devices_in(output->text);
  const auto ready = std::count_if(phone.devices.begin(), phone.devices.end(),
                                   [](const PhoneDevice& one) { return one.state == "device"; });
  if (ready == 1 || (ready > 1 && !phone.serial.empty())) search_phone(request, phone, deployments);
  return phone;
}

}  // namespace qnndbg::lint
