#include "faults/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "ops/support/slice_kernel.h"
#include "tensor/half.h"

namespace qnndbg::faults {
namespace {

namespace fs = std::filesystem;

constexpr double kFlushBelow = 0x1p-15;
// How far an fp32 sum of a few hundred terms may be from the exact one, relative to the sum of magnitudes.
constexpr double kSumBlur = 32 * 0x1p-24;

std::size_t u(int i) { return static_cast<std::size_t>(i); }

template <class T>
bool is(const Operator& op) {
  return std::holds_alternative<T>(op.parameters);
}

// --- errors of table look-ups
// -----------------------------------------------------------------------------------------

/// Largest error that was measured of a sound operator, as data/bounds.json has it.
struct MeasuredError {
  double y = 0, max_y = 0, magnitude = 0, absolute = 0;  // as in Bound
};

/// `worst` is in the unit of the leading constant. The rounding to half that follows takes up to one u of it.
MeasuredError measured_error(const nlohmann::json& entry) {
  // Never quite the worst that was seen, as most runs.
  constexpr double kShare = 0.9;
  const double worst = entry.value("worst", 0.0);
  MeasuredError e;
  if (entry.contains("magnitude")) {
    e.magnitude = kShare * (worst - 1);
  } else if (entry.contains("max_y")) {
    e.max_y = kShare * (worst - 1);
  } else if (worst < 1) {
    e.absolute = kShare * worst - kHalfUnitRoundoff;
  } else {
    e.y = kShare * (worst - 1);
  }
  return e;
}

/// Errors by bound key; keys whose results are exact or rounded once are not in it.
const std::map<std::string, MeasuredError, std::less<>>& measured_errors() {
  static const auto table = [] {
    std::map<std::string, MeasuredError, std::less<>> errors;
    std::ifstream file(fs::path(QNNDBG_SOURCE_DIR) / "data" / "bounds.json");
    const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
    if (!json.is_object()) return errors;
    for (const auto& [key, entry] : json["bounds"].items()) {
      const double worst = entry.value("worst", 0.0);
      // 1.001: one rounding. A folded activation repeats that rounding, which the single one already stands for.
      const bool rounded_once = worst <= 1.01 && entry.contains("y");
      const bool exact = worst < 1e-3;
      if (!exact && !rounded_once && key != "FoldedRelu") errors.emplace(key, measured_error(entry));
    }
    return errors;
  }();
  return table;
}

/// A number in -1..1 that depends on the value alone, as the error of a table does.
double table_error(std::string_view key, double value) {
  const float rounded = round_to_htp_half(value, false);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &rounded, sizeof(bits));
  std::uint64_t h = std::hash<std::string_view>{}(key) ^ (bits * 0x9E3779B97F4A7C15ULL);
  h = (h ^ (h >> 31)) * 0xBF58476D1CE4E5B9ULL;
  h ^= h >> 29;
  return static_cast<double>(h >> 11) * 0x1p-52 - 1;
}

/// Copies, selections and comparisons keep small values; arithmetic flushes them.
bool flushes(std::string_view bound) {
  return bound != "exact" && bound != "Cast" && bound != "ReluMinMax" && bound != "FoldedRelu";
}

// --- stages
// -------------------------------------------------------------------------------------------------------------

/// True when MNN's backend builds this node inside the operator.
bool builds_stage(const Program& program, int index, std::string_view name) {
  const Operator& op = program.op(index);
  const PlannedTensor& out = program.tensor(op.outputs[0]);
  const PlannedTensor& in = program.tensor(op.inputs[0]);
  const auto channel_last = [](const PlannedTensor& t) {
    return t.layout == Layout::channel_last && t.spec->dims.size() >= 3;
  };
  const int rank = static_cast<int>(in.spec->dims.size());
  if (const auto* conv = std::get_if<Convolution>(&op.parameters)) {
    if (name == "ReluTensor") return conv->kind != ConvKind::deconvolution && conv->fused != Fused::none;
    // A batch of single pixels is folded into a plane.
    return (name == "InputReshapeTensor" || name == "OutputReshapeTensor") && conv->kind == ConvKind::convolution &&
           conv->kernel_h == 1 && conv->kernel_w == 1 && in.spec->dims[2] * in.spec->dims[3] == 1 &&
           in.spec->dims[0] > 1 && conv->fused == Fused::none;
  }
  if (is<Binary>(op)) {
    const std::size_t small = std::min(rank, static_cast<int>(program.tensor(op.inputs[1]).spec->dims.size()));
    if (name == "stage_0" || name == "stage_1") return small == 0 && out.spec->dims.size() > 1;
    return name.starts_with("stage_") && small > 0 && small < out.spec->dims.size() && channel_last(out);
  }
  if (is<Reshape>(op) || is<Flatten>(op) || is<Squeeze>(op)) {
    return name == "permute_input" ? channel_last(in) : name == "permute_output" && channel_last(out);
  }
  if (const auto* softmax = std::get_if<Softmax>(&op.parameters))
    return name.starts_with("stage") && softmax->axis != -1 && softmax->axis != rank - 1;
  if (const auto* reduction = std::get_if<Reduction>(&op.parameters))
    return name.starts_with("reduce_t") && rank >= 2 && reduction->axes.size() == 1 && reduction->axes[0] == rank - 1;
  if (const auto* unary = std::get_if<Unary>(&op.parameters)) return name == "Stage" && unary->split;
  return name == "Stage" && is<Scale>(op);
}

/// Scale numbers its nodes by a counter, so its stages cannot be told apart by name.
bool stage_is_dumped(const Program& program, int index) { return !is<Scale>(program.op(index)); }

/// Device values of an operator's operands.
struct Operands {
  std::vector<Tensor> owned;
  std::vector<const Tensor*> values;
};

Operands operands_of(const Program& program, int index, const std::vector<Tensor>& tensors) {
  const Operator& op = program.op(index);
  Operands out;
  out.owned.resize(op.inputs.size());
  for (std::size_t k = 0; k < op.inputs.size(); ++k) {
    const PlannedTensor& known = program.tensor(op.inputs[k]);
    if (!known.host) {
      out.values.push_back(&tensors[u(op.inputs[k])]);
    } else if (known.host->type() != DType::f32 || program.plan().ops[u(index)].op->is_parameter(static_cast<int>(k))) {
      out.values.push_back(&*known.host);
    } else {
      out.owned[k] = known.host->clone();
      round_to_half(out.owned[k].f32(), program.constants(), HalfKind::htp);
      out.values.push_back(&out.owned[k]);
    }
  }
  return out;
}

/// The exact values of a stage in double, as far as the fp32 ones could mislead.
Result<std::vector<double>> exact_values(const Stage& stage, const RunContext& context, const StageResult& result) {
  std::vector<double> values;
  if (result.value.type() == DType::i32) {
    values.assign(result.value.i32().begin(), result.value.i32().end());
    return values;
  }
  values.assign(result.value.f32().begin(), result.value.f32().end());
  if (!stage.exact || result.magnitude.empty()) return values;
  std::optional<ElementValue> evaluate;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double room = 0.02 * (kHalfUnitRoundoff * std::fabs(values[i]) + kFlushBelow);
    if (kSumBlur * result.magnitude.f32()[i] <= room) continue;
    if (!evaluate) {
      auto made = stage.exact(context);
      if (!made) return fail(made.error());
      evaluate = std::move(*made);
    }
    values[i] = (*evaluate)(static_cast<std::int64_t>(i));
  }
  return values;
}

