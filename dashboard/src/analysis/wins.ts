/** Who beats whom on the same task. */
import type { ComparativeItem, Result } from "../api/types";

export interface Duel {
  wins: number;
  losses: number;
  ties: number;
  /** Tasks that both have. */
  total: number;
}

/** A failed task loses against a finished one. */
function time(result: Result): number {
  return result.failed ? Number.POSITIVE_INFINITY : result.response_time;
}

export function duel(items: readonly ComparativeItem[], row: string, column: string): Duel {
  const outcome: Duel = { wins: 0, losses: 0, ties: 0, total: 0 };
  for (const { results } of items) {
    const [a, b] = [results[row], results[column]];
    if (a === undefined || b === undefined) continue;
    outcome.total += 1;
    if (time(a) < time(b)) outcome.wins += 1;
    else if (time(a) > time(b)) outcome.losses += 1;
    else outcome.ties += 1;
  }
  return outcome;
}

/** Schedulers that appear in the tasks, in the order of the line-up given, then by name. */
export function schedulersIn(items: readonly ComparativeItem[], lineUp: readonly string[] = []): string[] {
  const present = new Set(items.flatMap((item) => Object.keys(item.results)));
  const known = lineUp.filter((name) => present.has(name));
  return [...known, ...[...present].filter((name) => !known.includes(name)).sort()];
}
