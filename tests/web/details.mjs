// Details documents made from what `qnn-debug replay` says of each accused operator, with made-up histograms: what the page
// draws is tested, not how the figures came about.

const BINS = 40;

/** A bell over the tensor's range; the reference is the device's shape, a bin further on. */
function histogram(tensor) {
  const figures = tensor.local ?? tensor.baseline;
  if (!figures || figures.actual_min === null || figures.actual_max === null) return null;
  const bell = (bin) => Math.round(figures.count * 0.08 * Math.exp(-(((bin - BINS / 2) / 7) ** 2)));
  const device = Array.from({ length: BINS }, (_, bin) => bell(bin));
  const reference = Array.from({ length: BINS }, (_, bin) => bell(bin - 1));
  const outside = figures.actual_nan + figures.actual_inf;
  return {
    low: figures.actual_min,
    high: figures.actual_max,
    device,
    reference,
    device_outside: outside,
    reference_outside: 0,
  };
}

/** `replays`: documents of `qnn-debug replay --format json`. */
export function makeDetails(diagnosis, replays) {
  const byIndex = new Map(replays.map((replay) => [replay.operator.index, replay]));
  const stages = new Map(replays.flatMap((replay) => replay.stages).map((stage) => [stage.dump_tensor, stage]));
  return {
    schema: 'qnn-debug/details/1',
    operators: diagnosis.operators.map(({ index }) => {
      const replay = byIndex.get(index) ?? null;
      return { index, parameters: replay?.operator.parameters ?? [{ name: 'common.group', value: '1' }], replay };
    }),
    tensors: diagnosis.tensors.map((tensor) => ({
      name: tensor.name,
      op_index: tensor.op_index,
      histogram: histogram(tensor),
      errors: stages.get(tensor.name)?.errors ?? null,
    })),
  };
}
