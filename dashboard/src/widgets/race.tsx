/** Race: who needs least, on the same tasks. */
import { memo, useState } from "react";
import { type MetricId, ranked } from "../analysis/metrics";
import { makeScale, type Scale, type ScaleChoice } from "../analysis/scale";
import type { ComparisonEntry } from "../api/types";
import { usePanelData } from "../charts/panel-data";
import { schedulerLabel } from "../format";
import { useCatalogue } from "../live/catalogue";
import { useRaceMetric, useRaceMetrics } from "../live/metric-catalogue";
import { recent } from "../live/recent";
import { useUpdate } from "../live/store";
import { inspect } from "../shell/inspected";
import { Empty } from "../ui/empty";
import { SchedulerDot } from "../ui/scheduler-name";
import { Segmented } from "../ui/segmented";

export const title = "Race";
export const help =
  "Each bar is a scheduler's mean per task over this run: shorter is better. Two ticks cross every bar: the lower bound that nobody can beat, and the oracle in its own colour. The per cent behind the response is the gap: how far it is above the bound of the very tasks that scheduler finished; click a bar to see the scheduler's latest decision.";

const ROW_HEIGHT = 44;
const SCALES = [
  { value: "auto", label: "Auto" },
  { value: "linear", label: "Linear" },
  { value: "log", label: "Log" },
] as const;

function RacePanel() {
  const update = useUpdate();
  const { reference, colour } = useCatalogue();
  const [metricId, setMetricId] = useState<MetricId>("response");
  const [choice, setChoice] = useState<ScaleChoice>("auto");
  const metrics = useRaceMetrics();
  const metric = useRaceMetric(metricId);
  const gap = useRaceMetric("gap");
  const comparison = update?.comparison ?? [];
  const order = ranked(comparison, metric);
  const bound = metric.mean === "gap" ? null : (update?.lower_bound[metric.mean] ?? null);
  const oracleColour = colour(reference?.name ?? "");
  const oracle = comparison.find((entry) => entry.name === reference?.name)?.[metric.mean] ?? null;

  usePanelData(() => ({
    columns: ["rank", "scheduler", `mean ${metric.label.toLowerCase()} (${metric.unit})`, "gap", "tasks", "overloaded"],
    rows: [
      ...order.map((entry, rank) => [
        rank + 1,
        entry.name,
        entry[metric.mean],
        entry.gap,
        entry.tasks,
        entry.overloaded,
      ]),
      [null, "lower bound", bound, null, update?.tasks_processed ?? null, null],
    ],
  }));

  const values = [...comparison.map((entry) => entry[metric.mean]), bound].filter((value) => value !== null);
  if (comparison.every((entry) => entry.avg_response === null)) return <Empty waitsFor="the first finished task" />;
  const choose = (
    <Segmented
      label="Metric"
      value={metricId}
      options={metrics.map((each) => ({ value: each.id, label: each.label }))}
      onChange={setMetricId}
    />
  );
  if (values.length === 0)
    return (
      <div className="flex h-full flex-col gap-2">
        <div>{choose}</div>
        <Empty>No data: the {metric.label.toLowerCase()} of real work is not known here</Empty>
      </div>
    );
  const scale = makeScale(values, choice);
  const inspectLatest = (name: string) => {
    const stored = recent.get().items.find((item) => item.results[name] !== undefined);
    const latest = stored?.task_id ?? update?.task?.id;
    if (latest !== undefined) inspect(latest, name);
  };

  return (
    <div className="flex h-full flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        {choose}
        <Segmented label="Scale" value={choice} options={SCALES} onChange={setChoice} />
        {scale.kind === "log" && <span className="text-xs text-dim">each step is 10 ×</span>}
      </div>
      <div className="min-h-0 grow overflow-x-hidden overflow-y-auto pr-1">
        <ol className="relative" style={{ height: order.length * ROW_HEIGHT }} aria-label={`Mean ${metric.label}`}>
          {/* The order of elements stays; only their place moves, so that a bar can be seen overtaking. */}
          {comparison.map((entry) => (
            <RaceBar
              key={entry.name}
              entry={entry}
              value={entry[metric.mean]}
              text={metric.format(entry[metric.mean])}
              gap={metric.id === "response" && entry.gap !== null ? `+${gap.format(entry.gap)}` : ""}
              rank={order.indexOf(entry)}
              scale={scale}
              colour={colour(entry.name)}
              bound={bound}
              oracle={oracle}
              oracleColour={oracleColour}
              onInspect={inspectLatest}
            />
          ))}
        </ol>
        <Ticks scale={scale} format={metric.format} />
      </div>
      <p className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-dim">
        <span data-testid="race-bound" data-value={bound ?? ""}>
          <span aria-hidden className="mr-1.5 inline-block h-2.5 w-[3px] rounded bg-ink align-middle" />
          lower bound <span className="figure text-ink">{metric.format(bound)}</span>
        </span>
        {reference !== undefined && (
          <span data-testid="race-oracle" data-value={oracle ?? ""}>
            <span
              aria-hidden
              className="mr-1.5 inline-block h-2.5 w-[3px] rounded align-middle"
              style={{ backgroundColor: oracleColour }}
            />
            {schedulerLabel(reference.name)} <span className="figure text-ink">{metric.format(oracle)}</span>
          </span>
        )}
      </p>
    </div>
  );
}