/// What the device stores for exact values.
Tensor stored(const Stage& stage, const StageResult& result, const std::vector<double>& exact) {
  Tensor out(result.value.type(), result.value.dims());
  if (out.type() == DType::i32) {
    std::copy(result.value.i32().begin(), result.value.i32().end(), out.i32().begin());
    return out;
  }
  const auto found = measured_errors().find(stage.bound);
  double max_y = 0;
  for (double v : exact) max_y = std::max(max_y, std::fabs(v));
  const bool flush = flushes(stage.bound);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    double v = exact[i];
    // A leaky ReLU's positive side is a copy.
    if (found != measured_errors().end() && !(stage.bound == "Prelu" && v >= 0)) {
      const MeasuredError& e = found->second;
      const double m = result.magnitude.empty() ? 0 : result.magnitude.f32()[i];
      const double reach = (e.y * std::fabs(v) + e.max_y * max_y + e.magnitude * m) * kHalfUnitRoundoff + e.absolute;
      v += reach * table_error(stage.bound, v);
    }
    out.f32()[i] = round_to_htp_half(v, flush);
  }
  return out;
}

/// Walks an operator's stages. `visit(stage, result, exact)` returns the value that later stages read.
template <class Visit>
Result<void> walk(const Program& program, int index, const std::vector<Tensor>& tensors,
                  const std::function<bool(std::string_view)>& has_stage, Visit visit) {
  const PlannedOp& planned = program.plan().ops[u(index)];
  if (!planned.problem.empty()) return fail("{}: {}", program.op(index).name, planned.problem);
  const std::vector<Operand> in = program.plan().operands(index);
  const std::vector<Operand> out = program.plan().outputs(index);
  auto stages = planned.op->lower({.inputs = in, .outputs = out, .dumped = has_stage});
  if (!stages) return fail(stages.error());
  const Operands operands = operands_of(program, index, tensors);
  std::vector<Tensor> values(stages->size());
  for (std::size_t s = 0; s < stages->size(); ++s) {
    const Stage& stage = (*stages)[s];
    std::vector<const Tensor*> inputs;
    for (int from : stage.inputs) inputs.push_back(from >= 0 ? operands.values[u(from)] : &values[u(-1 - from)]);
    const RunContext context{
        .inputs = inputs, .constants = program.constants(), .half = HalfKind::htp, .want_magnitude = true};
    auto result = stage.compute(context);
    if (!result) return fail(result.error());
    auto exact = exact_values(stage, context, *result);
    if (!exact) return fail(exact.error());
    values[s] = visit(stage, *result, *exact);
  }
  return {};
}

