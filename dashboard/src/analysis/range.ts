/** The stretch of time that the History view looks at. */
import type { TimeRange } from "../api/client";
import { persisted } from "../store";

const DAY = 86_400;
const LENGTHS = { hour: 3600, day: DAY, week: 7 * DAY, month: 31 * DAY } as const;

export type RangeId = keyof typeof LENGTHS | "all" | "custom";
export const RANGES: readonly { value: RangeId; label: string }[] = [
  { value: "hour", label: "Hour" },
  { value: "day", label: "Day" },
  { value: "week", label: "Week" },
  { value: "month", label: "Month" },
  { value: "all", label: "All" },
  { value: "custom", label: "From … to …" },
];

export interface Chosen {
  id: RangeId;
  /** Days as the browser's date field writes them, local time; used by `custom` alone. */
  from: string;
  to: string;
}

function isChosen(value: unknown): value is Chosen {
  const candidate = value as Chosen | null;
  return (
    RANGES.some((range) => range.value === candidate?.id) &&
    typeof candidate?.from === "string" &&
    typeof candidate.to === "string"
  );
}

export const chosenRange = persisted<Chosen>("hms.history.range", { id: "hour", from: "", to: "" }, isChosen);

/** Local midnight of a day; undefined for none. */
function midnight(day: string): number | undefined {
  const at = Date.parse(`${day}T00:00:00`);
  return Number.isNaN(at) || at < 0 ? undefined : Math.floor(at / 1000);
}

/** What to ask the service for; a custom range takes its last day whole. */
export function timeRange(chosen: Chosen, now: number): TimeRange {
  if (chosen.id === "all") return {};
  if (chosen.id !== "custom") return { since: Math.floor(now / 1000) - LENGTHS[chosen.id] };
  const last = midnight(chosen.to);
  return { since: midnight(chosen.from), until: last === undefined ? undefined : last + DAY };
}

/** A moment on an axis: the clock within two days, with seconds within ten minutes, else the date. */
export function timeLabel(at: number, span: number): string {
  const moment = new Date(at);
  if (span <= 600_000) return moment.toLocaleTimeString("en-GB");
  return span <= 2 * DAY * 1000
    ? moment.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })
    : moment.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}
