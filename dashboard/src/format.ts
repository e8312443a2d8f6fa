/** Numbers for people: three significant digits, a unit, "–" where there is nothing to show. */

export const NOTHING = "–";

export type Maybe = number | null | undefined;

function missing(value: Maybe): value is null | undefined {
  return value === null || value === undefined || !Number.isFinite(value);
}

/** Three significant digits, thousands apart, never in powers of ten below a million. */
export function formatNumber(value: Maybe, digits = 3): string {
  if (missing(value)) return NOTHING;
  const magnitude = Math.abs(value);
  if (magnitude >= 1e6) return value.toExponential(2);
  if (magnitude >= 1000) return Math.round(value).toLocaleString("en-GB");
  return String(Number(value.toPrecision(digits)));
}

/** How many digits tell the ticks of an axis apart: the closer the values, the more. */
export function digitsFor(values: readonly (number | null)[]): number {
  const known = values.filter((value) => value !== null);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const largest = Math.max(Math.abs(least), Math.abs(most));
  if (known.length === 0 || most === least || largest === 0) return 3;
  return Math.min(6, Math.max(2, Math.ceil(Math.log10(largest / (most - least))) + 2));
}

function scaled(value: number, steps: [least: number, factor: number, unit: string][]): string {
  const magnitude = Math.abs(value);
  const step = steps.find(([least]) => magnitude >= least) ?? steps[steps.length - 1];
  if (step === undefined) return NOTHING;
  const [, factor, unit] = step;
  const number = value * factor;
  const digits = Math.abs(number) >= 100 ? 0 : Math.abs(number) >= 10 ? 1 : 2;
  return `${number.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}

export function formatSeconds(value: Maybe): string {
  if (missing(value)) return NOTHING;
  if (value === 0) return "0 s";
  return scaled(value, [
    [1, 1, "s"],
    [1e-3, 1e3, "ms"],
    [0, 1e6, "µs"],
  ]);
}

/** A moment of simulated time: as exact as moments of one race must be told apart. */
export function formatMoment(seconds: Maybe): string {
  if (missing(seconds)) return NOTHING;
  return `${seconds.toLocaleString("en-GB", { minimumFractionDigits: 3, maximumFractionDigits: 3 })} s`;
}

/** How often something happened. */
export function formatTimes(count: Maybe): string {
  return missing(count) ? NOTHING : `${count.toLocaleString("en-GB")} ×`;
}

/** How long a person still waits: whole seconds, then minutes, then hours. */
export function formatTimeLeft(seconds: Maybe): string {
  if (missing(seconds)) return NOTHING;
  if (seconds < 90) return `${Math.max(1, Math.ceil(seconds))} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  return `${Number((seconds / 3600).toFixed(1))} h`;
}

export function formatBytes(value: Maybe): string {
  if (missing(value)) return NOTHING;
  if (value < 1000) return `${value} B`;
  return scaled(value, [
    [1e6, 1e-6, "MB"],
    [0, 1e-3, "kB"],
  ]);
}

export function formatJoules(value: Maybe): string {
  if (missing(value)) return NOTHING;
  if (value === 0) return "0 J";
  return scaled(value, [
    [1e6, 1e-6, "MJ"],
    [1e3, 1e-3, "kJ"],
    [1, 1, "J"],
    [0, 1e3, "mJ"],
  ]);
}

export function formatDollars(value: Maybe): string {
  if (missing(value)) return NOTHING;
  if (value === 0) return "$0";
  if (Math.abs(value) >= 0.01) return `$${formatNumber(value)}`;
  return scaled(value, [
    [1e-3, 1e3, "m$"],
    [0, 1e6, "µ$"],
  ]);
}

/** A figure by the unit the service gives it. */
export function formatIn(unit: string, value: Maybe): string {
  if (unit === "s") return formatSeconds(value);
  if (unit === "J") return formatJoules(value);
  if (unit === "$") return formatDollars(value);
  return unit === "" || missing(value) ? formatNumber(value) : `${formatNumber(value)} ${unit}`;
}

/** With a capital letter. */
export function headline(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function formatPercent(value: Maybe, digits = 0): string {
  if (missing(value)) return NOTHING;
  const text = (value * 100).toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${text} %`;
}

/** Two digits, a true minus, and no minus before nothing. */
export function formatSigned(value: number): string {
  const text = value.toFixed(2);
  return text === "-0.00" ? "0.00" : text.replace("-", "−");
}

export function formatClock(milliseconds: number): string {
  return new Date(milliseconds).toLocaleTimeString("en-GB");
}

export function formatDate(iso: string): string {
  return new Date(iso).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** "gpu_2" → "GPU 2". */
export function deviceLabel(device: string): string {
  return device.replace(/(cpu|gpu)_(\d+)/g, (_, kind: string, number: string) => `${kind.toUpperCase()} ${number}`);
}

/** Where a task went, from a result or a decision. */
export function placementLabel(placement: { gpu_fraction: number; gpu_id: number | null }): string {
  if (placement.gpu_id === null || placement.gpu_fraction === 0) return "CPU";
  if (placement.gpu_fraction === 1) return `GPU ${placement.gpu_id}`;
  return `GPU ${placement.gpu_id} ${formatPercent(placement.gpu_fraction)} + CPU`;
}

/** "hybrid_ml" → "hybrid ml": names break at spaces, and read better. */
export function schedulerLabel(name: string): string {
  return name.replaceAll("_", " ");
}