/// The largest |device - exact| in units of the bound.
double ratio_of(const Tensor& device, const StageResult& result, const std::vector<double>& exact, const Bound& bound) {
  if (device.size() != static_cast<std::int64_t>(exact.size())) return HUGE_VAL;
  const auto clamped = [](double v) { return std::clamp(v, -kHtpHalfMax, kHtpHalfMax); };
  double max_y = 0;
  for (double v : exact) max_y = std::max(max_y, std::fabs(clamped(v)));
  double worst = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double d = device.type() == DType::i32 ? device.i32()[i] : static_cast<double>(device.f32()[i]);
    const double y = clamped(exact[i]);
    const double m = result.magnitude.empty() ? 0 : result.magnitude.f32()[i];
    const double line =
        (bound.y * std::fabs(y) + bound.max_y * max_y + bound.magnitude * m) * kHalfUnitRoundoff + bound.absolute;
    worst = std::max(worst, d == y ? 0 : std::fabs(d - y) / line);
  }
  return worst;
}

// --- files
// --------------------------------------------------------------------------------------------------------------

std::uint16_t half_bits(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  // HTP's half goes on where binary16 has Inf and NaN.
  if (magnitude >= 65536)
    return static_cast<std::uint16_t>(sign | 0x7C00 | std::lround((magnitude / 65536 - 1) * 1024));
  return float_to_half(value, HalfRounding::nearest);
}

class DumpWriter {
 public:
  explicit DumpWriter(fs::path directory) : directory_(std::move(directory)) {
    fs::create_directories(directory_);
    manifest_ = "index\tname\tfile\tdata_type\tdimensions\tquant_encoding\tscale\toffset\n";
  }

