#include "faults/trial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "diagnose/diagnose.h"

namespace qnndbg::faults {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 60;

std::vector<Tensor> random_inputs(const Network& network, Rng& rng) {
  std::vector<Tensor> given;
  for (const Operator& op : network.ops) {
    const auto* input = std::get_if<Input>(&op.parameters);
    if (input == nullptr) continue;
    Tensor value = Tensor::f32(input->dims);
    const std::vector<float> values = normal_values(rng, value.size(), 1);
    std::copy(values.begin(), values.end(), value.f32().begin());
    given.push_back(std::move(value));
  }
  return given;
}

std::vector<Tensor> clones(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(t.clone());
  return out;
}

/// Draws faults so that rare causes are as frequent as common ones.
class FaultSource {
 public:
  FaultSource(const Program& program, Rng& rng) : rng_(rng) {
    for (std::size_t i = 0; i < program.network().ops.size(); ++i) {
      for (Fault& fault : faults_of(program, static_cast<int>(i), rng)) by_cause_[fault.cause].push_back(std::move(fault));
    }
  }

  const Fault& draw() {
    auto cause = by_cause_.begin();
    std::advance(cause, pick(rng_, 0, static_cast<int>(by_cause_.size()) - 1));
    return cause->second[static_cast<std::size_t>(pick(rng_, 0, static_cast<int>(cause->second.size()) - 1))];
  }

