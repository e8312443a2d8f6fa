/** Pulse: how busy each device is. */
import { useCallback, useMemo, useState } from "react";
import { Area, AreaChart, CartesianGrid, Tooltip, XAxis, YAxis } from "recharts";
import { byDevice } from "../analysis/devices";
import { pulsePoints } from "../analysis/pulse";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import { ChartFrame } from "../charts/frame";
import { usePanelData } from "../charts/panel-data";
import { AXIS, deviceColours, GRID, MARGIN, TOOLTIP, X_AXIS } from "../charts/theme";
import { deviceLabel, formatPercent, formatTimeLeft } from "../format";
import { PULSE_MS } from "../live/state";
import { useLive, useUpdate } from "../live/store";
import { Empty } from "../ui/empty";
import { Segmented } from "../ui/segmented";
import type { WidgetProps } from ".";

export const title = "Pulse";
export const help =
  "How busy this scheduler keeps each device, stacked: the top edge is the number of devices' worth of work going on; the figures below are the latest. Over the last minute, or over the whole run as the service remembers it: the further back, the more each point is a mean over a longer time.";

const SPANS = [
  { value: "minute", label: "Last minute" },
  { value: "run", label: "Whole run" },
] as const;
type Span = (typeof SPANS)[number]["value"];
/** Between two readings the page's own samples carry the series on. */
const REFRESH_MS = 30_000;

/** The run so far under one scheduler; null while unknown. */
function usePulseHistory(scheduler: string, run: number | null) {
  const load = useCallback(
    async (signal: AbortSignal) =>
      run === null ? null : { history: await api.pulse(scheduler, signal), scheduler, at: Date.now() },
    [scheduler, run],
  );
  const { data } = useResource(load, REFRESH_MS);
  // What was read before the last change of run or scheduler is of no use.
  return data?.history.run_id === run && data?.scheduler === scheduler ? data : null;
}

function PulsePanel({ scheduler }: WidgetProps) {
  const samples = useLive((state) => state.pulse);
  const told = usePulseHistory(scheduler, useUpdate()?.run_id ?? null);
  const [span, setSpan] = useState<Span>("minute");
  const all = useMemo(
    () => pulsePoints(samples, scheduler, told?.history ?? null, told?.at ?? 0),
    [samples, scheduler, told],
  );
  const latest = all.at(-1);
  const now = latest?.at ?? 0;
  const from = span === "minute" ? now - PULSE_MS : Math.min(all[0]?.at ?? now, now - PULSE_MS);
  const points = useMemo(() => all.filter((point) => (point.at ?? 0) >= from), [all, from]);
  const devices = useMemo(
    () =>
      Object.keys(latest ?? {})
        .filter((key) => key !== "at")
        .sort(byDevice),
    [latest],
  );
  usePanelData(() => ({
    columns: ["time", ...devices],
    rows: points.map((point) => [
      new Date(point.at ?? 0).toISOString(),
      ...devices.map((device) => point[device] ?? null),
    ]),
  }));
  if (latest === undefined) return <Empty waitsFor="two samples of the running race, half a second apart" />;
  const colours = deviceColours(devices);
  const total = devices.reduce((sum, device) => sum + (latest[device] ?? 0), 0);
  return (
    <div className="flex h-full flex-col gap-2" data-testid="pulse" data-points={points.length}>
      <Segmented label="Time shown" value={span} options={SPANS} onChange={setSpan} />
      <ChartFrame
        className="min-h-24 grow"
        summary={`Utilization over the ${span === "minute" ? "last minute" : "whole run"}; now ${devices.map((device) => `${deviceLabel(device)} ${formatPercent(latest[device])}`).join(", ")}.`}
      >
        {({ width, height }) => (
          <AreaChart width={width} height={height} data={points} margin={MARGIN} accessibilityLayer={false}>
            <CartesianGrid {...GRID} vertical={false} />
            <XAxis
              dataKey="at"
              type="number"
              domain={[from, now]}
              ticks={[0, 0.25, 0.5, 0.75, 1].map((share) => from + share * (now - from))}
              tickFormatter={(value: number) =>
                now - value < 500 ? "now" : `−${formatTimeLeft((now - value) / 1000)}`
              }
              allowDataOverflow
              {...X_AXIS}
            />
            <YAxis domain={[0, devices.length]} ticks={[...devices.keys(), devices.length]} width={30} {...AXIS} />
            <Tooltip
              {...TOOLTIP}
              formatter={(value) => formatPercent(Number(value))}
              labelFormatter={(value) => `${formatTimeLeft((now - Number(value)) / 1000)} ago`}
            />
            {devices.map((device) => (
              <Area
                key={device}
                dataKey={device}
                name={deviceLabel(device)}
                stackId="devices"
                type="monotone"
                stroke={colours[device]}
                fill={colours[device]}
                fillOpacity={0.55}
                isAnimationActive={false}
              />
            ))}
          </AreaChart>
        )}
      </ChartFrame>
      <ul className="flex flex-wrap gap-x-4 gap-y-1 text-xs">
        {devices.map((device) => (
          <li
            key={device}
            className="flex items-center gap-1.5"
            data-testid="pulse-device"
            data-device={device}
            data-value={latest[device]}
          >
            <span aria-hidden className="size-2.5 rounded-sm" style={{ background: colours[device] }} />
            <span className="text-dim">{deviceLabel(device)}</span>
            <span className="figure inline-block w-9 text-right">{formatPercent(latest[device])}</span>
          </li>
        ))}
        <li className="figure ml-auto text-dim">
          {total.toFixed(1)} of {devices.length} busy
        </li>
      </ul>
    </div>
  );
}

export { PulsePanel as component };