  /// `host`: as fp32, the form of the graph's ends.
  void add(const std::string& name, const Tensor& value, Layout layout, bool host = false) {
    const std::string file = fmt::format("execution_000000_tensor_{:04}_{}.raw", next_, name);
    const int type = value.type() == DType::i32 ? 50 : host ? 562 : 534;
    manifest_ += fmt::format("{}\t{}\t{}\t{}\t{}\t2147483647\t0\t0\n", next_++, name, file, type,
                             value.dims().empty() ? "" : to_string(to_device_dims(value.dims(), layout)));
    std::ofstream out(directory_ / file, std::ios::binary);
    const auto write = [&](const void* data, std::size_t bytes) {
      out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    };
    if (value.type() == DType::i32) {
      write(value.i32().data(), value.i32().size_bytes());
      return;
    }
    std::vector<float> ordered(value.f32().size());
    to_device_order(value.f32(), value.dims(), layout, ordered);
    if (host) {
      write(ordered.data(), ordered.size() * sizeof(float));
      return;
    }
    std::vector<std::uint16_t> bits(ordered.size());
    std::transform(ordered.begin(), ordered.end(), bits.begin(), half_bits);
    write(bits.data(), bits.size() * sizeof(std::uint16_t));
  }

  void finish() { std::ofstream(directory_ / "manifest_000000.tsv", std::ios::binary) << manifest_; }

 private:
  fs::path directory_;
  std::string manifest_;
  int next_ = 0;
};

void write_dump(const Program& program, const Recording& recording, const fs::path& directory) {
  const Network& network = program.network();
  const std::vector<int> outputs = network.outputs();
  DumpWriter writer(directory);
  const auto layout = [&](int t) { return program.tensor(t).layout; };
  const auto is_output = [&](int t) { return std::find(outputs.begin(), outputs.end(), t) != outputs.end(); };
  for (int t : outputs) writer.add(tensor_id(t), recording.tensors[u(t)], layout(t), true);
  for (std::size_t i = 0; i < network.ops.size(); ++i) {
    const Operator& op = network.ops[i];
    if (is<Constant>(op)) continue;
    if (stage_is_dumped(program, static_cast<int>(i))) {
      for (const StageTensor& stage : recording.ops[i].stages)
        writer.add(qnn_node_name(op.name) + "_" + stage.name, stage.value, stage.layout);
    }
    for (int t : op.outputs) {
      const bool integer = recording.tensors[u(t)].type() == DType::i32;
      if (integer && is_output(t)) continue;  // it needs no fp16 side
      const bool end = is<Input>(op) || is_output(t);
      writer.add(tensor_id(t) + (end ? "_cast" : ""), recording.tensors[u(t)], layout(t));
    }
  }
  writer.finish();
}

void write_inputs(const Program& program, const Recording& recording, const fs::path& directory) {
  fs::create_directories(directory);
  nlohmann::json list = nlohmann::json::array();
  std::size_t next = 0;
  for (const Operator& op : program.network().ops) {
    if (!is<Input>(op)) continue;
    const Tensor& value = recording.given[next++];
    const std::string file = op.name + ".raw";
    list.push_back(
        {{"name", op.name}, {"dims", value.dims()}, {"dtype", "float32"}, {"layout", "NCHW"}, {"file", file}});
    std::ofstream(directory / file, std::ios::binary)
        .write(reinterpret_cast<const char*>(value.f32().data()),
               static_cast<std::streamsize>(value.f32().size_bytes()));
  }
  std::ofstream(directory / "inputs.json") << nlohmann::json{{"inputs", list}}.dump(1);
}

}  // namespace

Result<std::unique_ptr<Program>> Program::compile(Network network, HalfRounding constants) {
  test::ModelBytes bytes = to_mnn(network);
  std::unique_ptr<Program> program(new Program(std::move(network), std::move(bytes), constants));
  auto model = Model::parse(program->bytes_.bytes(), "generated.mnn");
  if (!model) return fail(model.error());
  program->model_ = std::make_unique<Model>(std::move(*model));
  program->plan_ = plan_graph(*program->model_, {});
  return program;
}

