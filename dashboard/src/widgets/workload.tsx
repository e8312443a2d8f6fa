/** Workload: what kind of tasks arrive. */
import { memo, useMemo } from "react";
import { Bar, BarChart, CartesianGrid, Scatter, ScatterChart, Tooltip, XAxis, YAxis } from "recharts";
import { histogram, sizeEdges } from "../analysis/bins";
import { mean } from "../analysis/metrics";
import { logTicks } from "../analysis/scale";
import type { ComparativeItem } from "../api/types";
import { ChartFrame } from "../charts/frame";
import { usePanelData } from "../charts/panel-data";
import { AXIS, GRID, MARGIN, TOOLTIP, X_AXIS } from "../charts/theme";
import { formatNumber } from "../format";
import { useRecent } from "../live/recent";
import { inspect } from "../shell/inspected";
import { Empty } from "../ui/empty";
import { WindowNote } from "../ui/window-note";

export const title = "Workload";
export const help =
  "Above: how many tasks of which size (each bar covers a constant factor of size). Below: every task as a dot, size to the right and compute intensity upwards; click a dot to inspect the task.";

const BINS = 12;

function WorkloadPanel() {
  const { items } = useRecent();
  usePanelData(() => ({
    columns: ["task", "size", "intensity", "memory (MB)", "arrival (s)"],
    rows: items.map((item) => [
      item.task_id,
      item.size,
      item.compute_intensity,
      item.memory_required,
      item.arrival_time,
    ]),
  }));
  if (items.length === 0) return <Empty waitsFor="the first task that every scheduler has finished" />;
  return (
    <div className="flex h-full flex-col gap-1">
      <Charts items={items} />
      <WindowNote />
    </div>
  );
}

const Charts = memo(function Charts({ items }: { items: ComparativeItem[] }) {
  const sizes = useMemo(() => items.map((item) => item.size), [items]);
  const bins = useMemo(
    () =>
      histogram(sizes, sizeEdges(sizes, BINS)).map((bin) => ({
        ...bin,
        label: `${formatNumber(bin.from, 2)}–${formatNumber(bin.to, 2)}`,
        from: formatNumber(bin.from, 2),
      })),
    [sizes],
  );
  const dots = useMemo(
    () => items.map((item) => ({ size: item.size, intensity: item.compute_intensity, task: item.task_id })),
    [items],
  );
  const averageIntensity = formatNumber(mean(items.map((item) => item.compute_intensity)), 2);
  return (
    <>
      <ChartFrame
        className="min-h-20 grow basis-0"
        summary={`Histogram of ${sizes.length} task sizes, mean ${formatNumber(mean(sizes))}, largest ${formatNumber(Math.max(...sizes))}.`}
      >
        {({ width, height }) => (
          <BarChart
            width={width}
            height={height}
            data={bins}
            margin={MARGIN}
            accessibilityLayer={false}
            barCategoryGap={2}
          >
            <CartesianGrid {...GRID} vertical={false} />
            <XAxis dataKey="from" {...X_AXIS} interval="preserveStartEnd" />
            <YAxis {...AXIS} width={34} allowDecimals={false} />
            <Tooltip
              {...TOOLTIP}
              labelFormatter={(_, [entry]) => `size ${(entry?.payload as { label?: string } | undefined)?.label ?? ""}`}
            />
            <Bar
              dataKey="count"
              name="tasks"
              fill="var(--accent)"
              fillOpacity={0.75}
              radius={[4, 4, 0, 0]}
              isAnimationActive={false}
            />
          </BarChart>
        )}
      </ChartFrame>
      <ChartFrame
        className="min-h-24 grow-[1.4] basis-0"
        summary={`Scatter of size against compute intensity of ${dots.length} tasks; mean intensity ${averageIntensity}.`}
      >
        {({ width, height }) => (
          <ScatterChart width={width} height={height} margin={MARGIN} accessibilityLayer={false}>
            <CartesianGrid {...GRID} />
            <XAxis
              dataKey="size"
              name="size"
              type="number"
              scale="log"
              domain={["dataMin", "dataMax"]}
              ticks={logTicks(Math.min(...sizes), Math.max(...sizes))}
              tickFormatter={(value: number) => formatNumber(value, 2)}
              {...X_AXIS}
            />
            <YAxis
              dataKey="intensity"
              name="intensity"
              type="number"
              domain={[0, 1]}
              ticks={[0, 0.5, 1]}
              width={34}
              {...AXIS}
            />
            <Tooltip {...TOOLTIP} formatter={(value) => formatNumber(Number(value))} />
            <Scatter
              data={dots}
              fill="var(--accent)"
              fillOpacity={0.55}
              isAnimationActive={false}
              shape={<Dot />}
              onClick={(point) => inspect((point.payload as { task: number }).task)}
            />
          </ScatterChart>
        )}
      </ChartFrame>
    </>
  );
});

/** A plain circle: Recharts' own symbols compute a path for every dot. */
function Dot({ cx = 0, cy = 0 }: { cx?: number; cy?: number }) {
  return <circle cx={cx} cy={cy} r={3} fill="var(--accent)" fillOpacity={0.55} className="cursor-pointer" />;
}

export { WorkloadPanel as component };
