#include "ops/support/convolution_mistakes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>

#include "ops/support/channel_constants.h"
#include "ops/support/least_squares.h"
#include "ops/support/snap.h"

namespace qnndbg {
namespace {

// Elements looked at before a whole tensor is computed: the worst ones, and some anywhere.
constexpr std::size_t kWorst = 10;
constexpr std::size_t kAnywhere = 14;
constexpr std::size_t kPerChannel = 12;
// Work that a search may take, in multiplications; beyond it the search is left out.
constexpr std::int64_t kSearchBudget = 200'000'000;
// The same for a fit of all weights, and how many equations it wants for each.
constexpr std::int64_t kFitBudget = 6'000'000'000;
constexpr std::int64_t kRowsPerUnknown = 3;
// Padding further out than this is not shifted by mistake.
constexpr std::int64_t kMaxShiftedPadding = 15;

/// Where a flat weight index of the device's tensor comes from, both in device order.
using Source = std::function<std::int64_t(std::int64_t)>;

/// Weights as the QNN node stores them: [kh, kw, in, out], the model's axes in the order `axes`.
class DeviceOrder {
 public:
  DeviceOrder(const ConvKind& kind, const ConvGeometry& g, std::int64_t in, std::int64_t out, std::int64_t count)
      : axes_(kind.transposed ? std::array{2, 3, 0, 1} : std::array{2, 3, 1, 0}) {
    model_ = kind.transposed ? Dims{in, out / g.group, g.kernel_h, g.kernel_w}
                             : Dims{out, count / (out * g.kernel_h * g.kernel_w), g.kernel_h, g.kernel_w};
    for (int axis : axes_) device_.push_back(model_[at(axis)]);
  }

  const Dims& model_dims() const { return model_; }
  const Dims& device_dims() const { return device_; }
  std::int64_t count() const { return element_count(model_); }

  std::int64_t to_device(std::int64_t model_index) const {
    const Dims position = unravel(model_index, model_);
    Dims moved;
    for (int axis : axes_) moved.push_back(position[at(axis)]);
    return ravel(moved, device_);
  }
  std::int64_t to_model(std::int64_t device_index) const {
    const Dims position = unravel(device_index, device_);
    Dims moved(4);
    for (std::size_t k = 0; k < 4; ++k) moved[at(axes_[k])] = position[k];
    return ravel(moved, model_);
  }
  /// Model index of the `flat`-th value when the model's axes are laid out in the order `order`.
  std::int64_t in_order(std::int64_t flat, const std::array<int, 4>& order) const {
    Dims extents;
    for (int axis : order) extents.push_back(model_[at(axis)]);
    const Dims position = unravel(flat, extents);
    Dims moved(4);
    for (std::size_t k = 0; k < 4; ++k) moved[at(order[k])] = position[k];
    return ravel(moved, model_);
  }

  static Dims unravel(std::int64_t index, const Dims& dims) {
    Dims position(dims.size());
    for (std::size_t k = dims.size(); k-- > 0;) {
      position[k] = index % dims[k];
      index /= dims[k];
    }
    return position;
  }
  static std::int64_t ravel(const Dims& position, const Dims& dims) {
    std::int64_t index = 0;
    for (std::size_t k = 0; k < dims.size(); ++k) index = index * dims[k] + position[k];
    return index;
  }

 private:
  static std::size_t at(int k) { return static_cast<std::size_t>(k); }
  std::array<int, 4> axes_;
  Dims model_;
  Dims device_;
};

class Search {
 public:
  explicit Search(ConvolutionCase wrong)
      : c_(std::move(wrong)),
        x_(*c_.evidence.context.inputs[0]),
        device_(c_.evidence.device.f32()),
        channels_(c_.out[1]),
        plane_(c_.out[2] * c_.out[3]),
        bias_(c_.right.bias.empty() ? std::vector<float>(static_cast<std::size_t>(channels_), 0.0F) : c_.right.bias),
        order_(c_.kind, c_.right.geometry, x_.dims()[1], channels_, static_cast<std::int64_t>(c_.right.weight.size())) {
    group_by_channel();
  }

