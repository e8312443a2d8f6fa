/** The order in which one scheduler decided tasks, against the order in which they became ready. */
import type { ComparativeItem, Result } from "../api/types";

/** How long a scheduler let a task wait before it decided; null where nobody knows. */
export function decisionWait(result: Result | null | undefined): number | null {
  const { ready_time: ready, decided_time: decided } = result ?? {};
  return ready == null || decided == null ? null : decided - ready;
}

/** Who of these tasks of one run was decided before one that was ready earlier. */
export function overtakers(items: readonly ComparativeItem[], scheduler: string): Set<number> {
  const known = items.flatMap(({ task_id: id, results }) => {
    const { ready_time: ready, decided_time: decided } = results[scheduler] ?? {};
    return ready == null || decided == null ? [] : [{ id, ready, decided }];
  });
  known.sort((a, b) => a.ready - b.ready || a.id - b.id);
  const found = new Set<number>();
  let latest = Number.NEGATIVE_INFINITY;
  for (const { id, decided } of known) {
    if (decided < latest) found.add(id);
    latest = Math.max(latest, decided);
  }
  return found;
}
