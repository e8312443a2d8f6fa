/** Which task the decision inspector shows. */
import { Store } from "../store";

export interface Inspected {
  taskId: number;
  /** Whose decision to show first. */
  scheduler: string | null;
}

export const inspected = new Store<Inspected | null>(null);

export function inspect(taskId: number, scheduler: string | null = null): void {
  inspected.set({ taskId, scheduler });
}
