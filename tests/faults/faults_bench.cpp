// Thousands of seeded faults: are they localized, is the cause right, are sound runs left alone?
//
//   faults_bench [--faults N] [--stacked N] [--range N] [--clean N] [--seed S] [--jobs N] [--nearest] [--json] [--show
//   N] faults_bench --only-seed N [--kind fault|stacked|range|clean] [--keep DIR] [--nearest]
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "faults/trial.h"

namespace {

using namespace qnndbg::faults;
using qnndbg::HalfRounding;
using Json = nlohmann::json;
namespace fs = std::filesystem;

struct Options {
  int faults = 500, stacked = 100, range = 50, clean = 100;
  std::uint64_t seed = 1;
  int jobs = 2;
  bool nearest = false;
  bool json = false;
  int show = 10;  // failing cases of each kind that are printed
  std::optional<std::uint64_t> only;
  std::string kind = "fault";
  std::string keep;

  HalfRounding constants() const { return nearest ? HalfRounding::nearest : HalfRounding::toward_zero; }
};

struct Job {
  std::uint64_t seed = 0;
  TrialKind kind = TrialKind::clean;
};

std::vector<Job> all_jobs(const Options& o) {
  std::vector<Job> jobs;
  const auto add = [&](TrialKind kind, int count) {
    for (int i = 0; i < count; ++i) jobs.push_back({trial_seed(o.seed, kind, i), kind});
  };
  add(TrialKind::fault, o.faults);
  add(TrialKind::stacked, o.stacked);
  add(TrialKind::range, o.range);
  add(TrialKind::clean, o.clean);
  return jobs;
}

// --- one process per core: the trials share nothing, and a child ends with its own threads
// ------------------------------

Json to_json(const Outcome& o) {
  Json faults = Json::array();
  for (const FaultOutcome& f : o.faults) {
    // An infinite size has no place in JSON.
    faults.push_back({{"op", f.op},
                      {"op_type", f.op_type},
                      {"cause", f.cause},
                      {"what", f.what},
                      {"size", std::min(f.size, 1e30)},
                      {"found", f.found},
                      {"found_cause", f.found_cause},
                      {"proven", f.proven},
                      {"cause_right", f.cause_right},
                      {"evidence", f.evidence}});
  }
  return {{"seed", o.seed},       {"kind", name_of(o.kind)}, {"faults", faults}, {"false_alarms", o.false_alarms},
          {"verdict", o.verdict}, {"problem", o.problem}};
}

Outcome from_json(const Json& j) {
  Outcome o{.seed = j["seed"], .kind = *trial_kind(j["kind"].get<std::string>())};
  for (const Json& f : j["faults"]) {
    o.faults.push_back({.op = f["op"],
                        .op_type = f["op_type"],
                        .cause = f["cause"],
                        .what = f["what"],
                        .size = f["size"],
                        .found = f["found"],
                        .found_cause = f["found_cause"],
                        .proven = f["proven"],
                        .cause_right = f["cause_right"],
                        .evidence = f["evidence"]});
  }
  o.false_alarms = j["false_alarms"].get<std::vector<std::string>>();
  o.verdict = j["verdict"];
  o.problem = j["problem"];
  return o;
}

std::vector<Outcome> run_all(const std::vector<Job>& jobs, const Options& o, const fs::path& directory) {
  const int processes = o.jobs;
  std::vector<pid_t> children;
  const auto results = [&](int k) { return directory / fmt::format("results{}.jsonl", k); };
  const auto current = [&](int k) { return directory / fmt::format("current{}", k); };
  for (int k = 0; k < processes; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      std::ofstream out(results(k));
      const auto step = static_cast<std::size_t>(processes);
      for (std::size_t i = static_cast<std::size_t>(k); i < jobs.size(); i += step) {
        std::ofstream(current(k)) << i;
        out << to_json(run_trial(jobs[i].seed, jobs[i].kind, directory / fmt::format("run{}", k), o.constants()))
            << '\n'
            << std::flush;
      }
      out.close();
      _exit(0);
    }
    children.push_back(child);
  }
  for (int k = 0; k < processes; ++k) {
    int state = 0;
    waitpid(children[static_cast<std::size_t>(k)], &state, 0);
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0) continue;
    std::size_t i = 0;
    std::ifstream(current(k)) >> i;
    fmt::print(stderr, "a process died: --only-seed {} --kind {}\n", jobs[i].seed, name_of(jobs[i].kind));
  }
  std::vector<Outcome> outcomes;
  for (int k = 0; k < processes; ++k) {
    std::ifstream in(results(k));
    for (std::string line; std::getline(in, line);) outcomes.push_back(from_json(Json::parse(line)));
  }
  std::sort(outcomes.begin(), outcomes.end(),
            [](const Outcome& a, const Outcome& b) { return std::pair(a.kind, a.seed) < std::pair(b.kind, b.seed); });
  return outcomes;
}

// --- figures
// ------------------------------------------------------------------------------------------------------------

