#include "graph/weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "graph/byte_reader.h"
#include "tensor/half.h"
#include "tensor/tensor.h"

namespace qnndbg {
namespace {

static_assert(std::endian::native == std::endian::little, "model files are read in place and are little-endian");

constexpr int kMaxHeaderRank = 4;  // MNN reads no more

/// Sparse forms spell zeros for free. A record that spells more than this is no weight matrix but a trap: real ones are
/// written sparse from a few nonzero weights in a hundred on.
std::int64_t most_sparse_elements(std::size_t stored_bytes) {
  return (std::int64_t{1} << 20) + 256 * static_cast<std::int64_t>(stored_bytes);
}

/// The dims in front of a palette: groups, elements per group.
Result<Dims> read_header(ByteReader& reader, bool wide_dims) {
  const std::optional<std::uint8_t> rank = reader.number<std::uint8_t>();
  if (!rank || *rank == 0 || *rank > kMaxHeaderRank) return fail("the coded weights do not begin with 1 to 4 dims");
  Dims dims;
  for (int i = 0; i < *rank; ++i) {
    std::optional<std::int64_t> extent;
    if (wide_dims) {
      extent = reader.number<std::uint32_t>();
    } else {
      extent = reader.number<std::uint16_t>();
    }
    if (!extent) return fail("the coded weights end inside their dims");
    dims.push_back(*extent);
  }
  const Result<std::int64_t> count = check_dims(dims);
  if (!count) return fail(count.error());
  return dims;
}

/// The table of a palette in ascending order, and the width of an index into it. The width follows from the stored
/// length of the table, also where the table repeats values.
struct Palette {
  std::vector<std::int8_t> values;
  unsigned index_bits = 1;
};

Result<Palette> read_palette(ByteReader& reader) {
  const std::optional<std::uint8_t> stored = reader.number<std::uint8_t>();
  if (!stored) return fail("the coded weights end before their table");
  const unsigned length = *stored == 0 ? 256U : *stored;
  const auto bytes = reader.take(length);
  if (!bytes) return fail("the coded weights end inside their table of {} values", length);
  Palette palette;
  palette.values.resize(length);
  std::memcpy(palette.values.data(), bytes->data(), length);
  std::sort(palette.values.begin(), palette.values.end());
  palette.index_bits = std::max(1U, static_cast<unsigned>(std::bit_width(length - 1)));
  return palette;
}

Result<std::vector<std::int8_t>> read_dense_palette(const CodedWeights& weights, std::int64_t elements) {
  ByteReader reader(weights.payload);
  const Result<Dims> dims = read_header(reader, weights.wide_dims);
  if (!dims) return fail(dims.error());
  const Result<Palette> palette = read_palette(reader);
  if (!palette) return fail(palette.error());
  const auto count = static_cast<std::uint64_t>(elements);
  const auto bytes = reader.take(PackedNumbers::bytes_for(count, palette->index_bits));
  if (!bytes) {
    return fail("the coded weights end too early: {} weights of {} bits do not fit {} bytes", count,
                palette->index_bits, reader.left());
  }
  const PackedNumbers indices(*bytes, palette->index_bits);
  std::vector<std::int8_t> integers(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const unsigned index = indices[i];
    if (index >= palette->values.size()) {
      return fail("coded weight {} points at entry {} of a table of {}", i, index, palette->values.size());
    }
    integers[i] = palette->values[index];
  }
  return integers;
}

/// The stored integer of a zero weight in each group. It wraps into 8 bits as in MNN's decoder.
std::vector<std::int8_t> zero_levels(const CodedWeights& weights, unsigned index_bits) {
  constexpr float kSmallestScale = 1e-6F;
  const int lowest = -(1 << (index_bits - 1));
  std::vector<std::int8_t> levels(weights.alpha.size() / 2);
  for (std::size_t g = 0; g < levels.size(); ++g) {
    const float minimum = weights.alpha[2 * g];
    const float scale = weights.alpha[2 * g + 1];
    const float steps = scale > kSmallestScale ? std::round((0.0F - minimum) / scale) : 0.0F;
    const float bounded = std::isfinite(steps) ? std::clamp(steps, -1e6F, 1e6F) : 0.0F;
    levels[g] = static_cast<std::int8_t>(static_cast<int>(bounded) + lowest);
  }
  return levels;
}

Result<std::vector<std::int8_t>> background(const CodedWeights& weights, const Dims& dims, std::int64_t elements,
                                            unsigned index_bits) {
  std::vector<std::int8_t> integers(static_cast<std::size_t>(elements), 0);
  if (!weights.pairs) return integers;
  const std::vector<std::int8_t> levels = zero_levels(weights, index_bits);
  if (levels.empty() || static_cast<std::int64_t>(levels.size()) != dims[0]) {
    return fail(
        "sparse weights in {} rows with {} pairs of minimum and scale: which level stands for zero is not certain",
        dims[0], levels.size());
  }
  const std::size_t run = integers.size() / levels.size();
  for (std::size_t g = 0; g < levels.size(); ++g) {
    std::fill_n(integers.begin() + static_cast<std::ptrdiff_t>(g * run), run, levels[g]);
  }
  return integers;
}

Result<std::vector<std::int8_t>> read_sparse_palette(const CodedWeights& weights, std::int64_t elements) {
  ByteReader reader(weights.payload);
  const Result<Dims> dims = read_header(reader, weights.wide_dims);
  if (!dims) return fail(dims.error());
  const std::optional<std::uint32_t> nonzero = reader.number<std::uint32_t>();
  const std::optional<std::uint8_t> step_bits = reader.number<std::uint8_t>();
  if (!nonzero || !step_bits || *step_bits > 8)
    return fail("the coded weights do not say how their positions are stored");
  const auto step_bytes = reader.take(PackedNumbers::bytes_for(*nonzero, *step_bits));
  if (!step_bytes) return fail("the coded weights end inside the positions of {} values", *nonzero);
  Result<Palette> palette = read_palette(reader);
  if (!palette) return fail(palette.error());
  palette->values.erase(std::unique(palette->values.begin(), palette->values.end()), palette->values.end());
  const auto index_bytes = reader.take(PackedNumbers::bytes_for(*nonzero, palette->index_bits));
  if (!index_bytes) return fail("the coded weights end inside the indices of {} values", *nonzero);
  if (elements > most_sparse_elements(weights.payload.size())) {
    return fail("{} weights from {} bytes is more than a sparse matrix holds", elements, weights.payload.size());
  }

  Result<std::vector<std::int8_t>> integers = background(weights, *dims, elements, palette->index_bits);
  if (!integers) return integers;
  const PackedNumbers steps(*step_bytes, *step_bits);
  const PackedNumbers indices(*index_bytes, palette->index_bits);
  std::uint64_t position = 0;
  for (std::uint32_t i = 0; i < *nonzero; ++i) {
    position += steps[i];
    const unsigned index = indices[i];
    if (position >= integers->size()) return fail("coded weight {} lies at {}, behind the last weight", i, position);
    if (index >= palette->values.size()) {
      return fail("coded weight {} points at entry {} of a table of {}", i, index, palette->values.size());
    }
    (*integers)[position] = palette->values[index];
  }
  return integers;
}

Result<std::vector<std::int8_t>> read_integers(const CodedWeights& weights, std::int64_t elements) {
  switch (static_cast<WeightCoding>(weights.coding)) {
    case WeightCoding::palette: return read_dense_palette(weights, elements);
    case WeightCoding::sparse_palette: return read_sparse_palette(weights, elements);
    default: break;
  }
  std::vector<std::int8_t> integers(weights.payload.size());
  if (!integers.empty()) std::memcpy(integers.data(), weights.payload.data(), integers.size());
  return integers;
}

Result<std::vector<float>> decode_indexed(const CodedWeights& weights, std::int64_t elements) {
  if (weights.index.size() != weights.alpha.size()) {
    return fail("{} positions for {} sparse weights", weights.index.size(), weights.alpha.size());
  }
  if (elements > most_sparse_elements(weights.index.size_bytes() + weights.alpha.size_bytes())) {
    return fail("{} weights of which {} are stored is more than a sparse matrix holds", elements, weights.index.size());
  }
  std::vector<float> values(static_cast<std::size_t>(elements), 0.0F);
  for (std::size_t i = 0; i < weights.index.size(); ++i) {
    if (weights.index[i] >= values.size())
      return fail("sparse weight {} lies at {}, behind the last weight", i, weights.index[i]);
    values[weights.index[i]] = weights.alpha[i];
  }
  return values;
}

std::vector<float> decode_halves(std::span<const std::byte> payload) {
  std::vector<std::uint16_t> halves(payload.size() / sizeof(std::uint16_t));
  if (!halves.empty()) std::memcpy(halves.data(), payload.data(), halves.size() * sizeof(std::uint16_t));
  std::vector<float> values(halves.size());
  half_to_float(halves, values, HalfKind::ieee);
  return values;
}

/// Scale and minimum of one group; the steps are MNN's, so that the last bit is MNN's too.
struct Line {
  float scale = 0;
  float minimum = 0;
};

Line line_of(const CodedWeights& weights, std::size_t group) {
  if (!weights.pairs) return {weights.alpha[group] * weights.factor, 0};
  const float scale = weights.alpha[2 * group + 1];
  const int lowest = weights.lowest == 0 ? -128 : weights.lowest;
  float minimum = weights.alpha[2 * group];
  if (lowest < 0) minimum -= static_cast<float>(lowest) * scale;
  return {scale * weights.factor, minimum * weights.factor};
}

}  // namespace

Result<std::int64_t> stored_elements(const CodedWeights& weights) {
  if (weights.has_index) return weights.index_elements;
  switch (static_cast<WeightCoding>(weights.coding)) {
    case WeightCoding::palette:
    case WeightCoding::sparse_palette: {
      ByteReader reader(weights.payload);
      return read_header(reader, weights.wide_dims).map(element_count);
    }
    case WeightCoding::half:
      if (weights.payload.size() % sizeof(std::uint16_t) != 0) return fail("half weights in an odd number of bytes");
      return static_cast<std::int64_t>(weights.payload.size() / sizeof(std::uint16_t));
    case WeightCoding::int8: return static_cast<std::int64_t>(weights.payload.size());
  }
  return fail("weights are coded in form {}, which this version does not know", weights.coding);
}

Result<std::vector<float>> decode_weights(const CodedWeights& weights, std::int64_t elements) {
  if (weights.has_index) return decode_indexed(weights, elements);
  if (static_cast<WeightCoding>(weights.coding) == WeightCoding::half) return decode_halves(weights.payload);

  const std::size_t per_group = weights.pairs ? 2 : 1;
  const std::size_t groups = weights.alpha.size() / per_group;
  if (groups == 0 || weights.alpha.size() % per_group != 0 || elements % static_cast<std::int64_t>(groups) != 0) {
    return fail("{} weights do not divide into the groups of {} {}", elements, weights.alpha.size(),
                weights.pairs ? "minima and scales" : "scales");
  }
  const Result<std::vector<std::int8_t>> integers = read_integers(weights, elements);
  if (!integers) return fail(integers.error());
  std::vector<float> values(integers->size());
  const std::size_t run = values.size() / groups;
  for (std::size_t g = 0; g < groups; ++g) {
    const Line line = line_of(weights, g);
    for (std::size_t i = g * run; i < (g + 1) * run; ++i) {
      values[i] = static_cast<float>((*integers)[i]) * line.scale + line.minimum;
    }
  }
  return values;
}

}  // namespace qnndbg
