// The operators as a graph, and what belongs to each.

import type {
  Details,
  Diagnosis,
  DumpedTensor,
  ErrorMap,
  Finding,
  Histogram,
  Operator,
  PageData,
  Replay,
} from './document';

export interface Edge {
  from: number;
  to: number;
  tensor: string;
}

export interface OperatorDetails {
  parameters: { name: string; value: string }[];
  replay: Replay | null;
}

export interface TensorDetails {
  histogram: Histogram | null;
  errors: ErrorMap | null;
}

function grouped<K, V>(values: V[], key: (value: V) => K | null): Map<K, V[]> {
  const groups = new Map<K, V[]>();
  for (const value of values) {
    const group = key(value);
    if (group === null) continue;
    const members = groups.get(group);
    if (members) members.push(value);
    else groups.set(group, [value]);
  }
  return groups;
}

// Maps throughout: a tensor may be called __proto__.
export class Network {
  readonly diagnosis: Diagnosis;
  readonly operators: Operator[];
  readonly edges: Edge[] = [];
  private readonly byIndex = new Map<number, Operator>();
  private readonly producers = new Map<string, number>();
  private readonly edgesInto: Map<number, Edge[]>;
  private readonly edgesFrom: Map<number, Edge[]>;
  private readonly tensorsOf: Map<number, DumpedTensor[]>;
  private readonly findingsOf: Map<number, Finding[]>;
  private readonly operatorDetails = new Map<number, OperatorDetails>();
  private readonly tensorDetails = new Map<string, TensorDetails>();

  constructor(data: PageData) {
    this.diagnosis = data.diagnosis;
    this.operators = data.diagnosis.operators;
    for (const operator of this.operators) {
      this.byIndex.set(operator.index, operator);
      for (const tensor of operator.outputs) this.producers.set(tensor, operator.index);
    }
    for (const operator of this.operators) this.connect(operator);
    this.edgesInto = grouped(this.edges, (edge) => edge.to);
    this.edgesFrom = grouped(this.edges, (edge) => edge.from);
    this.tensorsOf = grouped(data.diagnosis.tensors, (tensor) => tensor.op_index);
    this.findingsOf = grouped(data.diagnosis.findings, (finding) => finding.op_index);
    this.keepDetails(data.details);
  }

  private connect(operator: Operator): void {
    for (const tensor of new Set(operator.inputs)) {
      const from = this.producers.get(tensor);
      if (from !== undefined && from !== operator.index) this.edges.push({ from, to: operator.index, tensor });
    }
  }

  private keepDetails(details: Details | null): void {
    for (const each of details?.operators ?? []) this.operatorDetails.set(each.index, each);
    for (const each of details?.tensors ?? []) this.tensorDetails.set(each.name, each);
  }

  operator(index: number | null): Operator | null {
    return index === null ? null : (this.byIndex.get(index) ?? null);
  }
  producer(tensor: string): Operator | null {
    return this.operator(this.producers.get(tensor) ?? null);
  }
  inputs(index: number): Edge[] {
    return this.edgesInto.get(index) ?? [];
  }
  outputs(index: number): Edge[] {
    return this.edgesFrom.get(index) ?? [];
  }
  tensors(index: number): DumpedTensor[] {
    return this.tensorsOf.get(index) ?? [];
  }
  findings(index: number): Finding[] {
    return this.findingsOf.get(index) ?? [];
  }
  details(index: number): OperatorDetails | null {
    return this.operatorDetails.get(index) ?? null;
  }
  detailsOfTensor(name: string): TensorDetails | null {
    return this.tensorDetails.get(name) ?? null;
  }

  /** What is wrong, as opposed to what is only worth knowing. */
  culprits(): Finding[] {
    return this.diagnosis.findings.filter((finding) => finding.kind !== 'warning');
  }

  /** Operators whose results nobody reads, as far as they ran on the device. */
  graphOutputs(): Operator[] {
    return this.operators.filter(
      (operator) => operator.status !== 'set_aside' && this.outputs(operator.index).length === 0,
    );
  }

  /** At most `steps` edges away from `index`, itself included, and at most `most`. `passes` tells which operators count. */
  around(index: number, steps: number, most: number, passes: (operator: Operator) => boolean): Set<number> {
    const reached = new Set([index]);
    for (const direction of ['up', 'down'] as const) {
      // Half of them at most for what feeds it, so that its readers are not left out.
      const limit = direction === 'up' ? most / 2 : most;
      let front = [index];
      for (let step = 0; step < steps; ++step) {
        const next = new Set(front.flatMap((at) => this.next(at, direction)));
        front = [...next].filter((at) => this.passes(at, passes));
        for (const at of front) if (reached.size < limit) reached.add(at);
      }
    }
    return reached;
  }

  private passes(index: number, test: (operator: Operator) => boolean): boolean {
    const operator = this.operator(index);
    return operator !== null && test(operator);
  }

  private next(index: number, direction: 'up' | 'down'): number[] {
    return direction === 'up'
      ? this.inputs(index).map((edge) => edge.from)
      : this.outputs(index).map((edge) => edge.to);
  }
}
