/** Which task the decision inspector shows. */
import { Store } from "../store";

export interface Inspected {
  taskId: number;
  /** Whose decision to show first. */
  scheduler: string | null;
  /** In whose waiting room it was when it was chosen. */
  waits?: string;
}

export const inspected = new Store<Inspected | null>(null);

export function inspect(taskId: number, scheduler: string | null = null): void {
  inspected.set({ taskId, scheduler });
}

/** A task that is not finished: it waits for this scheduler. */
export function inspectWaiting(taskId: number, scheduler: string): void {
  inspected.set({ taskId, scheduler, waits: scheduler });
}
