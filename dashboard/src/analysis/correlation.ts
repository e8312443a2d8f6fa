/** How task features and results move together. */
import type { ComparativeItem, Result } from "../api/types";

/** Pearson's r; null when a side does not vary or there are fewer than three pairs. */
export function pearson(x: readonly number[], y: readonly number[]): number | null {
  const count = Math.min(x.length, y.length);
  if (count < 3) return null;
  const meanX = x.reduce((sum, value) => sum + value, 0) / count;
  const meanY = y.reduce((sum, value) => sum + value, 0) / count;
  let xy = 0;
  let xx = 0;
  let yy = 0;
  for (let index = 0; index < count; index += 1) {
    const dx = (x[index] ?? 0) - meanX;
    const dy = (y[index] ?? 0) - meanY;
    xy += dx * dy;
    xx += dx * dx;
    yy += dy * dy;
  }
  // Equal values leave rounding dust in the mean, not a spread.
  const dust = 1e-24 * count;
  if (xx <= dust * meanX * meanX || yy <= dust * meanY * meanY) return null;
  return Math.max(-1, Math.min(1, xy / Math.sqrt(xx * yy)));
}

type Pair = { item: ComparativeItem; result: Result };

export const VARIABLES: readonly { label: string; value: (pair: Pair) => number | null }[] = [
  { label: "size", value: ({ item }) => item.size },
  { label: "intensity", value: ({ item }) => item.compute_intensity },
  { label: "memory", value: ({ item }) => item.memory_required },
  { label: "GPU share", value: ({ result }) => result.gpu_fraction },
  { label: "execution", value: ({ result }) => result.actual_time },
  { label: "wait", value: ({ result }) => result.wait_time },
  { label: "response", value: ({ result }) => result.response_time },
  { label: "energy", value: ({ result }) => result.energy_consumption },
  { label: "cost", value: ({ result }) => result.execution_cost },
];

/** The matrix over the finished tasks of one scheduler. */
export function correlations(items: readonly ComparativeItem[], scheduler: string): (number | null)[][] {
  const pairs: Pair[] = [];
  for (const item of items) {
    const result = item.results[scheduler];
    if (result !== undefined && !result.failed) pairs.push({ item, result });
  }
  const columns = VARIABLES.map(({ value }) => pairs.map(value));
  return columns.map((row) => columns.map((column) => pearson(...known(row, column))));
}

/** Two columns where both are known: a real machine need not tell the energy of every task. */
function known(x: readonly (number | null)[], y: readonly (number | null)[]): [number[], number[]] {
  const both: [number[], number[]] = [[], []];
  x.forEach((a, index) => {
    const b = y[index] ?? null;
    if (a === null || b === null) return;
    both[0].push(a);
    both[1].push(b);
  });
  return both;
}
