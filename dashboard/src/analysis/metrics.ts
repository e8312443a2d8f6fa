/** The figures of the live race: where messages keep them. What they are called and which way is better the service says. */
import type { ComparisonEntry, MetricDescription } from "../api/types";
import { formatIn, formatPercent, headline } from "../format";

export type MetricId = "response" | "execution" | "energy" | "cost" | "gap";
/** Fields of the live comparison and of the lower bound. */
export type MeanField = "avg_response" | "avg_time" | "avg_energy" | "avg_cost";
/** Fields of the live comparison. */
export type RaceField = MeanField | "gap";

interface Place<F extends RaceField = MeanField> {
  id: MetricId;
  /** Its name in the service's catalogue. */
  name: string;
  mean: F;
}

const RESPONSE: Place = { id: "response", name: "avg_response", mean: "avg_response" };
const PLACES: readonly Place[] = [
  RESPONSE,
  { id: "execution", name: "avg_time", mean: "avg_time" },
  { id: "energy", name: "energy", mean: "avg_energy" },
  { id: "cost", name: "cost", mean: "avg_cost" },
];

/** How far the mean response is above the bound of the same tasks. The bound has none itself. */
const GAP: Place<"gap"> = { id: "gap", name: "gap", mean: "gap" };

export interface Metric<F extends RaceField = MeanField> extends Place<F> {
  label: string;
  unit: string;
  biggerIsBetter: boolean;
  format: (value: number | null | undefined) => string;
}

/** The figures of the live race in the service's words; before these are there, plain numbers under plain names. */
export function liveMetrics(catalogue: readonly MetricDescription[]): Metric[] {
  return PLACES.map((place) => described(place, catalogue));
}

/** These and the gap. */
export function raceMetrics(catalogue: readonly MetricDescription[]): Metric<RaceField>[] {
  return [...liveMetrics(catalogue), described(GAP, catalogue)];
}

/** One of these. */
export function raceMetric(id: MetricId, catalogue: readonly MetricDescription[]): Metric<RaceField> {
  return raceMetrics(catalogue).find((metric) => metric.id === id) ?? described(RESPONSE, catalogue);
}

/** How a figure is written, by the service's description of it: shares in per cent, others with their unit. */
export function formatterOf(info: MetricDescription | undefined): (value: number | null | undefined) => string {
  if (info?.unit !== "share") return (value) => formatIn(info?.symbol ?? "", value);
  return (value) => formatPercent(value, Math.abs(value ?? 0) < 0.1 ? 1 : 0);
}

function described<F extends RaceField>(place: Place<F>, catalogue: readonly MetricDescription[]): Metric<F> {
  const info = catalogue.find(({ name }) => name === place.name);
  return {
    ...place,
    label: headline(info?.short ?? place.id),
    unit: info?.symbol ?? "",
    biggerIsBetter: info?.bigger_is_better ?? false,
    format: formatterOf(info),
  };
}

/** What sorts the better figure first; none comes last. */
function badness(value: number | null, metric: Metric<RaceField>): number {
  if (value === null) return Number.POSITIVE_INFINITY;
  return metric.biggerIsBetter ? -value : value;
}

/** Best first; schedulers without a figure yet come last. */
export function ranked(comparison: readonly ComparisonEntry[], metric: Metric<RaceField>): ComparisonEntry[] {
  // Two that have no figure are infinitely bad: their difference is no number, and their names decide.
  return [...comparison].sort(
    (a, b) => badness(a[metric.mean], metric) - badness(b[metric.mean], metric) || a.name.localeCompare(b.name),
  );
}

/** The best figure of all; null when nobody has one. */
export function bestOf(comparison: readonly ComparisonEntry[], metric: Metric<RaceField>): number | null {
  return ranked(comparison, metric)[0]?.[metric.mean] ?? null;
}

export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
