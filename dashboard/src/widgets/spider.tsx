/** Spider: the chosen scheduler against the oracle. */
import { PolarAngleAxis, PolarGrid, PolarRadiusAxis, Radar, RadarChart } from "recharts";
import { ChartFrame } from "../charts/frame";
import { usePanelData } from "../charts/panel-data";
import { NOTHING, schedulerLabel } from "../format";
import { useCatalogue } from "../live/catalogue";
import { useMetrics } from "../live/metric-catalogue";
import { useUpdate } from "../live/store";
import { Empty } from "../ui/empty";
import type { WidgetProps } from ".";

export const title = "Spider";
export const help =
  "How close this scheduler comes to the oracle: the dashed ring is the oracle itself (1), further out is better, half-way in means twice as slow, twice the energy or twice the cost.";

function SpiderPanel({ scheduler }: WidgetProps) {
  const update = useUpdate();
  const { reference, colour } = useCatalogue();
  const own = update?.comparison.find((entry) => entry.name === scheduler);
  const oracle = update?.comparison.find((entry) => entry.name === reference?.name);
  const rival = oracle ?? update?.lower_bound;
  const rivalName = oracle === undefined ? "lower bound" : schedulerLabel(oracle.name);
  const axes = useMetrics().map((metric) => {
    const mine = own?.[metric.mean] ?? null;
    const theirs = rival?.[metric.mean] ?? null;
    const ratio = mine !== null && theirs !== null && mine > 0 && theirs > 0 ? mine / theirs : null;
    const score = ratio === null ? 0 : metric.biggerIsBetter ? ratio : 1 / ratio;
    return { metric, mine, theirs, ratio, label: metric.label, score, one: 1 };
  });
  usePanelData(() => ({
    columns: ["figure", scheduler, rivalName, "ratio"],
    rows: axes.map((axis) => [`${axis.label} (${axis.metric.unit})`, axis.mine, axis.theirs, axis.ratio]),
  }));
  if (axes.every((axis) => axis.ratio === null)) {
    return update?.settings?.node === "machine" ? (
      <Empty>Nothing to hold it against: of real work nobody knows a lower bound, and no oracle races</Empty>
    ) : (
      <Empty waitsFor="the first finished task" />
    );
  }
  const most = Math.max(1, ...axes.map((axis) => axis.score));
  const sentence = axes.map((axis) => `${axis.label} ${axis.ratio?.toFixed(2) ?? NOTHING} times`).join(", ");
  return (
    <div className="flex h-full flex-col gap-1">
      <ChartFrame className="min-h-32 grow" summary={`${schedulerLabel(scheduler)} against ${rivalName}: ${sentence}.`}>
        {({ width, height }) => (
          <RadarChart
            width={width}
            height={height}
            data={axes.filter((axis) => axis.ratio !== null)}
            outerRadius={radiusFor(width, height)}
            accessibilityLayer={false}
          >
            <PolarGrid stroke="var(--line)" />
            <PolarAngleAxis dataKey="label" tick={{ fill: "var(--ink-dim)", fontSize: 12 }} />
            <PolarRadiusAxis domain={[0, most]} tick={false} axisLine={false} />
            <Radar dataKey="one" stroke="var(--ink)" strokeDasharray="4 4" fill="none" isAnimationActive={false} />
            <Radar
              dataKey="score"
              stroke={colour(scheduler)}
              strokeWidth={2}
              fill={colour(scheduler)}
              fillOpacity={0.3}
              isAnimationActive={false}
            />
          </RadarChart>
        )}
      </ChartFrame>
      <dl className="grid grid-cols-4 gap-2 text-center text-xs">
        {axes.map((axis) => (
          <div key={axis.label}>
            <dt className="text-dim">{axis.label}</dt>
            <dd className="figure text-[13px] font-semibold" data-value={axis.ratio ?? ""}>
              {axis.ratio === null ? NOTHING : `${axis.ratio >= 100 ? axis.ratio.toFixed(0) : axis.ratio.toFixed(2)} ×`}
            </dd>
          </div>
        ))}
      </dl>
      <p className="text-center text-xs text-dim">times the {rivalName}'s figure; below 1 is better</p>
    </div>
  );
}

const LABEL = { width: 68, height: 20 };

/** As large as the labels around it allow. */
function radiusFor(width: number, height: number): number {
  return Math.max(20, Math.min(width / 2 - LABEL.width, height / 2 - LABEL.height));
}

export { SpiderPanel as component };
