// The operators as a drawn graph: the steps around the selected one, or the whole network, from the inputs at the top down.

import { graphlib, layout as dagreLayout } from '@dagrejs/dagre';
import cytoscape from 'cytoscape';

import type { Operator, Status } from './document';
import { button, el } from './dom';
import type { Edge, Network } from './network';
import { operatorSearch } from './operator_search';
import type { Selection } from './selection';
import { STATUSES, ratioOf, statusBadge } from './status';
import { dims, figure, plural, printable, shorten } from './text';
import { color, onThemeChange } from './theme';

/** Above this, laying out everything takes too long; only neighbourhoods are drawn. */
const MOST_NODES = 2500;
const STEPS = 2;
/** What thousands of operators read has no neighbourhood that could be looked at. */
const MOST_AROUND = 120;
const WIDTH = 178;
const HEIGHT = 54;
const SMALL = { width: 120, height: 26 };
/** Below this zoom, names cannot be read: the whole network then opens at the selected operator. */
const READABLE = 0.45;

type View = 'around' | 'whole';

export function graphSection(network: Network, selection: Selection): HTMLElement {
  return new Graph(network, selection).section;
}

class Graph {
  readonly section: HTMLElement;
  private readonly canvas = el('div', { class: 'graph', role: 'img' });
  private readonly message = el('p', { class: 'hint', 'aria-live': 'polite' });
  private readonly views: Record<View, HTMLButtonElement>;
  private view: View = 'around';
  private constants = false;
  private graph: cytoscape.Core | null = null;
  private picture: HTMLImageElement | null = null;

  constructor(
    private readonly network: Network,
    private readonly selection: Selection,
  ) {
    this.views = {
      around: button('around the selected', () => this.show('around'), { 'aria-pressed': 'true' }),
      whole: button('whole network', () => this.show('whole'), { 'aria-pressed': 'false' }),
    };
    this.section = el('div', {}, this.toolbar(), this.legend(), this.canvas, this.message);
    this.startWhenNear();
  }

  private toolbar(): HTMLElement {
    const constants = el('input', { type: 'checkbox' });
    constants.addEventListener('change', () => {
      this.constants = constants.checked;
      this.draw();
    });
    return el(
      'div',
      { class: 'toolbar' },
      el(
        'div',
        { class: 'segmented', role: 'group', 'aria-label': 'What the graph shows' },
        this.views.around,
        this.views.whole,
      ),
      operatorSearch(this.network, (index) => this.selection.select(index, 'search')),
      el('label', { class: 'check' }, constants, 'constants and shapes'),
      el(
        'div',
        { class: 'segmented', role: 'group', 'aria-label': 'Zoom' },
        button('−', () => this.zoom(1 / 1.4), { 'aria-label': 'Smaller' }),
        button('+', () => this.zoom(1.4), { 'aria-label': 'Larger' }),
        button('fit', () => this.graph?.fit(undefined, 24), { 'aria-label': 'Fit all that is shown' }),
      ),
    );
  }

  private legend(): HTMLElement {
    const present = new Set(this.network.operators.map((operator) => operator.status));
    const statuses = (Object.keys(STATUSES) as Status[]).filter(
      (status) => present.has(status) && status !== 'set_aside',
    );
    return el('div', { class: 'legend' }, statuses.map(statusBadge));
  }

