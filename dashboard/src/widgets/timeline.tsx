/** Timeline: which task ran where and when, and where it waited. */
import { memo, useMemo, useState } from "react";
import { type Bar, type Timeline, timeline } from "../analysis/devices";
import { devicesOf } from "../analysis/pulse";
import { usePanelData } from "../charts/panel-data";
import { deviceLabel, formatNumber, formatSeconds, formatTimes } from "../format";
import { useCatalogue } from "../live/catalogue";
import { useRecent } from "../live/recent";
import { useLive } from "../live/store";
import { inspect } from "../shell/inspected";
import { Empty } from "../ui/empty";
import { Segmented } from "../ui/segmented";
import { useSize } from "../ui/size";
import type { WidgetProps } from ".";

export const title = "Timeline";
export const help =
  "One lane per device, simulated time to the right: a block is a part of a task at work, the thin line before it is the time it waited since it arrived. Triangles mark tasks that were started out of order: pointing right, it went before one that was ready earlier; pointing left, it was overtaken. Click or tab to a block to inspect its task.";

const COUNTS = [
  { value: "15", label: "15 tasks" },
  { value: "40", label: "40" },
  { value: "100", label: "100" },
] as const;
const LABEL = 52;
const AXIS = 20;

function TimelinePanel({ scheduler }: WidgetProps) {
  const { items } = useRecent();
  const { find } = useCatalogue();
  const sample = useLive((state) => state.pulse.at(-1));
  const [count, setCount] = useState<(typeof COUNTS)[number]["value"]>("40");
  const known = sample === undefined ? "" : Object.keys(devicesOf(sample, scheduler)).join();
  const chart = useMemo(
    () => timeline(items, scheduler, Number(count), known === "" ? [] : known.split(",")),
    [items, scheduler, count, known],
  );
  usePanelData(() => ({
    columns: ["task", "device", "share", "arrival (s)", "start (s)", "end (s)", "overtaken", "overtook"],
    rows: chart.bars.map((bar) => [
      bar.taskId,
      bar.device,
      bar.share,
      bar.arrival,
      bar.start,
      bar.end,
      bar.overtaken,
      bar.overtook,
    ]),
  }));
  if (chart.bars.length === 0) return <Empty waitsFor="the first stored task of this scheduler" />;
  return (
    <div className="flex h-full flex-col gap-2">
      <div className="flex flex-wrap items-center gap-3 text-xs text-dim">
        <Segmented label="How many tasks" value={count} options={COUNTS} onChange={setCount} />
        <span>
          {formatSeconds(chart.to - chart.from)} of simulated time, newest task {chart.bars[0]?.taskId}
        </span>
        {find(scheduler)?.lets_wait && <Legend />}
      </div>
      <Gantt chart={chart} scheduler={scheduler} />
    </div>
  );
}

function Legend() {
  return (
    <ul className="flex flex-wrap gap-x-3 gap-y-1" data-testid="timeline-legend">
      {(
        [
          ["right", "went before an older task"],
          ["left", "was overtaken"],
        ] as const
      ).map(([way, words]) => (
        <li key={way} className="flex items-center gap-1">
          <svg width={10} height={10} aria-hidden>
            <Mark way={way} x={1} y={1} />
          </svg>
          {words}
        </li>
      ))}
    </ul>
  );
}

/** A triangle of eight pixels, with a rim that sets it off from a block of any colour. */
function Mark({ way, x, y }: { way: "left" | "right"; x: number; y: number }) {
  const points =
    way === "right" ? `${x},${y} ${x + 8},${y + 4} ${x},${y + 8}` : `${x + 8},${y} ${x},${y + 4} ${x + 8},${y + 8}`;
  return <polygon points={points} fill="var(--ink)" stroke="var(--solid)" strokeWidth={1.5} paintOrder="stroke" />;
}

