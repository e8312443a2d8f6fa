/** The picture of a task graph: layers to the right, devices by colour and letter, the critical path thick. */
import { type KeyboardEvent, memo } from "react";
import { type GraphEdge, type GraphLayout, type GraphNode, neighbour } from "../analysis/graph";
import { deviceLabel, formatMoment, formatNumber, formatSeconds } from "../format";

const WIDTH = 58;
const HEIGHT = 30;
const ROW = 38;
const EDGE_OF_PICTURE = 6;
const [LEAST_COLUMN, MOST_COLUMN] = [84, 150];
/** Lines along the critical path: for a parent, for an occupied device. */
export const CRITICAL = {
  parent: { stroke: "var(--ink)", strokeWidth: 3 },
  device: { stroke: "var(--ink)", strokeWidth: 3, strokeDasharray: "6 4" },
} as const;

/** "gpu_2" → "G2": a device in few letters, so that nobody needs the colours. */
export function deviceLetters(device: string): string {
  const short = device.replace(/(cpu|gpu)_?(\d*)/g, (_, kind: string, number: string) => {
    return `${kind.charAt(0).toUpperCase()}${number}`;
  });
  return short.length > 6 ? `${short.slice(0, 5)}…` : short;
}

function devicesOf({ task }: GraphNode): string {
  const [first, second, ...more] = task.parts.map(({ device }) => deviceLetters(device));
  if (first === undefined) return "failed";
  if (second === undefined) return first;
  return more.length === 0 ? `${first}+${second}` : `${first} +${more.length + 1}`;
}

/** All there is to say about one task. */
export function describe({ task, step }: GraphNode): string {
  const where = task.parts.map(({ device }) => deviceLabel(device)).join(" and ");
  const ran = task.start === null || task.end === null ? "" : formatSeconds(task.end - task.start);
  const when =
    ran === "" ? "failed" : `on ${where} from ${formatMoment(task.start)} to ${formatMoment(task.end)} (${ran})`;
  const parents = task.parents.map(
    ({ task_id, megabytes }) => `${task_id}${megabytes === null ? "" : ` (${formatNumber(megabytes)} MB)`}`,
  );
  const after = parents.length === 0 ? "" : `, after ${parents.length === 1 ? "task" : "tasks"} ${parents.join(", ")}`;
  const waited = { parent: ": it waited for its parent", device: `: it waited for ${deviceLabel(step?.device ?? "")}` };
  const critical = step === null ? "" : ` On the critical path${step.waited_for ? waited[step.waited_for] : ""}.`;
  return `Task ${task.task_id}, ${task.kind ?? "kind unknown"}, size ${formatNumber(task.size)}, ${when}${after}.${critical}`;
}

interface TaskGraphPictureProps {
  graph: GraphLayout;
  /** Of the box it is drawn in. */
  width: number;
  summary: string;
  colours: Record<string, string>;
  /** The one that Tab leads to. */
  current: GraphNode;
  onLook: (node: GraphNode) => void;
  onOpen: (node: GraphNode) => void;
}

