/** Task sizes in bins, and where GPUs win. */
import type { ComparativeItem, Result } from "../api/types";

export interface Bin {
  from: number;
  to: number;
  count: number;
}

/** Sizes have a long tail, so edges grow by a constant factor (rounded to whole sizes for reading). */
export function sizeEdges(sizes: readonly number[], bins: number): number[] {
  const positive = sizes.filter((size) => size > 0);
  if (positive.length === 0) return [];
  const least = Math.min(...positive);
  const most = Math.max(...positive);
  if (least === most) return [least, least];
  const factor = (most / least) ** (1 / bins);
  return Array.from({ length: bins + 1 }, (_, index) => (index === bins ? most : least * factor ** index));
}

/** The bin of a value; the last one includes its upper edge. -1 outside. */
export function binOf(value: number, edges: readonly number[]): number {
  const last = edges.length - 2;
  if (last < 0 || value < (edges[0] ?? 0) || value > (edges[last + 1] ?? 0)) return -1;
  for (let index = last; index > 0; index -= 1) if (value >= (edges[index] ?? 0)) return index;
  return 0;
}

export function histogram(values: readonly number[], edges: readonly number[]): Bin[] {
  const bins = edges.slice(0, -1).map((from, index) => ({ from, to: edges[index + 1] ?? from, count: 0 }));
  for (const value of values) {
    const bin = bins[binOf(value, edges)];
    if (bin !== undefined) bin.count += 1;
  }
  return bins;
}

/** The result with the shortest response; null when nobody finished it. */
export function fastest(item: ComparativeItem): Result | null {
  let best: Result | null = null;
  for (const result of Object.values(item.results)) {
    if (!result.failed && (best === null || result.response_time < best.response_time)) best = result;
  }
  return best;
}

export interface HeatCell {
  count: number;
  /** Mean share of the work that went to GPUs; null without tasks. */
  gpuShare: number | null;
}

export const INTENSITY_EDGES = [0, 0.2, 0.4, 0.6, 0.8, 1];

/** Rows: intensity, low to high. Columns: size. `choose` says whose placement counts for a task. */
export function gpuHeatmap(
  items: readonly ComparativeItem[],
  edges: readonly number[],
  choose: (item: ComparativeItem) => Result | null | undefined,
): HeatCell[][] {
  const columns = Math.max(0, edges.length - 1);
  const sums = INTENSITY_EDGES.slice(1).map(() => Array.from({ length: columns }, () => ({ count: 0, sum: 0 })));
  for (const item of items) {
    const result = choose(item);
    const cell = sums[binOf(item.compute_intensity, INTENSITY_EDGES)]?.[binOf(item.size, edges)];
    if (cell === undefined || result === null || result === undefined) continue;
    cell.count += 1;
    cell.sum += result.gpu_fraction;
  }
  return sums.map((row) => row.map(({ count, sum }) => ({ count, gpuShare: count === 0 ? null : sum / count })));
}