struct Tally {
  int n = 0, right = 0;
  void count(bool good) {
    ++n;
    right += good ? 1 : 0;
  }
  double share() const { return n == 0 ? 1 : static_cast<double>(right) / n; }
};

constexpr std::array<double, 6> kSizes{1, 2, 5, 20, 100, HUGE_VAL};

std::string size_class(double size) {
  for (std::size_t k = 1; k < kSizes.size(); ++k) {
    if (size < kSizes[k] || k + 1 == kSizes.size()) {
      return k + 1 == kSizes.size() ? fmt::format("from {:g}x", kSizes[k - 1])
                                    : fmt::format("{:g}x to {:g}x", kSizes[k - 1], kSizes[k]);
    }
  }
  return {};
}

struct Figures {
  Tally localized, cause, range;
  int invisible = 0, clean = 0, alarms = 0, problems = 0;
  std::map<std::string, Tally> localized_by, cause_by, localized_by_type, cause_by_type, detected_by_size;
  std::map<std::string, int> alarms_by;
  std::map<std::string, std::map<std::string, int>> confusion;
};

Figures figures_of(const std::vector<Outcome>& outcomes) {
  Figures f;
  for (const Outcome& o : outcomes) {
    if (!o.problem.empty()) {
      ++f.problems;
      continue;
    }
    const std::string group = o.faults.empty() ? "(clean)" : o.faults.front().cause;
    const bool sound = o.kind == TrialKind::clean || o.kind == TrialKind::range;
    if (sound) ++f.clean;
    if (!o.false_alarms.empty()) ++f.alarms_by[group];
    f.alarms += sound && !o.false_alarms.empty() ? 1 : 0;
    for (const FaultOutcome& fault : o.faults) {
      if (o.kind == TrialKind::range) {
        f.range.count(fault.found && o.false_alarms.empty());
        continue;
      }
      if (!fault.must_be_found()) {
        ++f.invisible;
        continue;
      }
      const bool good = fault.found && o.false_alarms.empty();
      f.localized.count(good);
      f.localized_by[fault.cause].count(good);
      f.cause.count(fault.cause_right);
      f.cause_by[fault.cause].count(fault.cause_right);
      f.localized_by_type[fault.op_type].count(good);
      f.cause_by_type[fault.op_type].count(fault.cause_right);
      if (fault.size < 1e30) f.detected_by_size[size_class(fault.size)].count(fault.found);
      ++f.confusion[fault.cause]
                   [fault.found ? (fault.proven ? fault.found_cause : fault.found_cause + "?") : "(missed)"];
    }
  }
  return f;
}

/// Failing cases, the worst kind first; `show` of each kind.
void print_failing(const std::vector<Outcome>& outcomes, int show) {
  const auto print = [&](std::string_view title, auto failing) {
    int seen = 0;
    for (const Outcome& o : outcomes) {
      if (!failing(o)) continue;
      if (seen++ == 0) fmt::print("--- {}\n", title);
      if (seen <= show) fmt::print("{}\n", text_of(o));
    }
    if (seen > show) fmt::print("... and {} more\n", seen - show);
  };
  const auto sound_so_far = [](const Outcome& o) { return o.problem.empty() && o.localized(); };
  const auto any_fault = [](const Outcome& o, auto f) { return std::any_of(o.faults.begin(), o.faults.end(), f); };
  print("could not be made", [](const Outcome& o) { return !o.problem.empty(); });
  print("not localized, or a sound operator accused",
        [](const Outcome& o) { return o.problem.empty() && !o.localized(); });
  print("another cause proven", [&](const Outcome& o) {
    return sound_so_far(o) && any_fault(o, [](const FaultOutcome& f) { return f.proven && !f.cause_right; });
  });
  print("cause not proven", [&](const Outcome& o) {
    return sound_so_far(o) && any_fault(o, [](const FaultOutcome& f) { return f.found && !f.proven; });
  });
}

void print_text(const Figures& f, const std::vector<Outcome>& outcomes, int show) {
  print_failing(outcomes, show);
  fmt::print("\n{:<48} {:>6} {:>10} {:>10} {:>12}\n", "cause", "n", "localized", "cause", "false alarms");
  for (const auto& [cause, tally] : f.localized_by) {
    const auto alarms = f.alarms_by.find(cause);
    fmt::print("{:<48} {:>6} {:>10.4f} {:>10.4f} {:>12}\n", cause, tally.n, tally.share(), f.cause_by.at(cause).share(),
               alarms == f.alarms_by.end() ? 0 : alarms->second);
  }
  fmt::print("\n{:<48} {:>6} {:>10} {:>10}\n", "operator", "n", "localized", "cause");
  for (const auto& [type, tally] : f.localized_by_type)
    fmt::print("{:<48} {:>6} {:>10.4f} {:>10.4f}\n", type, tally.n, tally.share(), f.cause_by_type.at(type).share());
  fmt::print("\nexpected -> found (? = not proven)\n");
  for (const auto& [cause, row] : f.confusion) {
    fmt::print("{:<48}", cause);
    for (const auto& [found, n] : row) fmt::print(" {} {}{}", found, n, found == row.rbegin()->first ? "" : ",");
    fmt::print("\n");
  }
  fmt::print("\nfound, by size in units of the bound\n");
  for (std::size_t k = 0; k + 1 < kSizes.size(); ++k) {
    const std::string name = size_class(kSizes[k]);
    const auto found = f.detected_by_size.find(name);
    if (found != f.detected_by_size.end())
      fmt::print("  {:<14} {} of {}\n", name, found->second.right, found->second.n);
  }
  fmt::print("  below the bound {} (must not be accused)\n", f.invisible);
  fmt::print("out of the range of half: {} of {} recognized\n", f.range.right, f.range.n);
  if (f.problems > 0) fmt::print("{} trials could not be made\n", f.problems);
}

