// The documents behind the page, as schema/diagnosis.schema.json and schema/replay.schema.json describe them. A number is null
// when it is not known or not finite; `nonfinite` counts the latter.

export type Status = 'right' | 'inherited' | 'broken' | 'consequence' | 'not_judged' | 'set_aside';
export type Figure = number | null;

export interface ErrorFigures {
  max_abs: Figure;
  max_rel: Figure;
  bound_ratio: Figure;
  nonfinite?: number;
}

export interface Suspect {
  file: string;
  parameter: string;
  used: string;
  meant: string;
}

export interface Finding {
  id: string;
  kind: 'bug' | 'input' | 'range' | 'rejected' | 'unregistered' | 'load' | 'warning';
  title: string;
  op: string | null;
  op_index: number | null;
  op_type: string | null;
  tensor: string | null;
  dump_tensor: string | null;
  node: string | null;
  cause: string | null;
  proven: boolean;
  ties: string[];
  local_error: ErrorFigures | null;
  inherited_error: ErrorFigures | null;
  consequence_of: number | null;
  evidence: string[];
  suspect: Suspect | null;
  next_steps: string[];
}

export interface Operator {
  index: number;
  name: string;
  type: string;
  inputs: string[];
  outputs: string[];
  status: Status;
  reason: string | null;
  bound_ratio: Figure;
  end_to_end: ErrorFigures | null;
  nonfinite?: number;
}

export interface Encoding {
  scale: Figure;
  offset: number;
}

export interface Metrics {
  count: number;
  compared: number;
  actual_nan: number;
  actual_inf: number;
  actual_zero: number;
  expected_nan: number;
  expected_inf: number;
  expected_zero: number;
  max_abs: Figure;
  mean_abs: Figure;
  mean: Figure;
  max_rel: Figure;
  mean_rel: Figure;
  rmse: Figure;
  sqnr_db: Figure;
  cosine: Figure;
  p50: Figure;
  p99: Figure;
  p999: Figure;
  expected_min: Figure;
  expected_max: Figure;
  actual_min: Figure;
  actual_max: Figure;
  worst: { index: number; actual: Figure; expected: Figure }[];
  nonfinite?: number;
}

export interface DumpedTensor {
  name: string;
  tensor: string | null;
  op_index: number | null;
  dims: number[];
  device_dims: number[];
  layout: string | null;
  dtype: string;
  encoding: Encoding | null;
  model_encoding: Encoding | null;
  problem: string | null;
  within_bound: Figure;
  bound_ratio: Figure;
  local: Metrics | null;
  baseline: Metrics | null;
  nonfinite?: number;
}

export interface NotJudged {
  op_index: number | null;
  op: string;
  op_type: string;
  reason: string;
}

export interface LogReading {
  class: string;
  summary: string;
  confidence: string;
  codes: { number: number; name: string | null; stage: string | null; line: number }[];
  evidence: { line: number; text: string }[];
  next_steps: string[];
  lines: number;
}

export interface SimilarCase {
  similarity: number;
  shared: string[];
  case: { id: string; title: string; fix?: string };
}

export interface BoundUse {
  op_index: number | null;
  op: string;
  op_type: string;
  dump_tensor: string;
  key: string;
  bound_ratio: Figure;
  margin: Figure;
  basis: { arch: string; runs: number; instances: number; worst: Figure } | null;
}

export interface Diagnosis {
  schema: string;
  verdict: 'load_failed' | 'rejected' | 'bug' | 'range' | 'clean' | 'inconclusive';
  summary: string;
  model: {
    file: string;
    converter_version: string | null;
    source: string | null;
    bytes: number;
    operators: number;
    tensors: number;
  };
  run: {
    dump: string | null;
    log: string | null;
    execution: number | null;
    executions: number[];
    dumped_tensors: number;
    soc: string | null;
    arch: string;
    constant_rounding: string | null;
    library: string | null;
    mnn: string | null;
    tolerance_scale: Figure;
    inputs_given: boolean;
  };
  coverage: {
    ops_total: number;
    ops_set_aside: number;
    ops_dumped: number;
    ops_judged: number;
    not_judged: NotJudged[];
  };
  findings: Finding[];
  operators: Operator[];
  tensors: DumpedTensor[];
  notes: string[];
  log?: LogReading | null;
  similar_cases?: SimilarCase[];
  bounds?: BoundUse[];
}

export interface Tried {
  cause: string;
  parameter: string;
  used: string;
  meant: string;
  file: string | null;
  free_parameters: number;
  bound_ratio: Figure;
  judged_by: 'sample' | 'tensor';
  matches: boolean;
  decisive: boolean;
  nonfinite?: number;
}

export interface AxisErrors {
  axis: number;
  extent: number;
  group: number;
  bound_ratio: Figure[];
  beyond: number[];
}

export interface PlaneErrors {
  row_axis: number | null;
  column_axis: number | null;
  row_group: number;
  column_group: number;
  rows: number;
  columns: number;
  bound_ratio: Figure[];
}

export interface Element {
  index: number;
  position: number[];
  device: Figure;
  replay: Figure;
  bound: Figure;
  bound_ratio: Figure;
}

export interface ErrorMap {
  beyond: number;
  axes: AxisErrors[];
  plane: PlaneErrors;
  worst: Element[];
}

export interface Operand {
  role: string;
  tensor: string | null;
  name: string | null;
  dump_tensor: string | null;
  dims: number[] | null;
  device_dims: number[] | null;
  layout: string | null;
  dtype: string | null;
  encoding: Encoding | null;
  range: { min: Figure; max: Figure; nonfinite_elements: number } | null;
  problem: string | null;
}

export interface Replay {
  inputs: Operand[];
  outputs: Operand[];
  stages: { name: string | null; dump_tensor: string; qnn_type: string; tried: Tried[]; errors: ErrorMap | null }[];
}

export interface Histogram {
  low: number;
  high: number;
  device: number[];
  reference: number[];
  device_outside: number;
  reference_outside: number;
}

export interface Details {
  operators: { index: number; parameters: { name: string; value: string }[]; replay: Replay | null }[];
  tensors: { name: string; op_index: number | null; histogram: Histogram | null; errors: ErrorMap | null }[];
}

export interface PageData {
  tool: { name: string; version: string };
  diagnosis: Diagnosis;
  details: Details | null;
  missing: string[];
}

export interface Licence {
  name: string;
  version: string;
  licence: string;
  text: string;
}

export function readBlock<T>(id: string): T {
  return JSON.parse(document.getElementById(id)?.textContent ?? 'null') as T;
}
