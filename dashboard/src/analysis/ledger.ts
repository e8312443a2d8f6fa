/** The ledger's rows: one per task and scheduler, sorted and filtered. */
import type { ComparativeItem, Result } from "../api/types";
import { placementLabel } from "../format";

export interface LedgerRow {
  key: string;
  taskId: number;
  scheduler: string;
  result: Result;
}

export type LedgerColumn =
  | "task"
  | "scheduler"
  | "placement"
  | "time"
  | "wait"
  | "response"
  | "energy"
  | "cost"
  | "decided"
  | "overtaken";

const VALUES: Record<LedgerColumn, (row: LedgerRow) => number | string> = {
  task: (row) => row.taskId,
  scheduler: (row) => row.scheduler,
  placement: (row) => placementLabel(row.result),
  time: (row) => row.result.actual_time,
  wait: (row) => row.result.wait_time,
  response: (row) => row.result.response_time,
  cost: (row) => row.result.execution_cost,
  // What nobody knows comes before all that somebody does.
  energy: (row) => row.result.energy_consumption ?? Number.NEGATIVE_INFINITY,
  decided: (row) => row.result.decided_time ?? Number.NEGATIVE_INFINITY,
  overtaken: (row) => row.result.overtaken ?? Number.NEGATIVE_INFINITY,
};

export interface LedgerView {
  sort: LedgerColumn;
  descending: boolean;
  /** Empty: all. */
  scheduler: string;
  /** Beginning of a task id; empty: all. */
  task: string;
}

export function ledgerRows(items: readonly ComparativeItem[], view: LedgerView): LedgerRow[] {
  const rows: LedgerRow[] = [];
  for (const item of items) {
    if (!String(item.task_id).startsWith(view.task.trim())) continue;
    for (const [scheduler, result] of Object.entries(item.results)) {
      if (view.scheduler !== "" && scheduler !== view.scheduler) continue;
      rows.push({ key: `${item.task_id} ${scheduler}`, taskId: item.task_id, scheduler, result });
    }
  }
  const value = VALUES[view.sort];
  const sign = view.descending ? -1 : 1;
  return rows.sort((a, b) => sign * compare(value(a), value(b)) || b.taskId - a.taskId);
}

function compare(a: number | string, b: number | string): number {
  return typeof a === "number" && typeof b === "number" ? (a === b ? 0 : a - b) : String(a).localeCompare(String(b));
}