  /** The graph is below the first screen: neither its layout nor its drawing may delay that one. */
  private startWhenNear(): void {
    const nearness = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        nearness.disconnect();
        this.start();
      },
      { rootMargin: '400px' },
    );
    nearness.observe(this.canvas);
  }

  private start(): void {
    this.graph = cytoscape({
      container: this.canvas,
      minZoom: 0.02,
      maxZoom: 2.5,
      boxSelectionEnabled: false,
      autoungrabify: true,
      autounselectify: true,
    });
    this.graph.on('tap', 'node', (event) => this.selection.select(Number(event.target.id()), 'graph'));
    this.graph.on('mouseover', 'node', (event) => (this.canvas.title = this.describe(Number(event.target.id()))));
    this.graph.on('mouseout', 'node', () => (this.canvas.title = ''));
    // The wheel belongs to the page unless Ctrl is held, as in maps.
    this.canvas.addEventListener('wheel', (event) => this.graph?.userZoomingEnabled(event.ctrlKey), {
      capture: true,
      passive: true,
    });
    onThemeChange((printing) => this.repaint(printing));
    this.selection.subscribe((_, origin) => this.follow(origin));
    if (this.selection.current === null) this.draw();
  }

  /** Cytoscape paints in the next frame, when the paper is printed already; a picture takes its place there. */
  private repaint(printing: boolean): void {
    this.graph?.style(styleSheet());
    this.picture?.remove();
    this.picture = null;
    if (!printing || !this.graph) return;
    this.picture = el('img', { alt: '' });
    this.picture.src = this.graph.png({ scale: 2, bg: color('surface') });
    this.canvas.append(this.picture);
  }

  private show(view: View): void {
    this.view = view;
    for (const [each, control] of Object.entries(this.views))
      control.setAttribute('aria-pressed', String(each === view));
    this.draw();
  }

  private follow(origin: string): void {
    if (this.view === 'around' || !this.graph || this.graph.nodes().empty()) {
      this.draw();
      return;
    }
    const node = this.markSelected();
    if (origin !== 'graph' && node?.nonempty()) this.centre(node);
  }

  private zoom(factor: number): void {
    if (!this.graph) return;
    const middle = { x: this.canvas.clientWidth / 2, y: this.canvas.clientHeight / 2 };
    this.graph.zoom({ level: this.graph.zoom() * factor, renderedPosition: middle });
  }

  // --- Drawing ---

  private draw(): void {
    if (!this.graph) return;
    const visible = this.visible();
    this.canvas.classList.toggle('whole', this.view === 'whole');
    if (this.view === 'whole' && visible.length > MOST_NODES) {
      this.show('around');
      this.message.textContent = `${plural(visible.length, 'operator')} are too many to lay out at once. Select one, by name or in the chart, to see what is around it.`;
      return;
    }
    const indices = new Set(visible.map((operator) => operator.index));
    const edges = this.network.edges.filter((edge) => indices.has(edge.from) && indices.has(edge.to));
    this.graph.elements().remove();
    this.graph.style(styleSheet());
    this.graph.add(elements(visible, edges, (edge) => (this.view === 'around' ? this.edgeLabel(edge) : '')));
    this.graph.resize();
    place(this.graph, visible, edges);
    this.settle();
    this.describeAll(visible.length);
  }

  private visible(): Operator[] {
    const passes = (operator: Operator) => this.constants || operator.status !== 'set_aside';
    if (this.view === 'whole') return this.network.operators.filter(passes);
    const centre = this.selection.current ?? this.network.operators[0]?.index;
    if (centre === undefined) return [];
    const near = this.network.around(centre, STEPS, MOST_AROUND, passes);
    return this.network.operators.filter((operator) => near.has(operator.index));
  }

  private edgeLabel(edge: Edge): string {
    const dumped = this.network.tensors(edge.from).find((tensor) => tensor.tensor === edge.tensor);
    return dumped ? `${edge.tensor}  ${dims(dumped.dims)}` : edge.tensor;
  }

  private settle(): void {
    if (!this.graph) return;
    const selected = this.markSelected();
    this.graph.fit(undefined, 24);
    if (this.graph.zoom() > 1.1) {
      this.graph.zoom(1.1);
      this.graph.center();
    }
    if (this.graph.zoom() < READABLE && selected?.nonempty()) {
      this.graph.zoom(0.7);
      this.graph.center(selected);
    }
  }

  private markSelected(): cytoscape.CollectionReturnValue | null {
    if (!this.graph) return null;
    this.graph.nodes().removeClass('selected');
    return this.graph.$id(String(this.selection.current)).addClass('selected');
  }

  private centre(node: cytoscape.CollectionReturnValue): void {
    if (!this.graph) return;
    if (this.graph.zoom() < READABLE) this.graph.zoom(0.7);
    this.graph.center(node);
  }

  private describeAll(count: number): void {
    const operator = this.network.operator(this.selection.current);
    const what =
      this.view === 'whole'
        ? `The whole network: ${plural(count, 'operator')}.`
        : `${count < MOST_AROUND ? '' : 'The nearest '}${plural(count, 'operator')} up to ${STEPS} steps above and below ${operator ? `#${operator.index} ${operator.name}` : 'the first one'}.`;
    this.message.textContent = printable(`${what} Drag to move, Ctrl + wheel to zoom, click to select.`);
    this.canvas.setAttribute(
      'aria-label',
      printable(`Graph. ${what} The operator section lists what feeds it and what reads it.`),
    );
  }

  private describe(index: number): string {
    const operator = this.network.operator(index);
    if (!operator) return '';
    const reason = operator.reason ? `: ${operator.reason}` : '';
    const lines = [`#${index} ${operator.type} ${operator.name}`, `${STATUSES[operator.status].label}${reason}`];
    return lines.map(printable).join('\n');
  }
}

