/** What the last refresh of a learner came to, from its two counters. */
import type { ModelInfo } from "../api/types";

export interface Checks {
  checks: number;
  changes: number;
  /** Whether the last one changed the model; null when the counters do not tell. */
  lastChanged: boolean | null;
}

/** The state after a message; before the first there is none. */
export function afterChecks(known: Checks | undefined, model: ModelInfo): Checks {
  const { refit_checks: checks, refits: changes } = model;
  const fresh = known === undefined || checks < known.checks;
  const newChecks = fresh ? checks : checks - known.checks;
  const newChanges = fresh ? changes : changes - known.changes;
  if (newChecks === 0) return { checks, changes, lastChanged: known?.lastChanged ?? null };
  const lastChanged = newChanges === 0 ? false : newChanges === newChecks ? true : null;
  return { checks, changes, lastChanged };
}

export function checksSentence({ checks, changes, lastChanged }: Checks): string {
  if (checks === 0) return "not checked yet";
  const last = { true: "; last check: changed", false: "; last check: nothing better found", null: "" };
  return `${checks} check${checks === 1 ? "" : "s"}, ${changes} changed the model${last[`${lastChanged}`]}`;
}
