/** Learning: how a learner gets on. */
import { memo, useCallback, useMemo } from "react";
import { CartesianGrid, Line, LineChart, Tooltip, XAxis, YAxis } from "recharts";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import { ChartFrame } from "../charts/frame";
import { usePanelData } from "../charts/panel-data";
import { AXIS, GRID, MARGIN, TOOLTIP, X_AXIS } from "../charts/theme";
import { digitsFor, formatNumber, schedulerLabel } from "../format";
import { useCatalogue } from "../live/catalogue";
import type { LearningPoint } from "../live/state";
import { useLive, useUpdate } from "../live/store";
import { Empty } from "../ui/empty";
import type { WidgetProps } from ".";
import { FIGURE_NAMES } from "./learning-figures";

export const title = "Learning";
export const help =
  "The learner's own figures over this run, against tasks finished; the store keeps them, so a reload loses nothing: R² near 1 and a falling error or loss mean it predicts well; ε is how often it still tries something at random.";

const ORIGINS = {
  saved: "started from its last saved model",
  packaged: "started from the packaged model",
  store: "trained on the labels in the store",
  cold: "started without experience",
};
const NO_POINTS: LearningPoint[] = [];

/** What the store kept of this run before the page was opened. */
function useStoredPoints(run: number | null, scheduler: string): LearningPoint[] {
  const load = useCallback(
    async (signal: AbortSignal) => {
      const curves = run === null ? [] : await api.learning({ run_id: run, scheduler }, signal);
      return { run, scheduler, points: curves[0]?.points ?? NO_POINTS };
    },
    [run, scheduler],
  );
  const { data } = useResource(load);
  return data?.run === run && data.scheduler === scheduler ? data.points : NO_POINTS;
}

/** Stored points up to where the page's own begin. */
export function joined(stored: readonly LearningPoint[], heard: LearningPoint[]): LearningPoint[] {
  const begin = heard[0]?.tasks ?? Number.POSITIVE_INFINITY;
  const before = stored.filter((point) => point.tasks < begin);
  return before.length === 0 ? heard : [...before, ...heard];
}

function LearningPanel({ scheduler }: WidgetProps) {
  const update = useUpdate();
  const model = update?.learning.find((entry) => entry.scheduler_name === scheduler);
  const heard = useLive((state) => state.learning[scheduler] ?? NO_POINTS);
  const stored = useStoredPoints(update?.run_id ?? null, scheduler);
  const points = useMemo(() => joined(stored, heard), [stored, heard]);
  const { colour, find } = useCatalogue();
  const figures = Object.keys(model?.figures ?? {});
  const charted = figures.filter((figure) => figure in FIGURE_NAMES);
  usePanelData(() => ({
    columns: ["tasks", ...figures],
    rows: points.map((point) => [point.tasks, ...figures.map((figure) => point.figures[figure] ?? null)]),
  }));
  if (model === undefined) {
    return (
      <Empty>
        {find(scheduler)?.is_learner === false
          ? `${schedulerLabel(scheduler)} follows a fixed rule: it does not learn`
          : "No data yet"}
      </Empty>
    );
  }
  return (
    <div className="flex h-full flex-col gap-2">
      <p className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-dim">
        <span>{ORIGINS[model.origin]}</span>
        <span>
          gradient steps <b className="figure text-ink">{model.updates.toLocaleString("en-GB")}</b>
        </span>
        {model.refit_checks > 0 && (
          <span title="Refreshes that replaced something, of all that were tried">
            retrained <b className="figure text-ink">{model.refits.toLocaleString("en-GB")}</b> of{" "}
            {model.refit_checks.toLocaleString("en-GB")} checks
          </span>
        )}
        <span>
          saved version <b className="figure text-ink">{model.version ?? "none yet"}</b>
        </span>
        {figures
          .filter((figure) => !charted.includes(figure))
          .map((figure) => (
            <span key={figure}>
              {figure.replaceAll("_", " ")} <b className="figure text-ink">{formatNumber(model.figures[figure])}</b>
            </span>
          ))}
      </p>
      {charted.length === 0 ? (
        <Empty>It reports no figures yet</Empty>
      ) : (
        <div className="grid min-h-0 grow auto-rows-fr grid-cols-[repeat(auto-fit,minmax(11rem,1fr))] gap-3 overflow-auto">
          {charted.map((figure) => (
            <FigureChart key={figure} figure={figure} points={points} colour={colour(scheduler)} />
          ))}
        </div>
      )}
    </div>
  );
}

interface FigureChartProps {
  figure: string;
  points: LearningPoint[];
  colour: string;
}

const FigureChart = memo(function FigureChart({ figure, points, colour }: FigureChartProps) {
  const name = FIGURE_NAMES[figure] ?? figure;
  const data = points.map((point) => ({ tasks: point.tasks, value: point.figures[figure] ?? null }));
  const latest = data.at(-1)?.value ?? null;
  const digits = digitsFor(data.map(({ value }) => value));
  return (
    <div className="flex min-h-28 flex-col">
      <p className="flex text-xs text-dim">
        {name}
        <span
          className="figure ml-auto text-[13px] font-semibold text-ink"
          data-testid="learning-figure"
          data-figure={figure}
          data-value={latest ?? ""}
        >
          {formatNumber(latest, Math.max(3, digits))}
        </span>
      </p>
      <ChartFrame className="min-h-20 grow" summary={`${name} over tasks, latest ${formatNumber(latest)}.`}>
        {({ width, height }) => (
          <LineChart width={width} height={height} data={data} margin={MARGIN} accessibilityLayer={false}>
            <CartesianGrid {...GRID} vertical={false} />
            <XAxis dataKey="tasks" type="number" domain={["dataMin", "dataMax"]} tickCount={3} {...X_AXIS} />
            <YAxis
              width={56}
              domain={["auto", "auto"]}
              tickCount={3}
              tickFormatter={(value: number) => formatNumber(value, digits)}
              {...AXIS}
            />
            <Tooltip
              {...TOOLTIP}
              formatter={(value) => formatNumber(Number(value))}
              labelFormatter={(value) => `after ${value} tasks`}
            />
            <Line
              dataKey="value"
              name={name}
              stroke={colour}
              strokeWidth={2}
              dot={data.length < 2}
              connectNulls
              isAnimationActive={false}
            />
          </LineChart>
        )}
      </ChartFrame>
    </div>
  );
});

export { LearningPanel as component };
