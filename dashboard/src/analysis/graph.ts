/** Tasks and their dependencies laid out in layers, and what the critical path says in words. */
import type { TaskGraph } from "../api/types";
import { formatMoment, formatSeconds } from "../format";

export type GraphTask = TaskGraph["tasks"][number];
export type CriticalStep = TaskGraph["critical_path"][number];

export interface GraphNode {
  task: GraphTask;
  /** How many tasks must follow each other before this one: its column. */
  layer: number;
  row: number;
  /** Its place on the critical path. */
  step: CriticalStep | null;
}

export interface GraphEdge {
  from: GraphNode;
  to: GraphNode;
  /** Whether the critical path goes along here, and why: over a dependency or an occupied device. */
  critical: "parent" | "device" | null;
}

export interface GraphLayout {
  nodes: GraphNode[];
  /** Those of the critical path come last, so that they are drawn on top. */
  edges: GraphEdge[];
  layers: number;
  rows: number;
  /** Dependencies on tasks that are not among these. */
  outside: number;
}

/**
 * Every task one layer behind the last of its parents; within a layer near the mean of their rows, those of equal mean in
 * the order of their ids, and the layer as a whole not below those before it if there is room above. A task that comes later
 * has no effect on the layers before its own.
 */
export function layout({ tasks, critical_path: path }: Pick<TaskGraph, "tasks" | "critical_path">): GraphLayout {
  const steps = new Map(path.map((step) => [step.task_id, step]));
  const nodes = new Map<number, GraphNode>();
  for (const task of tasks) nodes.set(task.task_id, { task, layer: -1, row: 0, step: steps.get(task.task_id) ?? null });
  const parentsOf = (node: GraphNode) =>
    node.task.parents.map((parent) => nodes.get(parent.task_id)).filter((parent) => parent !== undefined);
  const layers: GraphNode[][] = [];
  const place = (node: GraphNode): number => {
    if (node.layer < 0) {
      node.layer = Math.max(-1, ...parentsOf(node).map(place)) + 1;
      layers[node.layer] = [...(layers[node.layer] ?? []), node];
    }
    return node.layer;
  };
  for (const node of nodes.values()) place(node);
  let height = 0;
  for (const layer of layers) {
    const wanted = new Map(layer.map((node) => [node, mean(parentsOf(node).map((parent) => parent.row))]));
    const at = (node: GraphNode) => wanted.get(node) ?? 0;
    let free = 0;
    for (const node of layer.sort((a, b) => at(a) - at(b) || a.task.task_id - b.task.task_id)) {
      node.row = Math.max(free, Math.round(at(node)));
      free = node.row + 1;
    }
    // Only ever making room below would turn a graph of equal layers into a staircase.
    height = Math.max(height, layer.length);
    const lift = Math.min(Math.max(0, free - height), layer[0]?.row ?? 0);
    for (const node of layer) node.row -= lift;
    height = Math.max(height, free - lift);
  }
  const all = [...nodes.values()];
  return {
    nodes: all,
    edges: edgesBetween(all, nodes, path),
    layers: layers.length,
    rows: height,
    outside: all.reduce((sum, { task }) => sum + task.parents.filter(({ task_id }) => !nodes.has(task_id)).length, 0),
  };
}

function mean(values: number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function edgesBetween(all: GraphNode[], nodes: Map<number, GraphNode>, path: CriticalStep[]): GraphEdge[] {
  const before = new Map(path.slice(1).map((step, index) => [step.task_id, path[index]?.task_id]));
  const plain: GraphEdge[] = [];
  for (const to of all) {
    for (const { task_id } of to.task.parents) {
      const from = nodes.get(task_id);
      if (from !== undefined && before.get(to.task.task_id) !== task_id) plain.push({ from, to, critical: null });
    }
  }
  const critical = path.flatMap(({ task_id, waited_for }): GraphEdge[] => {
    const [from, to] = [nodes.get(before.get(task_id) ?? -1), nodes.get(task_id)];
    return from && to && waited_for !== null ? [{ from, to, critical: waited_for }] : [];
  });
  return [...plain, ...critical];
}

/** Where an arrow key leads: along the dependencies, the critical path first, or up and down within the layer. */
export function neighbour({ nodes, edges }: GraphLayout, node: GraphNode, key: string): GraphNode | undefined {
  const along = (mine: "from" | "to", other: "from" | "to") =>
    edges.filter((edge) => edge[mine] === node && edge.critical !== "device").at(-1)?.[other];
  if (key === "ArrowLeft") return along("to", "from");
  if (key === "ArrowRight") return along("from", "to");
  const above = key === "ArrowUp";
  if (!above && key !== "ArrowDown") return undefined;
  const column = nodes.filter(({ layer, row }) => layer === node.layer && (above ? row < node.row : row > node.row));
  return column.sort((a, b) => (above ? b.row - a.row : a.row - b.row))[0];
}

/** The graph in two sentences: what a picture of it would show. */
export function summary({ nodes, layers }: GraphLayout, path: readonly CriticalStep[]): string {
  const dependencies = nodes.reduce((sum, { task }) => sum + task.parents.length, 0);
  const size = `${counted(nodes.length, "task")} in ${counted(layers, "layer")}, ${counted(dependencies, "dependency", "dependencies")}.`;
  const [first, last] = [path[0], path.at(-1)];
  if (first === undefined || last === undefined) return size;
  const ended = `Task ${last.task_id} ended last, at ${formatMoment(last.end)}`;
  if (path.length === 1) return `${size} ${ended}, and had waited for none of the others.`;
  const work = path.reduce((sum, { start, end }) => sum + end - start, 0);
  const idle = Math.max(0, last.end - first.start - work);
  return `${size} ${ended}: ${path.length} tasks on its critical path, ${formatSeconds(work)} at work, ${formatSeconds(idle)} between them.`;
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-GB")} ${count === 1 ? one : many}`;
}
