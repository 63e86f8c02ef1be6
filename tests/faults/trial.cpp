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
      for (Fault& fault : faults_of(program, static_cast<int>(i), rng))
        by_cause_[fault.cause].push_back(std::move(fault));
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
  std::vector<Fault> faults = {};
  std::vector<double> sizes = {};
  Recording recording = {};
};

float max_abs(const Tensor& tensor) {
  float max = 0;
  if (tensor.type() != DType::f32) return max;
  for (float v : tensor.f32()) max = std::max(max, std::fabs(v));
  return max;
}

/// Makes what one seed stands for.
class Preparer {
 public:
  Preparer(std::uint64_t seed, TrialKind kind, HalfRounding constants, const Bounds& bounds)
      : rng_(seed), kind_(kind), constants_(constants), bounds_(bounds) {}

  Result<Prepared> make() {
    auto program = Program::compile(random_network(rng_), constants_);
    if (!program) return fail(program.error());
    out_.program = std::move(*program);
    given_ = random_inputs(out_.program->network(), rng_);
    Result<void> done;
    switch (kind_) {
      case TrialKind::clean: break;
      case TrialKind::fault: done = add_faults(1); break;
      case TrialKind::stacked: done = add_faults(pick(rng_, 2, 3)); break;
      case TrialKind::range: done = leave_range(); break;
    }
    if (!done) return fail(done.error());
    auto recording = run(*out_.program, clones(given_), out_.faults);
    if (!recording) return fail(recording.error());
    out_.recording = std::move(*recording);
    if (kind_ == TrialKind::range) return std::move(out_);
    for (const Fault& fault : out_.faults) {
      auto size = size_in(fault, out_.recording);
      if (!size) return fail(size.error());
      out_.sizes.push_back(*size);
    }
    return std::move(out_);
  }

 private:
  Result<void> add_faults(int wanted) {
    FaultSource source(*out_.program, rng_);
    // Most mistakes are gross. In a third of the runs the mildest of several is taken.
    const int candidates = wanted == 1 && chance(rng_, 0.33) ? 10 : 1;
    std::optional<Fault> mildest;
    double least = std::numeric_limits<double>::infinity();
    int seen = 0;
    for (int k = 0; k < kAttempts && static_cast<int>(out_.faults.size()) < wanted; ++k) {
      const Fault& fault = source.draw();
      auto size = effect(fault, wanted > 1);
      if (!size) return fail(size.error());
      if (!*size) continue;
      if (!mildest || **size < least) {
        mildest = fault;
        least = **size;
      }
      if (++seen < candidates) continue;
      out_.faults.push_back(std::move(*mildest));
      mildest.reset();
      seen = 0;
    }
    if (mildest && out_.faults.empty()) out_.faults.push_back(std::move(*mildest));
    if (out_.faults.empty()) return fail("no fault fits this network");
    std::sort(out_.faults.begin(), out_.faults.end(), [](const Fault& a, const Fault& b) { return a.op < b.op; });
    return {};
  }

