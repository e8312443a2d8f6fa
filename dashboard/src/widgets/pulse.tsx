/** Pulse: how busy each device is. */
import { useMemo } from "react";
import { Area, AreaChart, CartesianGrid, Tooltip, XAxis, YAxis } from "recharts";
import { byDevice } from "../analysis/devices";
import { ChartFrame } from "../charts/frame";
import { usePanelData } from "../charts/panel-data";
import { AXIS, deviceColours, GRID, MARGIN, TOOLTIP, X_AXIS } from "../charts/theme";
import { deviceLabel, formatPercent } from "../format";
import { PULSE_MS, type PulseSample } from "../live/state";
import { useLive } from "../live/store";
import { Empty } from "../ui/empty";
import type { WidgetProps } from ".";

export const id = "pulse";
export const title = "Pulse";
export const help =
  "How busy this scheduler keeps each device, over the last 60 seconds, stacked: the top edge is the number of devices' worth of work going on; the figures below are the latest.";

/** Device → utilization of one sample; `average_utilization` is not a device. */
export function devicesOf(sample: PulseSample, scheduler: string): Record<string, number> {
  const devices: Record<string, number> = {};
  for (const [name, value] of Object.entries(sample.utilization[scheduler] ?? {})) {
    const utilization = (value as { utilization?: unknown } | null)?.utilization;
    if (typeof utilization === "number") devices[name] = utilization;
  }
  return devices;
}

function PulsePanel({ scheduler }: WidgetProps) {
  const samples = useLive((state) => state.pulse);
  const points = useMemo(
    () =>
      samples
        .filter((sample) => sample.utilization[scheduler] !== undefined)
        .map((sample) => ({ at: sample.at, ...devicesOf(sample, scheduler) }) as Record<string, number>),
    [samples, scheduler],
  );
  const latest = points.at(-1);
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
  if (latest === undefined) return <Empty />;
  const colours = deviceColours(devices);
  const now = latest.at ?? 0;
  const total = devices.reduce((sum, device) => sum + (latest[device] ?? 0), 0);
  return (
    <div className="flex h-full flex-col gap-2">
      <ChartFrame
        className="min-h-24 grow"
        summary={`Utilization over the last minute; now ${devices.map((device) => `${deviceLabel(device)} ${formatPercent(latest[device])}`).join(", ")}.`}
      >
        {({ width, height }) => (
          <AreaChart width={width} height={height} data={points} margin={MARGIN} accessibilityLayer={false}>
            <CartesianGrid {...GRID} vertical={false} />
            <XAxis
              dataKey="at"
              type="number"
              domain={[now - PULSE_MS, now]}
              ticks={[60, 45, 30, 15, 0].map((seconds) => now - seconds * 1000)}
              tickFormatter={(value: number) => (value === now ? "now" : `−${Math.round((now - value) / 1000)} s`)}
              allowDataOverflow
              {...X_AXIS}
            />
            <YAxis domain={[0, devices.length]} ticks={[...devices.keys(), devices.length]} width={30} {...AXIS} />
            <Tooltip
              {...TOOLTIP}
              formatter={(value) => formatPercent(Number(value))}
              labelFormatter={(value) => `${Math.round((now - Number(value)) / 1000)} s ago`}
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
