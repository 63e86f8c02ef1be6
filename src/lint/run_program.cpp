#include "lint/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>

namespace qnndbg::lint {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = std::size_t{256} << 10U;
constexpr std::chrono::milliseconds kPollInterval{20};

std::string reason(int error) { return std::error_code(error, std::generic_category()).message(); }

struct Pipe {
  std::array<int, 2> ends = {-1, -1};

  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(std::size_t which) {
    if (ends.at(which) >= 0) ::close(ends.at(which));
    ends.at(which) = -1;
  }
};

/// Standard input from /dev/null, both outputs into the pipe, a process group and default signals of its own.
Result<pid_t> spawn(const std::string& program, const std::vector<std::string>& arguments, const Pipe& pipe) {
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe.ends[1], STDERR_FILENO);
  sigset_t all_signals;
  sigfillset(&all_signals);
  posix_spawnattr_setsigdefault(&attributes, &all_signals);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  pid_t child = -1;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail("{}: cannot be started: {}", program, reason(error));
  return child;
}

/// Takes what is in the pipe now; text beyond the limit is dropped, so that the writer never waits.
void drain(int descriptor, std::string& text) {
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got <= 0) return;
    text.append(buffer.data(), std::min(static_cast<std::size_t>(got), kMostOutput - text.size()));
  }
}

/// The wait status if the child has ended.
std::optional<int> ended(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, WNOHANG) == child ? std::optional(status) : std::nullopt;
}

/// Reads until the child ends. Not until the end of the pipe: a daemon that it left behind (adb's server) may hold that
/// open for ever.
std::optional<int> wait_for(pid_t child, int descriptor, Clock::time_point deadline, const Stop& stop,
                            std::string& text) {
  while (Clock::now() < deadline && !(stop && stop())) {
    pollfd event{.fd = descriptor, .events = POLLIN, .revents = 0};
    ::poll(&event, 1, static_cast<int>(kPollInterval.count()));
    drain(descriptor, text);
    if (const std::optional<int> status = ended(child)) {
      drain(descriptor, text);
      return status;
    }
    // After the end of the pipe poll() returns at once.
    if ((event.revents & POLLIN) == 0 && (event.revents & POLLHUP) != 0) std::this_thread::sleep_for(kPollInterval);
  }
  return std::nullopt;
}

}  // namespace

Result<ProgramOutput> run_program(const std::string& program, const std::vector<std::string>& arguments,
                                  std::chrono::milliseconds limit, const Stop& stop) {
  Pipe pipe;
  if (::pipe2(pipe.ends.data(), O_CLOEXEC) != 0) return fail("{}: no pipe: {}", program, reason(errno));
  // Only this end: the child must find an ordinary, blocking standard output.
  if (::fcntl(pipe.ends[0], F_SETFL, O_NONBLOCK) != 0) return fail("{}: no pipe: {}", program, reason(errno));
  const Result<pid_t> child = spawn(program, arguments, pipe);
  if (!child) return fail(child.error());
  pipe.close_end(1);
  ProgramOutput output;
  const std::optional<int> status = wait_for(*child, pipe.ends[0], Clock::now() + limit, stop, output.text);
  if (!status) {
    ::kill(-*child, SIGKILL);
    int ignored = 0;
    while (::waitpid(*child, &ignored, 0) < 0 && errno == EINTR) continue;
    if (stop && stop()) return fail("{} was stopped", program);
    return fail("{} did not end within {} s", program, static_cast<double>(limit.count()) / 1000.0);
  }
  output.status = WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
  return output;
}

std::vector<std::string> split_list(std::string_view list, char separator) {
  std::vector<std::string> entries;
  if (list.empty()) return entries;
  for (std::size_t begin = 0;;) {
    const std::size_t end = list.find(separator, begin);
    entries.emplace_back(list.substr(begin, end - begin));
    if (end == std::string_view::npos) return entries;
    begin = end + 1;
  }
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view kHarmless = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./=:,+@%";
  if (!word.empty() && word.find_first_not_of(kHarmless) == std::string_view::npos) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string find_program(std::string_view path_list, std::string_view name) {
  for (const std::string& entry : split_list(path_list, ':')) {
    if (!entry.starts_with('/')) continue;
    const fs::path candidate = fs::path(entry) / name;
    std::error_code error;
    if (fs::is_regular_file(candidate, error) && ::access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return {};
}

}  // namespace qnndbg::lint