 private:
  Rng& rng_;
  std::map<std::string, std::vector<Fault>> by_cause_;
};

struct Prepared {
  std::unique_ptr<Program> program;
  std::vector<Fault> faults;
  std::vector<double> sizes;
  Recording recording;
};

Result<double> size_in(const Program& program, const Fault& fault, const Recording& recording, const Bounds& bounds) {
  if (!std::holds_alternative<Input>(program.op(fault.op).parameters))
    return size_of(program, fault.op, recording, bounds);
  return std::numeric_limits<double>::infinity();
}

/// Faults that fit this network and change something.
Result<Prepared> prepare(std::uint64_t seed, TrialKind kind, const Bounds& bounds) {
  Rng rng(seed);
  Prepared out;
  auto program = Program::compile(random_network(rng));
  if (!program) return fail(program.error());
  out.program = std::move(*program);
  const std::vector<Tensor> given = random_inputs(out.program->network(), rng);
  const int wanted = kind == TrialKind::clean ? 0 : kind == TrialKind::fault ? 1 : pick(rng, 2, 3);
  if (wanted > 0) {
    FaultSource source(*out.program, rng);
    for (int k = 0; k < kAttempts && static_cast<int>(out.faults.size()) < wanted; ++k) {
      const Fault& fault = source.draw();
      // A wrong input changes what every other fault meets; it stands alone.
      const bool taken = std::any_of(out.faults.begin(), out.faults.end(), [&](const Fault& f) { return f.op == fault.op; });
      if (taken || (wanted > 1 && std::holds_alternative<Input>(out.program->op(fault.op).parameters))) continue;
      std::vector<Fault> faults = out.faults;
      faults.push_back(fault);
      auto recording = run(*out.program, clones(given), faults);
      if (!recording) continue;  // another shape: QNN would refuse it
      auto size = size_in(*out.program, fault, *recording, bounds);
      if (!size) return fail(size.error());
      auto sound = out.program->is_source(fault.op) ? Result<OpRecord>(OpRecord{})
                                                    : execute(*out.program, fault.op, recording->tensors);
      if (!sound) return fail(sound.error());
      bool changes = out.program->is_source(fault.op);
      for (std::size_t o = 0; o < sound->outputs.size(); ++o) {
        const Tensor& device = recording->tensors[static_cast<std::size_t>(out.program->op(fault.op).outputs[o])];
        changes = changes || (device.type() == DType::f32
                                  ? !std::equal(device.f32().begin(), device.f32().end(), sound->outputs[o].f32().begin())
                                  : !std::equal(device.i32().begin(), device.i32().end(), sound->outputs[o].i32().begin()));
      }
      if (changes) out.faults = std::move(faults);
    }
    if (static_cast<int>(out.faults.size()) < wanted) return fail("no fault fits this network");
    std::sort(out.faults.begin(), out.faults.end(), [](const Fault& a, const Fault& b) { return a.op < b.op; });
  }
  auto recording = run(*out.program, clones(given), out.faults);
  if (!recording) return fail(recording.error());
  out.recording = std::move(*recording);
  for (const Fault& fault : out.faults) {
    auto size = size_in(*out.program, fault, out.recording, bounds);
    if (!size) return fail(size.error());
    out.sizes.push_back(*size);
  }
  return out;
}

/// A sound operator that misses its own bound would be a fault of the generator.
Result<void> check_sound(const Prepared& run, const Bounds& bounds) {
  for (std::size_t i = 0; i < run.program->network().ops.size(); ++i) {
    const int op = static_cast<int>(i);
    const bool faulty = std::any_of(run.faults.begin(), run.faults.end(), [&](const Fault& f) { return f.op == op; });
    if (faulty || run.program->is_source(op)) continue;
    auto size = size_of(*run.program, op, run.recording, bounds);
    if (!size) return fail(size.error());
    if (*size > 1)
      return fail("generator: sound operator #{} {} is at {:.3g} of its bound", op, type_of(run.program->op(op)), *size);
  }
  return {};
}

Result<Diagnosis> diagnose_files(const fs::path& directory, const std::string& arch) {
  auto model = Model::open(directory / "model.mnn");
  if (!model) return fail(model.error());
  auto inputs = read_inputs({(directory / "input" / "inputs.json").string()});
  if (!inputs) return fail(inputs.error());
  DiagnoseOptions options;
  options.dump = directory / "dump";
  options.inputs = std::move(*inputs);
  options.arch = arch;
  options.threads = 1;
  return diagnose(*model, options);
}

bool accuses(const Finding& f) { return f.kind == FindingKind::bug || f.kind == FindingKind::input; }

bool contains(const std::vector<std::string>& list, const std::string& id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

FaultOutcome outcome_of(const Prepared& prepared, std::size_t k, const Diagnosis& diagnosis, const Bounds& bounds) {
  const Fault& fault = prepared.faults[k];
  FaultOutcome out{.op = fault.op,
                   .op_type = type_of(prepared.program->op(fault.op)),
                   .cause = fault.cause,
                   .what = fault.what,
                   .size = prepared.sizes[k]};
  for (const Finding& finding : diagnosis.findings) {
    if (!accuses(finding) || finding.op_index != fault.op) continue;
    out.found = true;
    out.found_cause = finding.cause;
    out.proven = finding.proven;
    out.evidence = finding.evidence;
    break;
  }
  if (out.found && out.proven) {
    out.cause_right = out.found_cause == fault.cause || contains(fault.also, out.found_cause) ||
                      contains(equivalent_causes(*prepared.program, fault, prepared.recording, bounds), out.found_cause);
  }
  return out;
}

}  // namespace

std::string_view name_of(TrialKind kind) {
  switch (kind) {
    case TrialKind::clean: return "clean";
    case TrialKind::fault: return "fault";
    case TrialKind::stacked: return "stacked";
  }
  return "?";
}

std::optional<TrialKind> trial_kind(std::string_view name) {
  for (TrialKind kind : {TrialKind::clean, TrialKind::fault, TrialKind::stacked}) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

bool Outcome::localized() const {
  return problem.empty() && false_alarms.empty() && std::all_of(faults.begin(), faults.end(), [](const FaultOutcome& f) {
           return f.found || !f.must_be_found();
         });
}

Outcome run_trial(std::uint64_t seed, TrialKind kind, const fs::path& directory) {
  Outcome out{.seed = seed, .kind = kind};
  std::error_code ignored;
  fs::remove_all(directory, ignored);
  // Which architecture the user names must not matter for what is measured.
  const std::string arch = seed % 3 == 0 ? "" : seed % 3 == 1 ? "v75" : "v79";
  auto bounds = Bounds::load(arch.empty() ? "unknown" : arch, 1);
  const auto failed = [&out](const Error& error) {
    out.problem = error.message;
    return out;
  };
  if (!bounds) return failed(bounds.error());
  auto prepared = prepare(seed, kind, *bounds);
  if (!prepared) return failed(prepared.error());
  if (auto sound = check_sound(*prepared, *bounds); !sound) return failed(sound.error());
  if (auto written = write_run(*prepared->program, prepared->recording, directory); !written)
    return failed(written.error());
  auto diagnosis = diagnose_files(directory, arch);
  if (!diagnosis) return failed(diagnosis.error());

  out.verdict = name_of(diagnosis->verdict);
  for (std::size_t k = 0; k < prepared->faults.size(); ++k)
    out.faults.push_back(outcome_of(*prepared, k, *diagnosis, *bounds));
  for (const Finding& finding : diagnosis->findings) {
    if (!accuses(finding)) continue;
    const bool meant = std::any_of(out.faults.begin(), out.faults.end(), [&](const FaultOutcome& f) {
      return f.op == finding.op_index && !f.must_not_be_found();
    });
    if (!meant)
      out.false_alarms.push_back(fmt::format("#{} {} {}: {}: {}", finding.op_index, finding.op_type, finding.dump_tensor,
                                             finding.cause, fmt::join(finding.evidence, "; ")));
  }
  // An operator that could not be judged would hide whatever is wrong with it.
  for (const NotJudged& skipped : diagnosis->coverage.not_judged)
    out.problem = fmt::format("#{} {} was not judged: {}", skipped.op_index, skipped.op_type, skipped.reason);
  return out;
}

std::uint64_t trial_seed(std::uint64_t series, TrialKind kind, int index) {
  std::seed_seq mix{series, static_cast<std::uint64_t>(kind), static_cast<std::uint64_t>(index)};
  std::array<std::uint32_t, 2> words{};
  mix.generate(words.begin(), words.end());
  return static_cast<std::uint64_t>(words[0]) << 32 | words[1];
}

std::string text_of(const Outcome& outcome) {
  std::string text = fmt::format("--only-seed {} --kind {}", outcome.seed, name_of(outcome.kind));
  if (!outcome.problem.empty()) text += "\n  problem: " + outcome.problem;
  for (const FaultOutcome& f : outcome.faults) {
    text += fmt::format("\n  #{} {} {} ({}), size {:.4g}: {}{}", f.op, f.op_type, f.cause, f.what, f.size,
                        f.found ? f.found_cause : "not found", f.proven ? " (proven)" : "");
    for (const std::string& line : f.evidence) text += "\n    " + line;
  }
  for (const std::string& alarm : outcome.false_alarms) text += "\n  false alarm: " + alarm;
  return text;
}

}  // namespace qnndbg::faults