  std::vector<Hypothesis> run() {
    dropped_activation();
    bias();
    padding();
    stride();
    dilation();
    weight_scale();
    weight_order();
    other_activation();
    // What fits numbers to the output comes last, and only when nothing plainer was found.
    if (list_.empty()) other_weights();
    return std::move(list_);
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::int64_t channel_of(std::int64_t element) const { return element / plane_ % channels_; }

  double activated(double y) const {
    return c_.right.activation == nullptr ? y : c_.right.activation->f(static_cast<float>(y));
  }

  bool near(std::int64_t element, double sum) const { return close(element, activated(sum)); }

  bool close(std::int64_t element, double y) const {
    y = c_.evidence.clipped(std::clamp(y, -kHtpHalfMax, kHtpHalfMax));
    return std::fabs(device_[at(element)] - y) <= 1.05 * c_.evidence.line.at(y);
  }

  /// True at an end of what a fixed-point output can hold, up to the rounding of decoded elements to float.
  bool saturated(double d) const {
    const auto& clip = c_.evidence.clip;
    const double slack = clip ? 1e-6 * (clip->high - clip->low) : 0;
    return clip && (d <= clip->low + slack || d >= clip->high - slack);
  }

  /// True when the fused activation passes the device's value through, so that it shows the sum before it.
  bool shows_sum(std::int64_t element) const {
    const float d = device_[at(element)];
    if (saturated(d)) return false;
    return c_.right.activation == nullptr || (d > 0 && !(c_.right.activation->name == "ReLU6" && d >= 6));
  }

  double error(std::int64_t element) const {
    const double e = std::fabs(static_cast<double>(device_[at(element)]) - c_.evidence.reference.f32()[at(element)]);
    return std::isfinite(e) ? e / c_.evidence.line.at(c_.evidence.reference.f32()[at(element)]) : HUGE_VAL;
  }

  /// The worst elements of a list and some spread over it.
  std::vector<std::int64_t> sample_of(std::vector<std::int64_t> elements, std::size_t worst, std::size_t spread) const {
    if (elements.size() <= worst + spread) return elements;
    const std::size_t n = elements.size();
    std::vector<std::int64_t> out;
    for (std::size_t k = 0; k < spread; ++k) out.push_back(elements[(k * n / spread + k * 31) % n]);
    std::nth_element(elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(worst), elements.end(),
                     [&](std::int64_t a, std::int64_t b) {
                       const double ea = error(a);
                       const double eb = error(b);
                       return ea != eb ? ea > eb : a < b;
                     });
    out.insert(out.begin(), elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(worst));
    return out;
  }

  void group_by_channel() {
    std::vector<std::int64_t> all(device_.size());
    std::iota(all.begin(), all.end(), 0);
    sample_ = sample_of(std::move(all), kWorst, kAnywhere);
    for (std::int64_t o = 0; o < channels_; ++o) {
      const bool wrong = [&] {
        for (std::int64_t n = 0; n < c_.out[0]; ++n) {
          for (std::int64_t p = 0; p < plane_; ++p) {
            if (error((n * channels_ + o) * plane_ + p) > 1) return true;
          }
        }
        return false;
      }();
      if (wrong) wrong_channels_.push_back(o);
    }
  }

  /// Elements of one channel, sampled.
  std::vector<std::int64_t> channel_sample(std::int64_t o, std::size_t size) const {
    std::vector<std::int64_t> elements;
    for (std::int64_t n = 0; n < c_.out[0]; ++n) {
      for (std::int64_t p = 0; p < plane_; ++p) elements.push_back((n * channels_ + o) * plane_ + p);
    }
    return sample_of(std::move(elements), size / 2, size - size / 2);
  }

  const std::vector<ConvTap>& taps(std::int64_t element) {
    auto [found, added] = taps_.try_emplace(element);
    if (added) {
      const auto make = c_.kind.transposed ? deconvolution_taps : convolution_taps;
      found->second = make(x_, c_.right.geometry, c_.out, element);
    }
    return found->second;
  }

  /// The sum of an element with other weights and the right bias.
  template <class Weight>
  double sum(std::int64_t element, Weight weight) {
    double total = bias_[at(channel_of(element))];
    for (const ConvTap& tap : taps(element)) total += static_cast<double>(weight(tap.weight)) * tap.x;
    return total;
  }

  template <class Weight>
  bool fits(const std::vector<std::int64_t>& elements, Weight weight) {
    return std::all_of(elements.begin(), elements.end(), [&](std::int64_t e) { return near(e, sum(e, weight)); });
  }

  void propose(std::string cause, std::string parameter, std::string used, std::string meant, ConvVariant variant,
               int free_parameters = 0, std::string_view bound = {}) {
    const auto held = std::make_shared<const ConvVariant>(std::move(variant));
    list_.push_back({.cause = std::move(cause),
                     .parameter = std::move(parameter),
                     .used = std::move(used),
                     .meant = std::move(meant),
                     .file = std::string(c_.kind.mnn_file),
                     .free_parameters = free_parameters,
                     .bound = std::string(bound),
                     .compute =
                         [&kind = c_.kind, out = c_.out, held](const RunContext& run) {
                           return run_convolution(kind, *held, *run.inputs[0], out, run.want_magnitude);
                         },
                     .exact = [&kind = c_.kind, out = c_.out, held](const RunContext& run) -> Result<ElementValue> {
                       return [&kind, out, held, x = run.inputs[0]](std::int64_t element) {
                         return convolution_value(kind, *held, *x, out, element);
                       };
                     }});
  }

  // --- activation -------------------------------------------------------------------------------------------------

  void activation(const char* cause, const Activation* other) {
    ConvVariant variant = c_.right;
    variant.activation = other;
    const auto name = [](const Activation* a) { return std::string(a == nullptr ? "none" : a->name); };
    propose(cause, "fused activation", name(other), name(c_.right.activation), std::move(variant), 0,
            other == nullptr          ? std::string_view{}
            : other->bound == "exact" ? std::string_view{}
                                      : other->bound);
  }

  void dropped_activation() {
    if (c_.right.activation == nullptr) return;
    const bool possible = std::all_of(sample_.begin(), sample_.end(), [&](std::int64_t e) {
      return close(e, sum(e, [&](std::int64_t w) { return c_.right.weight[at(w)]; }));
    });
    if (possible) activation("activation_dropped", nullptr);
  }

  /// Functions that the node has no business to apply.
  void other_activation() {
    for (const Activation& other : known_activations()) {
      if (other.name == "none" || &other == c_.right.activation) continue;
      const bool possible = std::all_of(sample_.begin(), sample_.end(), [&](std::int64_t e) {
        const double y = sum(e, [&](std::int64_t w) { return c_.right.weight[at(w)]; });
        const double value = other.f(static_cast<float>(y));
        // Looked-up functions are held to bounds of their own; this only leaves out what is far off.
        return std::fabs(device_[at(e)] - value) <= 0.02 * (1 + std::fabs(value));
      });
      if (possible) activation("activation_wrong", &other);
    }
  }

  // --- bias -------------------------------------------------------------------------------------------------------

  /// What each channel's constant may be, from device - conv(x, w).
  std::vector<Interval> observed_bias() {
    std::vector<Interval> observed(at(channels_));
    ConvVariant without = c_.right;
    without.bias.clear();
    without.activation = nullptr;
    auto product = run_convolution(c_.kind, without, x_, c_.out, false);
    if (!product) return {};
    const std::span<const float> y = product->value.f32();
    for (std::size_t i = 0; i < device_.size(); ++i) {
      const double d = device_[i];
      // fp32 sums of the host are a little off too.
      const double tolerance = c_.evidence.line.at(d) + 0x1p-20 * (std::fabs(d) + std::fabs(y[i]));
      Interval& interval = observed[at(channel_of(static_cast<std::int64_t>(i)))];
      if (shows_sum(static_cast<std::int64_t>(i))) {
        interval.meet(d - y[i] - tolerance, d - y[i] + tolerance);
      } else if (saturated(d)) {
        if (d - c_.evidence.clip->low > c_.evidence.clip->high - d) {
          interval.at_least(d - y[i] - tolerance);
        } else {
          interval.at_most(d - y[i] + tolerance);
        }
      } else if (d <= 0) {
        interval.at_most(tolerance - y[i]);
      } else {
        interval.at_least(6 - y[i] - tolerance);
      }
    }
    return observed;
  }

  void bias() {
    const std::vector<Interval> observed = observed_bias();
    const ChannelConstants constants{c_.unrounded.bias.empty() ? bias_ : c_.unrounded.bias, bias_,
                                     c_.evidence.context.constants.value_or(HalfRounding::nearest)};
    for (ConstantMistake& mistake : explain_constants(constants, observed)) {
      std::string cause = "bias_differs";
      switch (mistake.kind) {
        case ConstantMistakeKind::dropped: cause = "bias_dropped"; break;
        case ConstantMistakeKind::misordered: cause = "bias_misordered"; break;
        case ConstantMistakeKind::scaled: cause = "bias_scale_wrong"; break;
        case ConstantMistakeKind::ignored:
        case ConstantMistakeKind::differs: break;
      }
      ConvVariant variant = c_.right;
      variant.bias = std::move(mistake.values);
      propose(cause, "bias", mistake.used, "the model's bias", std::move(variant), mistake.free_parameters);
    }
  }

  // --- geometry ---------------------------------------------------------------------------------------------------

  bool geometry_fits(const ConvGeometry& g) {
    ConvVariant variant = c_.right;
    variant.geometry = g;
    return std::all_of(sample_.begin(), sample_.end(),
                       [&](std::int64_t e) { return close(e, convolution_value(c_.kind, variant, x_, c_.out, e)); });
  }

  void try_geometry(const char* cause, const char* parameter, const ConvGeometry& g, std::string used,
                    std::string meant) {
    if (!geometry_fits(g)) return;
    ConvVariant variant = c_.right;
    variant.geometry = g;
    propose(cause, parameter, std::move(used), std::move(meant), std::move(variant));
  }

  /// Padding before and after the data along one axis of the right convolution.
  std::int64_t total_padding(bool vertical) const {
    const ConvGeometry& g = c_.right.geometry;
    const std::size_t axis = vertical ? 2 : 3;
    const std::int64_t kernel = vertical ? g.kernel_h : g.kernel_w;
    const std::int64_t stride = vertical ? g.stride_h : g.stride_w;
    const std::int64_t dilation = vertical ? g.dilation_h : g.dilation_w;
    const std::int64_t small = c_.kind.transposed ? x_.dims()[axis] : c_.out[axis];
    const std::int64_t large = c_.kind.transposed ? c_.out[axis] : x_.dims()[axis];
    return (small - 1) * stride + dilation * (kernel - 1) + 1 - large;
  }

  void padding() {
    const ConvGeometry& g = c_.right.geometry;
    const std::int64_t total_h = std::max(total_padding(true), g.pad_top);
    const std::int64_t total_w = std::max(total_padding(false), g.pad_left);
    if (total_h > kMaxShiftedPadding || total_w > kMaxShiftedPadding) return;
    const auto text = [&](std::int64_t top, std::int64_t left) {
      return fmt::format("top {}, bottom {}, left {}, right {}", top, total_padding(true) - top, left,
                         total_padding(false) - left);
    };
    // Beyond what the windows need: height and width exchanged, and rows that the stride leaves over.
    const std::int64_t last_top = std::max(total_h + g.stride_h - 1, g.pad_left);
    const std::int64_t last_left = std::max(total_w + g.stride_w - 1, g.pad_top);
    for (std::int64_t top = 0; top <= last_top; ++top) {
      for (std::int64_t left = 0; left <= last_left; ++left) {
        if (top == g.pad_top && left == g.pad_left) continue;
        ConvGeometry shifted = g;
        shifted.pad_top = top;
        shifted.pad_left = left;
        try_geometry("padding_side_wrong", "pad_amount", shifted, text(top, left), text(g.pad_top, g.pad_left));
      }
    }
  }

  void stride() {
    const ConvGeometry& g = c_.right.geometry;
    // The backend takes the padding after the data from the output's extent, so any stride finds its windows; of a
    // deconvolution another stride changes the extent itself.
    if (c_.kind.transposed) return;
    for (std::int64_t h = 1; h <= 4; ++h) {
      for (std::int64_t w = 1; w <= 4; ++w) {
        if (h == g.stride_h && w == g.stride_w) continue;
        ConvGeometry other = g;
        other.stride_h = h;
        other.stride_w = w;
        try_geometry("stride_wrong", "stride", other, fmt::format("{} x {}", h, w),
                     fmt::format("{} x {}", g.stride_h, g.stride_w));
      }
    }
  }

  void dilation() {
    const ConvGeometry& g = c_.right.geometry;
    for (std::int64_t h = 1; h <= 4; ++h) {
      for (std::int64_t w = 1; w <= 4; ++w) {
        if ((h == g.dilation_h || g.kernel_h == 1) && (w == g.dilation_w || g.kernel_w == 1)) continue;
        ConvGeometry other = g;
        other.dilation_h = h;
        other.dilation_w = w;
        try_geometry("dilation_wrong", "dilation", other, fmt::format("{} x {}", h, w),
                     fmt::format("{} x {}", g.dilation_h, g.dilation_w));
      }
    }
  }

  // --- weights ----------------------------------------------------------------------------------------------------

  /// Output channel of a weight, its position along the model's axes.
  std::int64_t first_weight_of_channel(std::int64_t o) const {
    return o * (static_cast<std::int64_t>(c_.right.weight.size()) / channels_);
  }

  static float rounded(double value, HalfRounding rounding) {
    auto v = static_cast<float>(value);
    round_to_half({&v, 1}, rounding, HalfKind::htp);
    return v;
  }

  /// Least squares of device - bias = s * conv(x, w) over a channel's (or all) sampled elements that show the sum.
  double fitted_scale(const std::vector<std::int64_t>& elements) {
    double cd = 0;
    double cc = 0;
    for (std::int64_t e : elements) {
      if (!shows_sum(e)) continue;
      const double product = sum(e, [&](std::int64_t w) { return c_.right.weight[at(w)]; }) - bias_[at(channel_of(e))];
      cd += product * (device_[at(e)] - bias_[at(channel_of(e))]);
      cc += product * product;
    }
    return cc > 0 ? cd / cc : 0;
  }

  float scaled_weight(std::int64_t w, double factor, ScaledRounding how) const {
    return scaled(c_.unrounded.weight[at(w)], c_.right.weight[at(w)], factor, how);
  }

  /// The factor of one channel that reproduces its sampled elements; nullopt: none.
  std::optional<double> channel_factor(std::int64_t o, ScaledRounding how, std::vector<double>& known) {
    const std::vector<std::int64_t> elements = channel_sample(o, kPerChannel);
    const auto fits_with = [&](double s) {
      return fits(elements, [&](std::int64_t w) { return scaled_weight(w, s, how); });
    };
    for (double s : known) {
      if (fits_with(s)) return s;
    }
    for (double s : snap_candidates(fitted_scale(elements))) {
      if (std::find(known.begin(), known.end(), s) != known.end() || !fits_with(s)) continue;
      known.push_back(s);
      return s;
    }
    return std::nullopt;
  }

  void weight_scale() {
    // All weights zero: the sums are the bias.
    if (fits(sample_, [](std::int64_t) { return 0.0F; })) {
      ConvVariant variant = c_.right;
      std::fill(variant.weight.begin(), variant.weight.end(), 0.0F);
      propose("weights_differ", "weights", "zeros", "the model's weights", std::move(variant));
      return;
    }
    if (static_cast<std::int64_t>(c_.right.weight.size()) * static_cast<std::int64_t>(kPerChannel) > kSearchBudget)
      return;
    const HalfRounding constants = c_.evidence.context.constants.value_or(HalfRounding::nearest);
    for (ScaledRounding how : scaled_roundings(constants)) {
      std::vector<double> known{1.0};
      for (double s : snap_candidates(fitted_scale(sample_))) known.insert(known.begin(), s);
      std::reverse(known.begin(), known.end() - 1);
      std::vector<double> factors;
      for (std::int64_t o = 0; o < channels_; ++o) {
        auto s = channel_factor(o, how, known);
        if (!s) break;
        factors.push_back(*s);
      }
      if (factors.size() != at(channels_)) continue;
      propose_scaled(factors, how);
      return;
    }
  }

  void propose_scaled(const std::vector<double>& factors, ScaledRounding how) {
    std::vector<double> distinct;
    std::int64_t channels = 0;
    for (double s : factors) {
      if (s == 1) continue;
      ++channels;
      if (std::find(distinct.begin(), distinct.end(), s) == distinct.end()) distinct.push_back(s);
    }
    if (distinct.empty()) return;
    ConvVariant variant = c_.right;
    for (std::size_t w = 0; w < variant.weight.size(); ++w) {
      const double s = factors[at(output_channel_of(static_cast<std::int64_t>(w)))];
      if (s != 1) variant.weight[w] = scaled_weight(static_cast<std::int64_t>(w), s, how);
    }
    const std::string used = distinct.size() == 1 ? fmt::format("weights x {:g}", distinct[0])
                                                  : fmt::format("weights x {} factors", distinct.size());
    propose("weight_scale_wrong", "weights",
            channels == channels_ ? used : fmt::format("{} on {} of {} channels", used, channels, channels_),
            "the model's weights", std::move(variant), static_cast<int>(distinct.size()));
  }

  /// Output channel that a weight (model order) belongs to. Grouped deconvolutions share a weight row per group.
  std::int64_t output_channel_of(std::int64_t weight) const {
    const Dims position = DeviceOrder::unravel(weight, order_.model_dims());
    if (!c_.kind.transposed) return position[0];
    const std::int64_t in_per_group = x_.dims()[1] / c_.right.geometry.group;
    return position[0] / in_per_group * (channels_ / c_.right.geometry.group) + position[1];
  }

  void weight_order() {
    try_order("in reverse order", [n = order_.count()](std::int64_t f) { return n - 1 - f; });
    try_axis_orders();
    try_axis_reversals();
    try_rolls();
    try_output_channels();
    try_exchanged_inputs();
    try_exchanged_taps();
  }

  /// Proposes weights whose device tensor holds at f what the right one holds at source(f), if the sample allows it.
  bool try_order(std::string used, const Source& source) {
    const bool possible = fits(
        sample_, [&](std::int64_t w) { return c_.right.weight[at(order_.to_model(source(order_.to_device(w))))]; });
    if (!possible) return false;
    ConvVariant variant = c_.right;
    for (std::int64_t w = 0; w < order_.count(); ++w)
      variant.weight[at(w)] = c_.right.weight[at(order_.to_model(source(order_.to_device(w))))];
    propose("weight_layout_wrong", "weights", std::move(used), "the model's order", std::move(variant));
    return true;
  }

  /// The node's tensor filled with the weights in another order of their axes.
  void try_axis_orders() {
    const std::array<char, 4> names =
        c_.kind.transposed ? std::array{'I', 'O', 'H', 'W'} : std::array{'O', 'I', 'H', 'W'};
    std::array<int, 4> order{0, 1, 2, 3};
    do {
      std::string text;
      for (int axis : order) text += names[at(axis)];
      try_order(fmt::format("in the order {} read as HW{}", text, c_.kind.transposed ? "IO" : "IO"),
                [&](std::int64_t f) { return order_.to_device(order_.in_order(f, order)); });
    } while (std::next_permutation(order.begin(), order.end()));
  }

  void try_axis_reversals() {
    const Dims& dims = order_.device_dims();
    const std::array<const char*, 4> names{"kernel rows", "kernel columns", "input channels", "output channels"};
    for (unsigned mask = 1; mask < 16; ++mask) {
      std::vector<std::string> text;
      bool trivial = false;
      for (std::size_t k = 0; k < 4; ++k) {
        if ((mask >> k & 1) == 0) continue;
        text.emplace_back(names[k]);
        trivial = trivial || dims[k] == 1;
      }
      if (trivial || mask == 15) continue;  // all four reversed is the whole tensor reversed
      try_order(fmt::format("{} reversed", fmt::join(text, " and ")), [&, mask](std::int64_t f) {
        Dims position = DeviceOrder::unravel(f, dims);
        for (std::size_t k = 0; k < 4; ++k) {
          if ((mask >> k & 1) != 0) position[k] = dims[k] - 1 - position[k];
        }
        return DeviceOrder::ravel(position, dims);
      });
    }
  }

  void try_rolls() {
    const Dims& dims = order_.device_dims();
    const std::int64_t n = order_.count();
    for (std::int64_t by : {std::int64_t{1}, std::int64_t{-1}}) {
      try_order(fmt::format("rolled by {}", by), [=](std::int64_t f) { return (f + n - by) % n; });
      const std::array<const char*, 4> names{"kernel rows", "kernel columns", "input channels", "output channels"};
      for (std::size_t k = 0; k < 4; ++k) {
        if (dims[k] < 2 || (dims[k] == 2 && by < 0)) continue;
        try_order(fmt::format("{} rolled by {}", names[k], by), [&, k, by](std::int64_t f) {
          Dims position = DeviceOrder::unravel(f, dims);
          position[k] = (position[k] + dims[k] - by) % dims[k];
          return DeviceOrder::ravel(position, dims);
        });
      }
    }
  }

  /// Each wrong channel computed with the weights of another one.
  void try_output_channels() {
    const std::int64_t per_channel = static_cast<std::int64_t>(c_.right.weight.size()) / channels_;
    if (c_.kind.transposed || wrong_channels_.size() < 2) return;
    if (static_cast<std::int64_t>(wrong_channels_.size()) * static_cast<std::int64_t>(wrong_channels_.size()) *
            per_channel >
        kSearchBudget)
      return;
    std::vector<std::int64_t> from(at(channels_));
    std::iota(from.begin(), from.end(), 0);
    for (std::int64_t o : wrong_channels_) {
      const std::vector<std::int64_t> elements = channel_sample(o, kPerChannel);
      const auto other = std::find_if(wrong_channels_.begin(), wrong_channels_.end(), [&](std::int64_t candidate) {
        const std::int64_t shift = (candidate - o) * per_channel;
        return candidate != o && fits(elements, [&](std::int64_t w) { return c_.right.weight[at(w + shift)]; });
      });
      if (other == wrong_channels_.end()) return;
      from[at(o)] = *other;
    }
    std::vector<std::int64_t> sorted = from;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return;  // not a permutation
    ConvVariant variant = c_.right;
    for (std::int64_t o : wrong_channels_) {
      std::copy_n(c_.right.weight.begin() + from[at(o)] * per_channel, per_channel,
                  variant.weight.begin() + o * per_channel);
    }
    const std::string used =
        wrong_channels_.size() == 2
            ? fmt::format("output channels {} and {} exchanged", wrong_channels_[0], wrong_channels_[1])
            : fmt::format("{} output channels in another order", wrong_channels_.size());
    propose("weight_layout_wrong", "weights", used, "the model's order", std::move(variant));
  }

  /// Two positions a, b of one model axis exchanged: the difference that it makes to an element is
  /// w_b x_a + w_a x_b - w_a x_a - w_b x_b, so all pairs are tried on one element and few are left for the next.
  void try_exchanged(int axis, const char* what) {
    const Dims& dims = order_.model_dims();
    const std::int64_t extent = axis == 2 ? dims[2] * dims[3] : dims[static_cast<std::size_t>(axis)];
    const std::int64_t products = order_.count() / channels_ * extent;
    if (extent < 2 || products * static_cast<std::int64_t>(sample_.size()) > kSearchBudget) return;
    const auto coordinate = [&](std::int64_t weight) {
      const Dims position = DeviceOrder::unravel(weight, dims);
      return axis == 2 ? position[2] * dims[3] + position[3] : position[static_cast<std::size_t>(axis)];
    };
    const auto moved = [&](std::int64_t weight, std::int64_t to) {
      Dims position = DeviceOrder::unravel(weight, dims);
      if (axis == 2) {
        position[2] = to / dims[3];
        position[3] = to % dims[3];
      } else {
        position[static_cast<std::size_t>(axis)] = to;
      }
      return DeviceOrder::ravel(position, dims);
    };
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    for (std::int64_t a = 0; a < extent; ++a) {
      for (std::int64_t b = a + 1; b < extent; ++b) pairs.emplace_back(a, b);
    }
    std::vector<double> cross(at(extent * extent));
    for (std::int64_t element : sample_) {
      std::fill(cross.begin(), cross.end(), 0.0);
      double y = bias_[at(channel_of(element))];
      for (const ConvTap& tap : taps(element)) {
        y += static_cast<double>(c_.right.weight[at(tap.weight)]) * tap.x;
        const std::int64_t a = coordinate(tap.weight);
        for (std::int64_t b = 0; b < extent; ++b)
          cross[at(a * extent + b)] += static_cast<double>(c_.right.weight[at(moved(tap.weight, b))]) * tap.x;
      }
      std::erase_if(pairs, [&](const auto& pair) {
        const auto [a, b] = pair;
        const double difference = cross[at(a * extent + b)] + cross[at(b * extent + a)] - cross[at(a * extent + a)] -
                                  cross[at(b * extent + b)];
        return !near(element, y + difference);
      });
      if (pairs.empty()) return;
    }
    for (const auto& [first, second] : pairs) {
      ConvVariant variant = c_.right;
      for (std::int64_t w = 0; w < order_.count(); ++w) {
        const std::int64_t k = coordinate(w);
        if (k == first) variant.weight[at(w)] = c_.right.weight[at(moved(w, second))];
        if (k == second) variant.weight[at(w)] = c_.right.weight[at(moved(w, first))];
      }
      propose("weight_layout_wrong", "weights", fmt::format("{} {} and {} exchanged", what, first, second),
              "the model's order", std::move(variant));
    }
  }

  void try_exchanged_inputs() {
    if (c_.right.geometry.group == 1) try_exchanged(c_.kind.transposed ? 0 : 1, "input channels");
  }

  void try_exchanged_taps() { try_exchanged(2, "kernel positions"); }

  // --- weights that are nothing of the model's ---------------------------------------------------------------------

  void other_weights() {
    if (c_.kind.transposed || wrong_channels_.empty()) return;
    if (one_weight_per_channel()) return;
    fitted_weights();
  }

  /// One weight of each wrong channel: the error is then that weight's input, times a number.
  bool one_weight_per_channel() {
    constexpr std::size_t kMaxChannels = 4;
    if (wrong_channels_.size() > kMaxChannels) return false;
    ConvVariant variant = c_.right;
    std::string used;
    for (std::int64_t o : wrong_channels_) {
      const std::vector<std::int64_t> elements = channel_sample(o, 16 * kPerChannel);
      const auto found = single_weight(o, elements);
      if (!found) return false;
      variant.weight[at(found->first)] = found->second;
      const Dims position = DeviceOrder::unravel(found->first, order_.model_dims());
      used += fmt::format("{}weight [{}] = {:.5g}", used.empty() ? "" : ", ", fmt::join(position, ", "), found->second);
    }
    propose("weights_differ", "weights", used, "the model's weights", std::move(variant),
            static_cast<int>(wrong_channels_.size()));
    return true;
  }

  std::optional<std::pair<std::int64_t, float>> single_weight(std::int64_t o,
                                                              const std::vector<std::int64_t>& elements) {
    const std::int64_t per_channel = static_cast<std::int64_t>(c_.right.weight.size()) / channels_;
    const std::int64_t first = first_weight_of_channel(o);
    // What each weight would have to change by, if it alone were wrong.
    std::vector<Interval> change(at(per_channel));
    for (std::int64_t e : elements) {
      if (!shows_sum(e)) continue;
      const double difference = device_[at(e)] - sum(e, [&](std::int64_t w) { return c_.right.weight[at(w)]; });
      const double tolerance = c_.evidence.line.at(device_[at(e)]);
      std::vector<bool> read(at(per_channel), false);
      for (const ConvTap& tap : taps(e)) {
        if (tap.x == 0) continue;
        const double a = (difference - tolerance) / tap.x;
        const double b = (difference + tolerance) / tap.x;
        change[at(tap.weight - first)].meet(std::min(a, b), std::max(a, b));
        read[at(tap.weight - first)] = true;
      }
      if (std::fabs(difference) <= tolerance) continue;
      for (std::size_t k = 0; k < read.size(); ++k) {
        if (!read[k]) change[k].meet(1, -1);  // an element is wrong that does not read this weight
      }
    }
    for (std::int64_t k = 0; k < per_channel; ++k) {
      const Interval& by = change[at(k)];
      if (by.empty() || by.equations < 4) continue;
      const float value = rounded(c_.right.weight[at(first + k)] + (by.low + by.high) / 2, HalfRounding::nearest);
      const bool all = fits(elements, [&](std::int64_t w) { return w == first + k ? value : c_.right.weight[at(w)]; });
      if (all) return std::pair{first + k, value};
    }
    return std::nullopt;
  }

  /// The weights of every wrong channel by least squares; only when positions far outnumber unknowns.
  void fitted_weights() {
    const std::int64_t unknowns = static_cast<std::int64_t>(c_.right.weight.size()) / channels_;
    const auto wrong = static_cast<std::int64_t>(wrong_channels_.size());
    const std::int64_t rows = kRowsPerUnknown * unknowns;
    if (c_.out[0] * plane_ < rows || wrong * rows * unknowns * unknowns > kFitBudget) return;
    ConvVariant variant = c_.right;
    for (std::int64_t o : wrong_channels_) {
      if (!fit_channel(o, unknowns, rows, variant)) return;
    }
    propose("weights_differ", "weights", fmt::format("other weights on {} of {} channels", wrong, channels_),
            "the model's weights", std::move(variant),
            static_cast<int>(std::min<std::int64_t>(wrong * unknowns, 1 << 30)), "FittedWeights");
  }

  bool fit_channel(std::int64_t o, std::int64_t unknowns, std::int64_t rows, ConvVariant& variant) {
    LeastSquares fit(unknowns);
    const std::int64_t positions = c_.out[0] * plane_;
    const std::int64_t step = std::max<std::int64_t>(1, positions / (2 * rows));
    const std::int64_t first = first_weight_of_channel(o);
    std::vector<double> row(at(unknowns));
    for (std::int64_t p = 0; p < positions; p += step) {
      const std::int64_t element = (p / plane_ * channels_ + o) * plane_ + p % plane_;
      if (!shows_sum(element)) continue;
      // Large results were rounded more coarsely: an equation weighs what its rounding leaves of it.
      const double weight = 1 / c_.evidence.line.at(device_[at(element)]);
      std::fill(row.begin(), row.end(), 0.0);
      for (const ConvTap& tap : taps(element)) row[at(tap.weight - first)] = weight * tap.x;
      const double error = device_[at(element)] - sum(element, [&](std::int64_t w) { return c_.right.weight[at(w)]; });
      fit.add(row, weight * error);
    }
    if (fit.rows() < kRowsPerUnknown * unknowns) return false;
    const std::vector<double> change = fit.solve();
    for (std::int64_t k = 0; k < unknowns; ++k) variant.weight[at(first + k)] += static_cast<float>(change[at(k)]);
    return true;
  }

  ConvolutionCase c_;
  const Tensor& x_;
  std::span<const float> device_;
  std::int64_t channels_;
  std::int64_t plane_;
  std::vector<float> bias_;
  DeviceOrder order_;
  std::vector<std::int64_t> sample_;
  std::vector<std::int64_t> wrong_channels_;
  std::map<std::int64_t, std::vector<ConvTap>> taps_;
  std::vector<Hypothesis> list_;
};

}  // namespace

std::vector<Hypothesis> convolution_mistakes(ConvolutionCase wrong) {
  if (wrong.out.size() != 4 || wrong.evidence.device.size() != element_count(wrong.out)) return {};
  return Search(std::move(wrong)).run();
}

}  // namespace qnndbg
