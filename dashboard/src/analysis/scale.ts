/** Where a value lies on a bar: linear from zero, or logarithmic when values are orders of magnitude apart. */

export type ScaleChoice = "auto" | "linear" | "log";

export interface Scale {
  kind: "linear" | "log";
  /** 0 … 1. */
  position: (value: number) => number;
  ticks: number[];
}

/** Beyond this ratio the shortest bars of a linear scale can no longer be told apart. */
const LOG_RATIO = 30;

export function makeScale(values: readonly number[], choice: ScaleChoice): Scale {
  const positive = values.filter((value) => Number.isFinite(value) && value > 0);
  if (positive.length === 0) return { kind: "linear", position: () => 0, ticks: [] };
  const least = Math.min(...positive);
  const most = Math.max(...positive);
  const log = choice === "log" || (choice === "auto" && most / least > LOG_RATIO);
  return log ? logScale(least, most) : linearScale(most);
}

function linearScale(most: number): Scale {
  const step = niceStep(most / 4);
  const end = Math.max(most, step);
  const ticks: number[] = [];
  for (let tick = 0; tick <= end * 1.0001; tick += step) ticks.push(tick);
  return { kind: "linear", position: (value) => clamp(value / end), ticks };
}

function logScale(least: number, most: number): Scale {
  // Half a decade of room below, so that the best still has a bar.
  const low = Math.log10(least) - 0.5;
  const high = Math.max(Math.log10(most), low + 1);
  const decades = Math.ceil(high) - Math.ceil(low);
  const stride = Math.max(1, Math.ceil(decades / 5));
  const ticks: number[] = [];
  for (let exponent = Math.ceil(low); exponent <= high; exponent += stride) ticks.push(10 ** exponent);
  return {
    kind: "log",
    position: (value) => (value <= 0 ? 0 : clamp((Math.log10(value) - low) / (high - low))),
    ticks,
  };
}

/** 1, 2 and 5 times every power of ten between two values. */
export function logTicks(least: number, most: number): number[] {
  const ticks: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(least)); power <= most; power *= 10) {
    for (const factor of [1, 2, 5]) {
      const tick = factor * power;
      if (tick >= least && tick <= most) ticks.push(tick);
    }
  }
  return ticks;
}

function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 2.5, 5, 10].find((candidate) => candidate * power >= rough) ?? 10;
  return factor * power;
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value));
}