const Gantt = memo(function Gantt({ chart, scheduler }: { chart: Timeline; scheduler: string }) {
  const [ref, { width, height }] = useSize<HTMLDivElement>();
  const { colour } = useCatalogue();
  const lane = Math.max(14, (height - AXIS) / Math.max(1, chart.devices.length));
  const span = Math.max(chart.to - chart.from, 1e-9);
  const x = (time: number) =>
    LABEL + ((Math.max(time, chart.from) - chart.from) / span) * Math.max(0, width - LABEL - 8);
  const ticks = Array.from(
    { length: width > 500 ? 6 : 3 },
    (_, index, all = width > 500 ? 5 : 2) => chart.from + (span * index) / all,
  );
  return (
    <div ref={ref} className="min-h-0 grow overflow-x-hidden overflow-y-auto">
      {width > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be inside SVG.
        <svg
          width={width}
          height={Math.max(height - 1, chart.devices.length * 14 + AXIS)}
          role="group"
          aria-label={`Timeline of ${chart.bars.length} parts on ${chart.devices.length} devices`}
        >
          {chart.devices.map((device, row) => (
            <g key={device}>
              <rect
                x={LABEL}
                y={row * lane + 1}
                width={Math.max(0, width - LABEL)}
                height={lane - 3}
                rx={4}
                fill="var(--track)"
              />
              <text x={0} y={row * lane + lane / 2 + 4} fontSize={12} fill="var(--ink-dim)">
                {deviceLabel(device)}
              </text>
            </g>
          ))}
          {chart.bars.map((bar) => (
            <Block
              key={`${bar.taskId} ${bar.device}`}
              bar={bar}
              from={x(bar.start)}
              to={x(bar.end)}
              waitFrom={x(bar.arrival)}
              top={chart.devices.indexOf(bar.device) * lane}
              lane={lane}
              colour={colour(scheduler)}
              scheduler={scheduler}
            />
          ))}
          {ticks.map((tick, index) => (
            <text
              key={tick}
              x={x(tick)}
              y={chart.devices.length * lane + 14}
              fontSize={11}
              fill="var(--ink-dim)"
              textAnchor={index === 0 ? "start" : index === ticks.length - 1 ? "end" : "middle"}
            >
              {formatNumber(tick, 4)} s
            </text>
          ))}
        </svg>
      )}
    </div>
  );
});

interface BlockProps {
  bar: Bar;
  from: number;
  to: number;
  waitFrom: number;
  top: number;
  lane: number;
  colour: string;
  scheduler: string;
}

function Block({ bar, from, to, waitFrom, top, lane, colour, scheduler }: BlockProps) {
  const overtaken = (bar.overtaken ?? 0) > 0;
  const order = `${bar.overtook ? ", went before an older task" : ""}${overtaken ? `, was overtaken ${formatTimes(bar.overtaken)}` : ""}`;
  const label = `Task ${bar.taskId} on ${deviceLabel(bar.device)}: waited ${formatSeconds(bar.start - bar.arrival)}, ran ${formatSeconds(bar.end - bar.start)}${order}`;
  const open = () => inspect(bar.taskId, scheduler);
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no button element.
    <g
      role="button"
      tabIndex={0}
      aria-label={label}
      className="cursor-pointer hover:opacity-80"
      data-testid="timeline-block"
      data-overtook={bar.overtook}
      data-overtaken={bar.overtaken ?? ""}
      onClick={open}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        open();
      }}
    >
      <title>{label}</title>
      {from - waitFrom > 1 && (
        <line
          x1={waitFrom}
          x2={from}
          y1={top + lane / 2}
          y2={top + lane / 2}
          stroke="var(--ink-dim)"
          strokeWidth={1.5}
          strokeDasharray="3 3"
        />
      )}
      <rect
        x={from}
        y={top + 3}
        width={Math.max(2, to - from)}
        height={lane - 7}
        rx={3}
        fill={colour}
        fillOpacity={bar.taskId % 2 === 0 ? 0.9 : 0.62}
        stroke="var(--solid)"
        strokeWidth={0.5}
      />
      {bar.overtook && <Mark way="right" x={from} y={top + 3} />}
      {overtaken && <Mark way="left" x={from} y={top + lane - 12} />}
    </g>
  );
}

export { TimelinePanel as component };
