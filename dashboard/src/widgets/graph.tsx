/** Graph: tasks and what they depend on, where each ran, and the critical path. */
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { type GraphNode, layout, summary } from "../analysis/graph";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import type { StoredRun, TaskGraph } from "../api/types";
import { usePanelData } from "../charts/panel-data";
import { CRITICAL, describe, deviceLetters, TaskGraphPicture } from "../charts/task-graph";
import { deviceColours } from "../charts/theme";
import { deviceLabel } from "../format";
import { useUpdate } from "../live/store";
import { inspect } from "../shell/inspected";
import { Empty } from "../ui/empty";
import { RunSelect } from "../ui/run-select";
import { ScrollRegion } from "../ui/scroll-region";
import { Segmented } from "../ui/segmented";
import { useSize } from "../ui/size";
import type { WidgetProps } from ".";

export const title = "Graph";
export const help =
  "Tasks that depend on each other, as this scheduler placed them: a box is a task with its number and its device, a line leads from a parent to the task that waits for it. The thick line is the critical path, why the last task ended when it did: going back from it, each task waited for its last parent or, where the line is dashed, for the task before it on its device. Click a box, or go there with Tab and the arrow keys and press Enter, to inspect its task; the picture stands still while you look.";

const RUNNING_MS = 2_000;
const RESTING_MS = 15_000;
const RUNS_MS = 30_000;
const SCROLL_BAR = 16;
const COUNTS = [
  { value: "50", label: "50 tasks" },
  { value: "100", label: "100" },
  { value: "200", label: "200" },
] as const;
type Count = (typeof COUNTS)[number]["value"];

async function readRuns(signal: AbortSignal): Promise<StoredRun[]> {
  return (await api.runs({}, signal)).items;
}

function GraphPanel({ scheduler }: WidgetProps) {
  const update = useUpdate();
  const live = update?.run_id ?? null;
  const [picked, setPicked] = useState<number | null>(null);
  const [count, setCount] = useState<Count>("100");
  const runs = useResource(readRuns, RUNS_MS);
  const run = picked ?? live;
  const load = useCallback(
    async (signal: AbortSignal) => ({
      run,
      graph: await api.graph({ scheduler, limit: Number(count), run_id: run }, signal),
    }),
    [scheduler, count, run],
  );
  const moving = picked === null && update?.state === "running";
  const { data, error } = useResource(load, moving ? RUNNING_MS : RESTING_MS);
  const current = data?.run === run && data.graph.scheduler_name === scheduler ? data.graph : null;
  const [held, hold] = useState<TaskGraph | null>(null);
  const graph = held !== null && held.run_id === current?.run_id ? held : current;
  const others = runs.data?.filter(({ id, schedulers }) => id !== live && schedulers.includes(scheduler)) ?? [];
  return (
    <div className="flex h-full flex-col gap-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Segmented label="How many tasks" value={count} options={COUNTS} onChange={setCount} />
        {others.length > 0 && (
          <RunSelect
            label="Run"
            value={picked}
            runs={others}
            onPick={setPicked}
            none={live === null ? "the newest" : "live"}
          />
        )}
      </div>
      {graph === null ? (
        <Empty waitsFor={error === null ? "the graph" : undefined}>{error ?? undefined}</Empty>
      ) : graph.tasks.length === 0 ? (
        <NoGraph searched={graph.searched} />
      ) : (
        // biome-ignore lint/a11y/noStaticElementInteractions: it takes no input, it only notices that somebody looks.
        <div
          className="flex min-h-0 grow flex-col"
          onPointerEnter={() => hold(current)}
          onPointerLeave={() => hold(null)}
          onFocus={() => hold(held ?? current)}
          onBlur={() => hold(null)}
        >
          <Drawn graph={graph} scheduler={scheduler} />
        </div>
      )}
    </div>
  );
}

