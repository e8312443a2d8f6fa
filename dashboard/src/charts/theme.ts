/** What all Recharts charts share: quiet axes, no animation (they redraw several times a second). */
import { byDevice, isGpu } from "../analysis/devices";

export const AXIS = {
  stroke: "var(--line)",
  tick: { fill: "var(--ink-dim)", fontSize: 11 },
  tickLine: false,
} as const;

/** Recharts leaves room for a title below the axis; there is none. */
export const X_AXIS = { ...AXIS, height: 20 } as const;

export const GRID = { stroke: "var(--line)", strokeDasharray: "2 4" } as const;

export const TOOLTIP = {
  contentStyle: {
    background: "var(--solid)",
    border: "1px solid var(--line)",
    borderRadius: 10,
    color: "var(--ink)",
    fontSize: 12,
  },
  itemStyle: { color: "var(--ink)" },
  labelStyle: { color: "var(--ink-dim)" },
  isAnimationActive: false,
  cursor: { fill: "var(--raised)", stroke: "var(--line)" },
} as const;

export const MARGIN = { top: 8, right: 12, bottom: 4, left: 0 } as const;

/** CPUs amber, GPUs shades of blue: devices never take a scheduler's colour. */
export function deviceColours(devices: readonly string[]): Record<string, string> {
  const sorted = [...devices].sort(byDevice);
  const gpus = sorted.filter(isGpu);
  const cpus = sorted.filter((device) => !isGpu(device));
  const shade = (index: number, count: number) => (count < 2 ? 100 : 100 - (55 * index) / (count - 1));
  const colour = (base: string, index: number, count: number) =>
    `color-mix(in oklab, var(${base}) ${shade(index, count).toFixed(0)}%, var(--solid))`;
  return Object.fromEntries([
    ...cpus.map((device, index) => [device, colour("--cpu", index, cpus.length)]),
    ...gpus.map((device, index) => [device, colour("--gpu", index, gpus.length)]),
  ]);
}