interface RaceBarProps {
  entry: ComparisonEntry;
  value: number | null;
  text: string;
  /** How far it is above the bound; empty where that is not what is shown. */
  gap: string;
  rank: number;
  scale: Scale;
  colour: string;
  bound: number | null;
  oracle: number | null;
  oracleColour: string;
  onInspect: (name: string) => void;
}

const RaceBar = memo(function RaceBar(props: RaceBarProps) {
  const { entry, value, text, gap, rank, scale, colour, bound, oracle, oracleColour, onInspect } = props;
  const share = value === null ? 0 : Math.max(scale.position(value), 0.004);
  return (
    <li
      className="absolute inset-x-0 transition-transform duration-500 ease-out"
      style={{ height: ROW_HEIGHT, transform: `translateY(${rank * ROW_HEIGHT}px)` }}
    >
      <button
        type="button"
        className="block h-[40px] w-full rounded-lg px-1 text-left hover:bg-raised"
        data-testid="race-bar"
        data-scheduler={entry.name}
        data-value={value ?? ""}
        onClick={() => onInspect(entry.name)}
      >
        <span className="flex items-center gap-1.5 text-[13px] leading-5">
          <span className="figure w-4 text-right text-xs text-dim">{rank + 1}</span>
          <SchedulerDot colour={colour} />
          <span className="truncate font-medium">{schedulerLabel(entry.name)}</span>
          <RacerTag entry={entry} />
          <span className="figure ml-auto">{text}</span>
          {gap !== "" && (
            <span
              className="figure min-w-14 text-right text-xs text-dim"
              title="above the lower bound of the same tasks"
              data-testid="race-gap"
              data-value={entry.gap ?? ""}
            >
              {gap}
            </span>
          )}
          <span className="sr-only">: inspect its latest decision</span>
        </span>
        {/* A full bar pushed to the left: moves on the compositor, where a changing width would lay out every frame. */}
        <span className="relative mt-0.5 block h-3.5 overflow-hidden rounded-full bg-(--track)">
          <span
            className="absolute inset-0 rounded-full border border-ink/20 transition-transform duration-300 ease-linear"
            style={{ backgroundColor: colour, transform: `translateX(${(share - 1) * 100}%)` }}
          />
          <Tick at={bound} scale={scale} colour="var(--ink)" />
          <Tick at={oracle} scale={scale} colour={oracleColour} />
        </span>
      </button>
    </li>
  );
});

/** The rim sets the tick off from a bar of any colour. */
/** Out of the race, hopelessly behind, or only overloaded; the reason is in its title. */
function RacerTag({ entry }: { entry: ComparisonEntry }) {
  const word = { racing: entry.overloaded ? "overloaded" : "", behind: "hopelessly behind", out: "out" }[entry.state];
  if (word === "") return null;
  return (
    <span className="tag text-bad" title={entry.reason}>
      {word}
    </span>
  );
}

function Tick({ at, scale, colour }: { at: number | null; scale: Scale; colour: string }) {
  if (at === null) return null;
  return (
    <span
      className="absolute inset-y-0 w-[3px] -translate-x-1/2 ring-1 ring-ground"
      style={{ left: `${scale.position(at) * 100}%`, backgroundColor: colour }}
    />
  );
}

function Ticks({ scale, format }: { scale: Scale; format: (value: number) => string }) {
  return (
    <div aria-hidden className="relative mx-1 h-4 text-[11px] text-dim">
      {scale.ticks.map((tick) => {
        const at = scale.position(tick);
        const shift = at < 0.06 ? "0" : at > 0.94 ? "-100%" : "-50%";
        return (
          <span
            key={tick}
            className="figure absolute"
            style={{ left: `${at * 100}%`, transform: `translateX(${shift})` }}
          >
            {format(tick)}
          </span>
        );
      })}
    </div>
  );
}

export { RacePanel as component };