void print_json(const Figures& f) {
  Json by_cause = Json::object();
  for (const auto& [cause, tally] : f.localized_by) {
    by_cause[cause] = {{"n", tally.n},
                       {"localized", tally.right},
                       {"cause_right", f.cause_by.at(cause).right},
                       {"found", f.confusion.at(cause)}};
  }
  Json by_size = Json::object();
  for (const auto& [name, tally] : f.detected_by_size) by_size[name] = {{"n", tally.n}, {"found", tally.right}};
  std::cout << Json{{"localized", f.localized.right},
                    {"faults", f.localized.n},
                    {"cause_right", f.cause.right},
                    {"clean", f.clean},
                    {"false_alarms", f.alarms},
                    {"below_bound", f.invisible},
                    {"range", {{"n", f.range.n}, {"recognized", f.range.right}}},
                    {"problems", f.problems},
                    {"causes", by_cause},
                    {"sizes", by_size}}
                   .dump(1)
            << '\n';
}

/// What `./x` asks of a release; the cause figure is shown, not demanded, because it is a goal of its own.
bool good(const Figures& f) {
  const auto gross = [&](const std::string& name) {
    const auto found = f.detected_by_size.find(name);
    return found == f.detected_by_size.end() || found->second.right == found->second.n;
  };
  return f.localized.share() >= 0.99 && f.range.share() == 1 && f.alarms == 0 && f.problems == 0 &&
         gross(size_class(20)) && gross(size_class(100));
}

int replay(const Options& o, const fs::path& scratch) {
  const Outcome outcome =
      run_trial(*o.only, *trial_kind(o.kind), o.keep.empty() ? scratch / "run" : fs::path(o.keep), o.constants());
  std::cout << text_of(outcome) << '\n';
  return outcome.localized() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Seeded faults against diagnose()");
  app.add_option("--faults", o.faults, "runs with one fault")->check(CLI::NonNegativeNumber);
  app.add_option("--stacked", o.stacked, "runs with two or three faults")->check(CLI::NonNegativeNumber);
  app.add_option("--range", o.range, "sound runs that leave the range of half")->check(CLI::NonNegativeNumber);
  app.add_option("--clean", o.clean, "sound runs")->check(CLI::NonNegativeNumber);
  app.add_option("--seed", o.seed, "of the series");
  app.add_option("--jobs", o.jobs, "processes")->check(CLI::Range(1, 64));
  app.add_option("--show", o.show, "failing cases of each kind to print")->check(CLI::NonNegativeNumber);
  app.add_flag("--nearest", o.nearest, "a build of MNN that rounds constants to the nearest half");
  app.add_flag("--json", o.json, "figures as JSON");
  app.add_option("--only-seed", o.only, "one trial again");
  app.add_option("--kind", o.kind, "of that trial")->check(CLI::IsMember({"fault", "stacked", "range", "clean"}));
  app.add_option("--keep", o.keep, "leave that trial's files in this directory, which is emptied first");
  CLI11_PARSE(app, argc, argv);

  const fs::path scratch = fs::temp_directory_path() / fmt::format("qnn-debug-faults-{}", getpid());
  fs::create_directories(scratch);
  int status = 0;
  if (o.only) {
    status = replay(o, scratch);
  } else {
    const std::vector<Job> jobs = all_jobs(o);
    const std::vector<Outcome> outcomes = run_all(jobs, o, scratch);
    const Figures f = figures_of(outcomes);
    if (o.json) {
      print_json(f);
    } else {
      print_text(f, outcomes, o.show);
      fmt::print("localized {}/{} = {:.4f}   cause {}/{} = {:.4f}   false alarms {} on {} clean runs\n",
                 f.localized.right, f.localized.n, f.localized.share(), f.cause.right, f.cause.n, f.cause.share(),
                 f.alarms, f.clean);
    }
    status = outcomes.size() == jobs.size() && good(f) ? 0 : 1;
  }
  std::error_code ignored;
  fs::remove_all(scratch, ignored);
  return status;
}