bool Program::is_source(int index) const { return is<Input>(op(index)) || is<Constant>(op(index)); }

const StageTensor* OpRecord::find_stage(std::string_view name) const {
  const auto found = std::find_if(stages.begin(), stages.end(), [&](const StageTensor& s) { return s.name == name; });
  return found == stages.end() ? nullptr : &*found;
}

float round_to_htp_half(double value, bool flush) {
  const double magnitude = std::fabs(value);
  if (flush && magnitude < kFlushBelow) return 0;
  if (magnitude >= kHtpHalfMax) return static_cast<float>(std::copysign(kHtpHalfMax, value));
  const int exponent = std::max(magnitude == 0 ? -14 : std::ilogb(magnitude), -14);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(magnitude, 10 - exponent)), exponent - 10);
  return static_cast<float>(std::copysign(std::min(rounded, kHtpHalfMax), value));
}

Result<OpRecord> execute(const Program& program, int op, const std::vector<Tensor>& tensors) {
  OpRecord record;
  record.outputs.resize(program.op(op).outputs.size());
  const auto has_stage = [&](std::string_view name) { return builds_stage(program, op, name); };
  bool numbers = true;
  auto done = walk(program, op, tensors, has_stage,
                   [&](const Stage& stage, const StageResult& result, const std::vector<double>& exact) {
                     numbers =
                         numbers && std::all_of(exact.begin(), exact.end(), [](double v) { return std::isfinite(v); });
                     Tensor value = stored(stage, result, exact);
                     if (stage.name.empty()) {
                       record.outputs[u(stage.output)] = value.clone();
                     } else {
                       record.stages.push_back({stage.name, stage.layout, value.clone()});
                     }
                     return value;
                   });
  if (!done) return fail(done.error());
  if (!numbers) return fail("{}: a result is no number", program.op(op).name);
  return record;
}

Result<double> error_in_bounds(const Program& program, int op, const std::vector<Tensor>& tensors,
                               const OpRecord& device, const Bounds& bounds) {
  const bool named = stage_is_dumped(program, op);
  double worst = 0;
  auto done = walk(
      program, op, tensors, [&](std::string_view name) { return named && device.find_stage(name) != nullptr; },
      [&](const Stage& stage, StageResult& result, const std::vector<double>& exact) -> Tensor {
        const StageTensor* dumped = stage.name.empty() ? nullptr : device.find_stage(stage.name);
        if (!stage.name.empty() && dumped == nullptr) return std::move(result.value);
        const Tensor& value = dumped != nullptr ? dumped->value : device.outputs[u(stage.output)];
        worst = std::max(worst, ratio_of(value, result, exact, bounds.of(stage.bound)));
        Tensor read = value.clone();
        // What ran may have cut the same buffer into other extents.
        if (read.size() == result.value.size()) read.reshape(result.value.dims());
        return read;
      });
  if (!done) return fail(done.error());
  return worst;
}

std::optional<Tensor> leading_window(const Tensor& tensor, const Dims& dims) {
  if (tensor.dims().size() != dims.size()) return std::nullopt;
  std::vector<SliceAxis> axes;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (tensor.dims()[k] < dims[k]) return std::nullopt;
    axes.push_back({0, 1, dims[k]});
  }
  return slice(tensor, axes);
}

Result<void> write_run(const Program& program, const Recording& recording, const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return fail("{}: {}", directory.string(), error.message());
  std::ofstream(directory / "model.mnn", std::ios::binary)
      .write(program.file().data(), static_cast<std::streamsize>(program.file().size()));
  write_inputs(program, recording, directory / "input");
  write_dump(program, recording, directory / "dump");
  return {};
}

}  // namespace qnndbg::faults