export const TaskGraphPicture = memo(function TaskGraphPicture(props: TaskGraphPictureProps) {
  const { graph, width, summary, colours, current, onLook, onOpen } = props;
  const room = (width - WIDTH - 2 * EDGE_OF_PICTURE) / Math.max(1, graph.layers - 1);
  const column = Math.min(MOST_COLUMN, Math.max(LEAST_COLUMN, room));
  const left = ({ layer }: GraphNode) => EDGE_OF_PICTURE + layer * column;
  const top = ({ row }: GraphNode) => EDGE_OF_PICTURE + row * ROW;
  const press = (event: KeyboardEvent<SVGGElement>, node: GraphNode) => {
    const next = neighbour(graph, node, event.key);
    if (next !== undefined) {
      const picture = event.currentTarget.ownerSVGElement;
      picture?.querySelector<SVGGElement>(`[data-task="${next.task.task_id}"]`)?.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      onOpen(node);
    } else if (!event.key.startsWith("Arrow")) {
      return;
    }
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be inside SVG.
    <svg
      width={2 * EDGE_OF_PICTURE + WIDTH + (graph.layers - 1) * column}
      height={2 * EDGE_OF_PICTURE + HEIGHT + (graph.rows - 1) * ROW}
      role="group"
      aria-label={summary}
    >
      {graph.edges.map((edge) => (
        <path
          key={`${edge.from.task.task_id} ${edge.to.task.task_id} ${edge.critical}`}
          d={curve(edge, left, top)}
          fill="none"
          data-testid="graph-edge"
          data-critical={edge.critical ?? ""}
          {...(edge.critical === null
            ? { stroke: "var(--ink-dim)", strokeOpacity: 0.55, strokeWidth: 1 }
            : CRITICAL[edge.critical])}
        />
      ))}
      {graph.nodes.map((node) => (
        // biome-ignore lint/a11y/useSemanticElements: SVG has no button element.
        <g
          key={node.task.task_id}
          role="button"
          tabIndex={node === current ? 0 : -1}
          // It begins with what is written in the box, for those who say what they see.
          aria-label={`${node.task.task_id} ${devicesOf(node)}: ${describe(node)}`}
          className="cursor-pointer"
          transform={`translate(${left(node)} ${top(node)})`}
          data-testid="graph-task"
          data-task={node.task.task_id}
          data-critical={node.step !== null}
          onFocus={() => onLook(node)}
          onPointerEnter={() => onLook(node)}
          onClick={() => onOpen(node)}
          onKeyDown={(event) => press(event, node)}
        >
          <Box node={node} colours={colours} />
        </g>
      ))}
    </svg>
  );
});

/** One stripe for each device, as wide as its share. */
function Box({ node, colours }: { node: GraphNode; colours: Record<string, string> }) {
  const critical = node.step !== null;
  const failed = node.task.parts.length === 0;
  let from = 0;
  const stripes = node.task.parts.map(({ device, share }) => {
    const stripe = { device, x: from, width: share * WIDTH };
    from += stripe.width;
    return stripe;
  });
  return (
    <>
      <rect width={WIDTH} height={HEIGHT} rx={5} fill="var(--solid)" />
      {stripes.map(({ device, x, width }) => (
        <rect key={device} x={x} width={width} height={HEIGHT} rx={5} fill={colours[device]} fillOpacity={0.45} />
      ))}
      <rect
        width={WIDTH}
        height={HEIGHT}
        rx={5}
        fill="none"
        stroke={critical ? "var(--ink)" : failed ? "var(--bad)" : (colours[stripes[0]?.device ?? ""] ?? "var(--line)")}
        strokeWidth={critical ? 3 : 1.5}
      />
      <text x={WIDTH / 2} y={12} textAnchor="middle" fontSize={10} fill="var(--ink)">
        {node.task.task_id}
      </text>{" "}
      <text x={WIDTH / 2} y={25} textAnchor="middle" fontSize={11} fontWeight={600} fill="var(--ink)">
        {devicesOf(node)}
      </text>
    </>
  );
}

type Where = (node: GraphNode) => number;

/** From the right of the one to the left of the other; a device may also be occupied by a task of a later layer. */
function curve({ from, to }: GraphEdge, left: Where, top: Where): string {
  if (to.layer > from.layer) {
    const [x, y] = [left(from) + WIDTH, top(from) + HEIGHT / 2];
    const [endX, endY] = [left(to), top(to) + HEIGHT / 2];
    const half = (x + endX) / 2;
    return `M${x} ${y}C${half} ${y} ${half} ${endY} ${endX} ${endY}`;
  }
  const down = to.row >= from.row;
  const [x, y] = [left(from) + WIDTH / 2, top(from) + (down ? HEIGHT : 0)];
  return `M${x} ${y}L${left(to) + WIDTH / 2} ${top(to) + (down ? 0 : HEIGHT)}`;
}
