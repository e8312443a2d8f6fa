/** Learning curves across runs, from the store. */
import { useCallback, useMemo, useState } from "react";
import { CartesianGrid, Line, LineChart, Tooltip, XAxis, YAxis } from "recharts";
import { chosenRange, timeLabel, timeRange } from "../analysis/range";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import type { LearningCurve } from "../api/types";
import { ChartFrame } from "../charts/frame";
import { usePanelData } from "../charts/panel-data";
import { AXIS, GRID, MARGIN, TOOLTIP, X_AXIS } from "../charts/theme";
import { digitsFor, formatDate, formatNumber, schedulerLabel } from "../format";
import { useCatalogue } from "../live/catalogue";
import { useStore } from "../store";
import { Empty } from "../ui/empty";
import { SchedulerName } from "../ui/scheduler-name";
import { Segmented } from "../ui/segmented";
import { FIGURE_NAMES } from "./learning-figures";

export const title = "Learning across runs";
export const help =
  "The learners' own figures over the chosen time, all runs one after the other; a gap in a line is a new run. R² near 1 and a falling error or loss mean it predicts well; ε is how often it still tries something at random.";

const REFRESH_MS = 15_000;

interface Point {
  at: number;
  value: number | null;
}

/** One learner's figure over time; nothing between two runs. */
export function series(curve: LearningCurve, figure: string): Point[] {
  const points: Point[] = [];
  let run: number | null = null;
  for (const point of curve.points) {
    const value = point.figures[figure] ?? null;
    if (value === null) continue;
    const at = Date.parse(point.created);
    if (run !== null && run !== point.run_id) points.push({ at: at - 1, value: null });
    points.push({ at, value });
    run = point.run_id;
  }
  return points;
}

function CurvesPanel() {
  const range = useStore(chosenRange);
  const load = useCallback((signal: AbortSignal) => api.learning(timeRange(range, Date.now()), signal), [range]);
  const { data, error } = useResource(load, REFRESH_MS);
  const { colour } = useCatalogue();
  const [wanted, setWanted] = useState("");
  const curves = useMemo(() => data ?? [], [data]);
  const known = Object.keys(FIGURE_NAMES).filter((figure) =>
    curves.some((curve) => curve.points.some((point) => (point.figures[figure] ?? null) !== null)),
  );
  const figure = known.includes(wanted) ? wanted : (known[0] ?? "");
  const lines = useMemo(
    () => curves.map((curve) => ({ name: curve.scheduler_name, points: series(curve, figure) })),
    [curves, figure],
  );
  usePanelData(() => ({
    columns: ["scheduler", "run", "time", "tasks", ...known],
    rows: curves.flatMap((curve) =>
      curve.points.map((point) => [
        curve.scheduler_name,
        point.run_id,
        point.created,
        point.tasks,
        ...known.map((name) => point.figures[name] ?? null),
      ]),
    ),
  }));
  if (data === null) return <Empty>{error ?? "Loading …"}</Empty>;
  if (figure === "") return <Empty waitsFor="a learner's figures in this time; they are kept every few seconds" />;
  const shown = lines.filter(({ points }) => points.length > 0);
  const times = shown.flatMap(({ points }) => points.map(({ at }) => at));
  const span = Math.max(...times) - Math.min(...times);
  const digits = digitsFor(shown.flatMap(({ points }) => points.map(({ value }) => value)));
  return (
    <div className="flex h-full flex-col gap-2">
      <Segmented
        label="Figure"
        value={figure}
        options={known.map((value) => ({ value, label: FIGURE_NAMES[value] ?? value }))}
        onChange={setWanted}
      />
      <ChartFrame
        className="min-h-28 grow"
        summary={`${FIGURE_NAMES[figure]} of ${shown.map(({ name }) => schedulerLabel(name)).join(", ")} over time.`}
      >
        {({ width, height }) => (
          <LineChart width={width} height={height} margin={MARGIN} accessibilityLayer={false}>
            <CartesianGrid {...GRID} vertical={false} />
            <XAxis
              dataKey="at"
              type="number"
              tickCount={6}
              minTickGap={24}
              domain={["dataMin", "dataMax"]}
              allowDuplicatedCategory={false}
              tickFormatter={(at: number) => timeLabel(at, span)}
              {...X_AXIS}
            />
            <YAxis
              width={56}
              domain={["auto", "auto"]}
              tickCount={4}
              tickFormatter={(value: number) => formatNumber(value, digits)}
              {...AXIS}
            />
            <Tooltip
              {...TOOLTIP}
              formatter={(value) => formatNumber(Number(value))}
              labelFormatter={(at) => formatDate(new Date(Number(at)).toISOString())}
            />
            {shown.map(({ name, points }) => (
              <Line
                key={name}
                data={points}
                dataKey="value"
                name={schedulerLabel(name)}
                stroke={colour(name)}
                strokeWidth={2}
                dot={points.length < 3}
                isAnimationActive={false}
              />
            ))}
          </LineChart>
        )}
      </ChartFrame>
      <ul className="flex flex-wrap gap-x-3 text-xs">
        {shown.map(({ name }) => (
          <li key={name}>
            <SchedulerName name={name} />
          </li>
        ))}
      </ul>
    </div>
  );
}

export { CurvesPanel as component };