function NoGraph({ searched }: { searched: number }): ReactNode {
  usePanelData(() => ({ columns: [], rows: [] }));
  if (searched === 0) return <Empty waitsFor="the first stored task of this scheduler" />;
  return (
    <Empty>
      These tasks do not depend on each other, so there is no graph to draw. Race a trace whose tasks name others as
      dependencies, put tasks of your own into the race that wait for others, or choose a stored run that has some:{" "}
      <code>hms compare --dependency-prob 0.3 --store</code> keeps one.
    </Empty>
  );
}

function Drawn({ graph, scheduler }: { graph: TaskGraph; scheduler: string }) {
  const [ref, { width }] = useSize<HTMLDivElement>();
  const [looked, look] = useState<number | null>(null);
  const laid = useMemo(() => layout(graph), [graph]);
  const colours = useMemo(() => deviceColours(graph.devices), [graph]);
  const told = useMemo(() => summary(laid, graph.critical_path), [laid, graph]);
  const onLook = useCallback((node: GraphNode) => look(node.task.task_id), []);
  const onOpen = useCallback((node: GraphNode) => inspect(node.task.task_id, scheduler), [scheduler]);
  usePanelData(() => ({
    columns: ["task", "kind", "size", "layer", "parents", "devices", "arrival (s)", "start (s)", "end (s)", "critical"],
    rows: laid.nodes.map(({ task, layer, step }) => [
      task.task_id,
      task.kind,
      task.size,
      layer,
      task.parents.map(({ task_id }) => task_id).join(" "),
      task.parts.map(({ device }) => device).join(" "),
      task.arrival_time,
      task.start,
      task.end,
      step === null ? "" : (step.waited_for ?? "first"),
    ]),
  }));
  const last = laid.nodes.find(({ task }) => task.task_id === graph.critical_path.at(-1)?.task_id) ?? laid.nodes[0];
  const chosen = laid.nodes.find(({ task }) => task.task_id === looked);
  const used = graph.devices.filter((device) =>
    graph.tasks.some(({ parts }) => parts.some((part) => part.device === device)),
  );
  return (
    <>
      <div ref={ref} className="min-h-0 grow">
        <ScrollRegion label="Graph of tasks">
          {width > 0 && last !== undefined && (
            <TaskGraphPicture
              graph={laid}
              width={width - SCROLL_BAR}
              summary={told}
              colours={colours}
              current={chosen ?? last}
              onLook={onLook}
              onOpen={onOpen}
            />
          )}
        </ScrollRegion>
      </div>
      <Legend devices={used} colours={colours} waits={graph.critical_path} />
      {/* Of one height, whatever it says: nothing above may move while somebody looks. */}
      <p className="h-10 overflow-y-auto text-xs leading-5 text-dim @max-sm:h-15" data-testid="graph-words">
        {chosen === undefined ? told : describe(chosen)}
        {chosen === undefined && laid.outside > 0 && ` ${laid.outside} of these on tasks that are not shown.`}
      </p>
    </>
  );
}

interface LegendProps {
  devices: readonly string[];
  colours: Record<string, string>;
  waits: TaskGraph["critical_path"];
}

function Legend({ devices, colours, waits }: LegendProps) {
  const lines = [
    ["parent", "critical: waited for a parent"],
    ["device", "for the device"],
  ] as const;
  return (
    <ul className="flex flex-wrap gap-x-3 text-xs text-dim" data-testid="graph-legend">
      {devices.map((device) => (
        <li key={device} className="flex items-center gap-1">
          <span
            aria-hidden
            className="size-2.5 rounded-sm"
            style={{ background: colours[device] ?? "var(--ink-dim)" }}
          />
          <b className="font-semibold text-ink">{deviceLetters(device)}</b> {deviceLabel(device)}
        </li>
      ))}
      {lines
        .filter(([reason]) => waits.some(({ waited_for }) => waited_for === reason))
        .map(([reason, words]) => (
          <li key={reason} className="flex items-center gap-1">
            <svg width={24} height={8} aria-hidden>
              <line x1={0} x2={24} y1={4} y2={4} {...CRITICAL[reason]} />
            </svg>
            {words}
          </li>
        ))}
    </ul>
  );
}

export { GraphPanel as component };
