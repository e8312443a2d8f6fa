/** Trends: the data collected so far and how the best choice moved. */
import { useMemo } from "react";
import { CartesianGrid, Line, LineChart, Tooltip, XAxis, YAxis } from "recharts";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import type { TrainingRecord } from "../api/types";
import { ChartFrame } from "../charts/frame";
import { usePanelData } from "../charts/panel-data";
import { AXIS, GRID, MARGIN, TOOLTIP, X_AXIS } from "../charts/theme";
import { formatDate, formatNumber, formatPercent, formatSeconds } from "../format";
import { Empty } from "../ui/empty";

export const title = "Trends";
export const help =
  "Above, the data collected over all runs. Below, the latest labelled tasks (at most 1000), averaged in steps from old to new: the best possible time on an idle node, and how much of a task the best placement gives to a GPU.";

const STEPS = 60;
const REFRESH_MS = 10_000;

interface Step {
  task: number;
  time: number;
  fraction: number;
}

/** Means over at most `count` equal runs of records, oldest first. */
export function steps(records: readonly TrainingRecord[], count = STEPS): Step[] {
  const sorted = [...records].sort((a, b) => a.task_id - b.task_id);
  const size = Math.max(1, Math.ceil(sorted.length / count));
  const result: Step[] = [];
  for (let start = 0; start < sorted.length; start += size) {
    const group = sorted.slice(start, start + size);
    const average = (value: (record: TrainingRecord) => number) =>
      group.reduce((sum, record) => sum + value(record), 0) / group.length;
    result.push({
      task: group.at(-1)?.task_id ?? 0,
      time: average((record) => record.optimal_time),
      fraction: average((record) => record.optimal_gpu_fraction),
    });
  }
  return result;
}

function TrendsPanel() {
  const { data, error } = useResource(api.trainingRecords, REFRESH_MS);
  const points = useMemo(() => steps(data ?? []), [data]);
  usePanelData(() => ({
    columns: ["up to task", "mean optimal time (s)", "mean optimal GPU share"],
    rows: points.map((point) => [point.task, point.time, point.fraction]),
  }));
  if (data === null) return <Empty>{error ?? "Loading …"}</Empty>;
  if (points.length === 0) return <Empty waitsFor="the first stored tasks" />;
  const last = points.at(-1);
  return (
    <div className="flex h-full flex-col gap-2">
      <CollectedFigures />
      <ChartFrame
        className="min-h-28 grow"
        summary={`Best possible time per task, latest mean ${formatSeconds(last?.time)}.`}
      >
        {({ width, height }) => (
          <TrendLine
            points={points}
            dataKey="time"
            name="best time"
            width={width}
            height={height}
            format={formatSeconds}
            colour="var(--accent)"
          />
        )}
      </ChartFrame>
      <p className="-mt-1 text-xs text-dim">best possible time on an idle node, by task number</p>
      <ChartFrame
        className="min-h-28 grow"
        summary={`Best GPU share of a task, latest mean ${formatPercent(last?.fraction)}.`}
      >
        {({ width, height }) => (
          <TrendLine
            points={points}
            dataKey="fraction"
            name="best GPU share"
            width={width}
            height={height}
            format={formatPercent}
            colour="var(--gpu)"
            domain={[0, 1]}
          />
        )}
      </ChartFrame>
      <p className="-mt-1 text-xs text-dim">GPU share of the best placement, by task number</p>
    </div>
  );
}

/** The data collected over all runs. */
function CollectedFigures() {
  const { data } = useResource(api.collected, REFRESH_MS);
  if (data === null) return null;
  const figures = [
    ["tasks", data.tasks],
    ["results", data.results],
    ["labels", data.labels],
    ["runs", data.runs],
    ["retrainings", data.retrainings],
    ["saved models", data.model_versions],
  ] as const;
  return (
    <p className="flex flex-wrap gap-x-4 gap-y-1 text-[13px] text-dim">
      {figures.map(([name, count]) => (
        <span key={name}>
          <b className="figure text-ink" data-testid="collected" data-figure={name} data-value={count}>
            {count.toLocaleString("en-GB")}
          </b>{" "}
          {name}
        </span>
      ))}
      {data.tasks_ever > data.tasks && (
        <span>
          <b className="figure text-ink">{data.tasks_ever.toLocaleString("en-GB")}</b> tasks with those pruned since
        </span>
      )}
      {data.first !== null && data.last !== null && (
        <span>
          from {formatDate(data.first)} to {formatDate(data.last)}
        </span>
      )}
    </p>
  );
}

interface TrendLineProps {
  points: Step[];
  dataKey: "time" | "fraction";
  name: string;
  width: number;
  height: number;
  format: (value: number) => string;
  colour: string;
  domain?: [number, number];
}

function TrendLine({ points, dataKey, name, width, height, format, colour, domain }: TrendLineProps) {
  return (
    <LineChart width={width} height={height} data={points} margin={MARGIN} accessibilityLayer={false}>
      <CartesianGrid {...GRID} vertical={false} />
      <XAxis
        dataKey="task"
        type="number"
        domain={["dataMin", "dataMax"]}
        tickFormatter={(value: number) => formatNumber(value)}
        {...X_AXIS}
      />
      <YAxis
        width={64}
        domain={domain ?? [0, "auto"]}
        tickCount={4}
        tickFormatter={(value: number) => format(value)}
        {...AXIS}
      />
      <Tooltip
        {...TOOLTIP}
        formatter={(value) => format(Number(value))}
        labelFormatter={(value) => `up to task ${value}`}
      />
      <Line
        dataKey={dataKey}
        name={name}
        stroke={colour}
        strokeWidth={2}
        dot={points.length < 2}
        isAnimationActive={false}
      />
    </LineChart>
  );
}

export { TrendsPanel as component };
