/** How busy devices are over time: what the service remembers of the run, carried on by what the page has heard since. */
import type { PulseHistory } from "../api/types";
import type { PulseSample } from "../live/state";

/** Milliseconds since 1970 under `at`, and busy shares by device. */
export type PulsePoint = Record<string, number>;

/** Device → utilization of one sample; `average_utilization` is not a device. */
export function devicesOf(sample: PulseSample, scheduler: string): Record<string, number> {
  const devices: Record<string, number> = {};
  for (const [name, value] of Object.entries(sample.utilization[scheduler] ?? {})) {
    const utilization = (value as { utilization?: unknown } | null)?.utilization;
    if (typeof utilization === "number") devices[name] = utilization;
  }
  return devices;
}

/**
 * @param history what the service answered, of the same run.
 * @param answeredAt when, by the clock of the samples: the service's clock may be another.
 */
export function pulsePoints(
  samples: readonly PulseSample[],
  scheduler: string,
  history: PulseHistory | null,
  answeredAt: number,
): PulsePoint[] {
  const heard = samples
    .filter((sample) => sample.utilization[scheduler] !== undefined)
    .map((sample): PulsePoint => ({ ...devicesOf(sample, scheduler), at: sample.at }));
  if (history === null) return heard;
  const shift = answeredAt - history.now * 1000;
  const told = history.points.map(({ time, utilization }) => {
    const point: PulsePoint = Object.fromEntries(
      history.devices.map((device, index) => [device, utilization[index] ?? 0]),
    );
    return { ...point, at: time * 1000 + shift };
  });
  const until = told.at(-1)?.at ?? 0;
  return [...told, ...heard.filter((point) => (point.at ?? 0) > until)];
}
