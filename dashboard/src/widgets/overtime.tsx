/** Over time: how every scheduler did, across runs. */
import { useCallback, useMemo, useState } from "react";
import { CartesianGrid, Line, LineChart, Tooltip, XAxis, YAxis } from "recharts";
import { formatterOf } from "../analysis/metrics";
import { HISTORY_FIELDS, type HistoryField, schedulersOf, timeRows } from "../analysis/overtime";
import { chosenRange, timeLabel, timeRange } from "../analysis/range";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import type { HistoryMark, MeansOverTime } from "../api/types";
import { ChartFrame } from "../charts/frame";
import { usePanelData } from "../charts/panel-data";
import { AXIS, GRID, MARGIN, TOOLTIP, X_AXIS } from "../charts/theme";
import { formatDate, formatTimeLeft, headline, schedulerLabel } from "../format";
import { useCatalogue } from "../live/catalogue";
import { useMetricInfo } from "../live/metric-catalogue";
import { useStore } from "../store";
import { Empty } from "../ui/empty";
import { SchedulerName } from "../ui/scheduler-name";
import { Segmented } from "../ui/segmented";

export const title = "Over time";
export const help =
  "Every live task of every run, by when it was stored: the mean per scheduler, or the share of tasks it finished first. Pruned tasks still count. Below the chart, per learner: tall ticks are retrainings that changed its model, short ones are saved versions.";

const REFRESH_MS = 15_000;
const AXIS_WIDTH = 64;

function OverTimePanel() {
  const range = useStore(chosenRange);
  const load = useCallback((signal: AbortSignal) => api.means(timeRange(range, Date.now()), signal), [range]);
  const { data, error } = useResource(load, REFRESH_MS);
  const [field, setField] = useState<HistoryField>("avg_response");
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const infoOf = useMetricInfo();
  const { colour } = useCatalogue();
  const metrics = HISTORY_FIELDS.map(({ field: value, name }) => ({
    value,
    label: headline(infoOf(name)?.short ?? name),
    format: formatterOf(infoOf(name)),
  }));
  const format = metrics.find(({ value }) => value === field)?.format ?? String;
  const names = useMemo(() => schedulersOf(data?.items ?? []), [data]);
  const rows = useMemo(() => timeRows(data?.items ?? [], field), [data, field]);
  usePanelData(() => ({
    columns: ["start", "scheduler", "tasks", "failed", ...HISTORY_FIELDS.slice(0, 4).map((each) => each.field)],
    rows: (data?.items ?? []).map((point) => [
      point.start,
      point.scheduler_name,
      point.tasks,
      point.failed,
      point.avg_response,
      point.avg_energy,
      point.avg_cost,
      point.win_share,
    ]),
  }));
  if (data === null) return <Empty>{error ?? "Loading …"}</Empty>;
  // The axis begins where there is something to see.
  const until = Date.parse(data.until);
  const since = Math.max(Date.parse(data.since), (rows[0]?.at ?? until) - 1000 * data.stretch_seconds);
  const shown = names.filter((name) => !hidden.has(name));
  const toggle = (name: string) =>
    setHidden((value) => {
      const next = new Set(value);
      if (!next.delete(name)) next.add(name);
      return next;
    });
  return (
    <div className="flex h-full flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <Segmented label="Figure" value={field} options={metrics} onChange={setField} />
        <span className="text-xs text-dim">one point: {formatTimeLeft(data.stretch_seconds)}</span>
      </div>
      {rows.length === 0 ? (
        <Empty waitsFor="live tasks stored in this time; choose a longer one above" />
      ) : data.items.every((point) => point[field] === null) ? (
        <Empty>No data: no machine told it in this time</Empty>
      ) : (
        <>
          <ChartFrame
            className="min-h-32 grow"
            summary={`${metrics.find(({ value }) => value === field)?.label} of ${names.length} schedulers over ${rows.length} points in time.`}
          >
            {({ width, height }) => (
              <LineChart width={width} height={height} data={rows} margin={MARGIN} accessibilityLayer={false}>
                <CartesianGrid {...GRID} vertical={false} />
                <XAxis
                  dataKey="at"
                  type="number"
                  tickCount={6}
                  minTickGap={24}
                  domain={[since, until]}
                  tickFormatter={(at: number) => timeLabel(at, until - since)}
                  {...X_AXIS}
                />
                <YAxis
                  width={AXIS_WIDTH}
                  domain={[0, "auto"]}
                  tickCount={5}
                  tickFormatter={(value: number) => format(value)}
                  {...AXIS}
                />
                <Tooltip
                  {...TOOLTIP}
                  formatter={(value) => format(Number(value))}
                  labelFormatter={(at) => formatDate(new Date(Number(at)).toISOString())}
                />
                {shown.map((name) => (
                  <Line
                    key={name}
                    dataKey={name}
                    name={schedulerLabel(name)}
                    stroke={colour(name)}
                    strokeWidth={2}
                    dot={rows.length < 40 ? { r: 2 } : false}
                    isAnimationActive={false}
                  />
                ))}
              </LineChart>
            )}
          </ChartFrame>
          <Marks data={data} since={since} until={until} colour={colour} />
          <ul className="flex flex-wrap gap-x-1 gap-y-1 text-xs" aria-label="Schedulers shown">
            {names.map((name) => (
              <li key={name}>
                <button
                  type="button"
                  aria-pressed={!hidden.has(name)}
                  className={`rounded-md px-1.5 py-0.5 hover:bg-raised ${hidden.has(name) ? "line-through" : ""}`}
                  onClick={() => toggle(name)}
                >
                  <SchedulerName name={name} />
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

interface MarksProps {
  data: MeansOverTime;
  since: number;
  until: number;
  colour: (name: string) => string;
}

/** When learners were retrained and saved, under the axis of the chart. */
function Marks({ data, since, until, colour }: MarksProps) {
  const place = (mark: HistoryMark) => {
    const middle = Date.parse(mark.start) + 500 * data.stretch_seconds;
    return Math.min(1, Math.max(0, (middle - since) / Math.max(until - since, 1)));
  };
  return (
    <ul className="grid gap-0.5" aria-label="Retrainings and saved versions">
      {schedulersOf(data.marks).map((name) => {
        const marks = data.marks.filter((mark) => mark.scheduler_name === name);
        const retrained = marks.reduce((sum, mark) => sum + mark.retrainings, 0);
        const saved = marks.reduce((sum, mark) => sum + mark.versions, 0);
        const said = `${schedulerLabel(name)}: retrained ${retrained} times, saved ${saved} times`;
        return (
          <li key={name} className="text-xs text-dim" data-testid="history-marks" data-scheduler={name}>
            <div aria-hidden className="relative h-3" style={{ marginLeft: AXIS_WIDTH, marginRight: MARGIN.right }}>
              {marks.map((mark) => (
                <span
                  key={mark.start}
                  className={`absolute bottom-0 w-[2px] ${mark.retrainings > 0 ? "h-3" : "h-1 opacity-50"}`}
                  style={{ left: `${place(mark) * 100}%`, backgroundColor: colour(name) }}
                  title={`${formatDate(mark.start)}: retrained ${mark.retrainings} times, saved ${mark.versions} times`}
                />
              ))}
            </div>
            <span style={{ marginLeft: AXIS_WIDTH }}>{said}</span>
          </li>
        );
      })}
    </ul>
  );
}

export { OverTimePanel as component };