// --- Elements, layout, looks ---

function nodeLabel(operator: Operator): string {
  const title = shorten(printable(operator.name || '(no name)'), 26);
  if (operator.status === 'set_aside') return shorten(`${operator.type} ${title}`, 20);
  const ratio = ratioOf(operator);
  const state = operator.status === 'inherited' ? 'right, inherits' : STATUSES[operator.status].label;
  return `#${operator.index} ${operator.type}\n${title}\n${state}${ratio === null ? '' : ` · ${figure(ratio)}`}`;
}

function elements(
  operators: Operator[],
  edges: Edge[],
  edgeLabel: (edge: Edge) => string,
): cytoscape.ElementDefinition[] {
  return [
    ...operators.map((operator) => ({
      group: 'nodes' as const,
      data: { id: String(operator.index), label: nodeLabel(operator), shape: STATUSES[operator.status].graphShape },
      classes: operator.status,
    })),
    ...edges.map((edge) => ({
      group: 'edges' as const,
      data: { source: String(edge.from), target: String(edge.to), label: edgeLabel(edge) },
    })),
  ];
}

/** Sugiyama's layered layout, by dagre: cytoscape only draws at the places that it gives. */
function place(graph: cytoscape.Core, operators: Operator[], edges: Edge[]): void {
  const layered = new graphlib.Graph({ multigraph: true });
  // The network simplex ranker is quadratic; beyond a few hundred operators the longest path is as good to look at.
  layered.setGraph({
    rankdir: 'TB',
    nodesep: 26,
    ranksep: 44,
    ranker: operators.length > 400 ? 'longest-path' : 'network-simplex',
  });
  layered.setDefaultEdgeLabel(() => ({}));
  for (const operator of operators) {
    layered.setNode(
      String(operator.index),
      operator.status === 'set_aside' ? { ...SMALL } : { width: WIDTH, height: HEIGHT },
    );
  }
  edges.forEach((edge, position) => layered.setEdge(String(edge.from), String(edge.to), {}, String(position)));
  dagreLayout(layered);
  graph.batch(() =>
    graph.nodes().positions((node) => {
      const at = layered.node(node.id());
      return { x: at.x ?? 0, y: at.y ?? 0 };
    }),
  );
}

function styleSheet(): cytoscape.StylesheetJson {
  const fill = (status: Status) => ({
    selector: `.${status}`,
    style: { 'background-color': color(`${status}-soft`), 'border-color': color(status) },
  });
  return [
    {
      selector: 'node',
      style: {
        shape: 'data(shape)' as never,
        width: WIDTH,
        height: HEIGHT,
        label: 'data(label)',
        color: color('text'),
        'font-family': 'system-ui, sans-serif',
        'font-size': 11,
        'line-height': 1.25,
        'text-wrap': 'wrap',
        'text-valign': 'center',
        'text-halign': 'center',
        'border-width': 1.5,
        'min-zoomed-font-size': 5,
      },
    },
    {
      selector: 'edge',
      style: {
        width: 1.3,
        'line-color': color('edge'),
        'target-arrow-color': color('edge'),
        'target-arrow-shape': 'triangle',
        'arrow-scale': 0.8,
        'curve-style': 'bezier',
        label: 'data(label)',
        color: color('muted'),
        'font-family': 'system-ui, sans-serif',
        'font-size': 9,
        'text-background-color': color('surface'),
        'text-background-opacity': 1,
        'text-background-padding': '1px',
        'min-zoomed-font-size': 6,
      },
    },
    fill('right'),
    fill('inherited'),
    fill('broken'),
    fill('consequence'),
    { selector: '.broken, .consequence', style: { 'border-width': 4, 'font-weight': 'bold' } },
    {
      selector: '.not_judged',
      style: {
        'background-color': color('surface'),
        'border-color': color('not_judged'),
        'border-style': 'dashed',
        'border-width': 2.5,
      },
    },
    {
      selector: '.set_aside',
      style: {
        ...SMALL,
        'background-opacity': 0,
        'border-color': color('line'),
        'border-width': 1,
        color: color('muted'),
        'font-size': 9,
      },
    },
    {
      selector: '.selected',
      style: {
        'outline-color': color('accent'),
        'outline-width': 4,
        'outline-offset': 3,
        'outline-opacity': 1,
      } as never,
    },
  ];
}