  /// Size of a further fault; nullopt when it does not fit or changes nothing. A wrong input changes what every other
  /// fault meets, so it does not join others.
  Result<std::optional<double>> effect(const Fault& fault, bool joins) const {
    const bool input = out_.program->is_source(fault.op);
    const bool taken =
        std::any_of(out_.faults.begin(), out_.faults.end(), [&](const Fault& f) { return f.op == fault.op; });
    if (taken || (joins && input)) return std::nullopt;
    std::vector<Fault> faults = out_.faults;
    faults.push_back(fault);
    auto recording = run(*out_.program, clones(given_), faults);
    if (!recording) return std::nullopt;  // another shape: QNN would refuse it
    auto size = size_in(fault, *recording);
    if (!size) return fail(size.error());
    if (!input && *size <= 1) {
      auto sound = execute(*out_.program, fault.op, recording->tensors);
      if (!sound) return fail(sound.error());
      const std::vector<int>& outputs = out_.program->op(fault.op).outputs;
      bool changes = false;
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        changes = changes || !same_values(sound->outputs[k], recording->tensors[static_cast<std::size_t>(outputs[k])]);
      }
      if (!changes) return std::nullopt;
    }
    return *size;
  }

  Result<double> size_in(const Fault& fault, const Recording& recording) const {
    if (!out_.program->is_source(fault.op)) return size_of(*out_.program, fault.op, recording, bounds_);
    return std::numeric_limits<double>::infinity();
  }

  /// Multiplies the weights of one operator, in the model as on the device, until its results leave the range of half.
  Result<void> leave_range() {
    auto sound = run(*out_.program, clones(given_), {});
    if (!sound) return fail(sound.error());
    std::vector<int> fitting;
    for (std::size_t i = 0; i < out_.program->network().ops.size(); ++i) {
      const auto* c = std::get_if<Convolution>(&out_.program->network().ops[i].parameters);
      if (c != nullptr && c->fused != Fused::relu6) fitting.push_back(static_cast<int>(i));
    }
    if (fitting.empty()) return {};  // a sound run like any other
    const int op = fitting[static_cast<std::size_t>(pick(rng_, 0, static_cast<int>(fitting.size()) - 1))];
    const float reached = max_abs(sound->tensors[static_cast<std::size_t>(out_.program->op(op).outputs[0])]);
    if (!(reached > 0.01F)) return {};
    const bool over = chance(rng_, 0.5);
    const float factor = (over ? uniform(rng_, 8e4F, 4e5F) : uniform(rng_, 1e-6F, 2e-5F)) / reached;
    Network network = out_.program->network();
    auto& c = std::get<Convolution>(network.ops[static_cast<std::size_t>(op)].parameters);
    for (std::vector<float>* values : {&c.weight, &c.bias}) {
      for (float& v : *values) v *= factor;
      // A constant beyond the range is another matter.
      if (std::any_of(values->begin(), values->end(), [](float v) { return std::fabs(v) > 6e4F; })) return {};
    }
    auto program = Program::compile(std::move(network), constants_);
    if (!program) return fail(program.error());
    if (!run(**program, clones(given_), {})) return {};  // what follows cannot be computed
    out_.program = std::move(*program);
    out_.faults.push_back({op, over ? "fp16_overflow" : "fp16_underflow", fmt::format("weights x {:.3g}", factor)});
    out_.sizes.push_back(std::numeric_limits<double>::infinity());
    return {};
  }

  Rng rng_;
  TrialKind kind_;
  HalfRounding constants_;
  const Bounds& bounds_;
  Prepared out_;
  std::vector<Tensor> given_;
};

/// A sound operator that misses its own bound would be a fault of the generator.
Result<void> check_sound(const Prepared& run, const Bounds& bounds) {
  for (std::size_t i = 0; i < run.program->network().ops.size(); ++i) {
    const int op = static_cast<int>(i);
    const bool faulty = std::any_of(run.faults.begin(), run.faults.end(),
                                    [&](const Fault& f) { return f.op == op && (f.edit || f.tamper); });
    if (faulty || run.program->is_source(op)) continue;
    auto size = size_of(*run.program, op, run.recording, bounds);
    if (!size) return fail(size.error());
    if (*size > 1)
      return fail("generator: sound operator #{} {} is at {:.3g} of its bound", op, type_of(run.program->op(op)),
                  *size);
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
  // A range fault is one of the model: the operator computes it rightly.
  const bool range = !fault.edit && !fault.tamper;
  for (const Finding& finding : diagnosis.findings) {
    const bool fits = range ? finding.kind == FindingKind::range : accuses(finding);
    if (!fits || finding.op_index != fault.op) continue;
    out.found = true;
    out.found_cause = finding.cause;
    out.proven = finding.proven;
    out.evidence = finding.evidence;
    break;
  }
  if (out.found && out.proven) {
    out.cause_right =
        out.found_cause == fault.cause || contains(fault.also, out.found_cause) ||
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
    case TrialKind::range: return "range";
  }
  return "?";
}

std::optional<TrialKind> trial_kind(std::string_view name) {
  for (TrialKind kind : {TrialKind::clean, TrialKind::fault, TrialKind::stacked, TrialKind::range}) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

bool Outcome::localized() const {
  return problem.empty() && false_alarms.empty() &&
         std::all_of(faults.begin(), faults.end(), [](const FaultOutcome& f) { return f.found || !f.must_be_found(); });
}

Outcome run_trial(std::uint64_t seed, TrialKind kind, const fs::path& directory, HalfRounding constants) {
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
  auto prepared = Preparer(seed, kind, constants, *bounds).make();
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
      return f.op == finding.op_index && !f.must_not_be_found() && kind != TrialKind::range;
    });
    if (!meant)
      out.false_alarms.push_back(fmt::format("#{} {} {}: {}: {}", finding.op_index, finding.op_type,
                                             finding.dump_tensor, finding.cause, fmt::join(finding.evidence, "; ")));
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
