/** The last N tasks with every scheduler's result: polled by REST while a panel shows them. */
import { useEffect } from "react";
import { api } from "../api/client";
import { messageOf } from "../api/resource";
import type { ComparativeItem } from "../api/types";
import { persisted, Store, useStore } from "../store";
import { live } from "./store";

export const WINDOW_SIZES = [50, 100, 200, 500, 1000];
/** The most the service sends at once. */
const PAGE = 1000;
const RUNNING_MS = 2_000;
const RESTING_MS = 10_000;

export const windowSize = persisted("hms.window", 200, (value): value is number =>
  WINDOW_SIZES.includes(value as number),
);

export interface Recent {
  /** Newest first. */
  items: ComparativeItem[];
  loaded: boolean;
  error: string | null;
}

export const recent = new Store<Recent>({ items: [], loaded: false, error: null });

let controller: AbortController | null = null;
let fetchedAt = 0;

/** Reads page after page until N tasks are there or history ends. */
export async function fetchRecent(count: number, signal?: AbortSignal): Promise<ComparativeItem[]> {
  const items: ComparativeItem[] = [];
  let before: number | null | undefined;
  do {
    const page = await api.comparative(Math.min(PAGE, count - items.length), before, signal);
    items.push(...page.items);
    before = page.next_cursor;
  } while (before !== null && items.length < count);
  return items;
}

export async function refreshRecent(): Promise<void> {
  controller?.abort();
  const current = new AbortController();
  controller = current;
  fetchedAt = Date.now();
  try {
    const items = await fetchRecent(windowSize.get(), current.signal);
    if (!current.signal.aborted) recent.set({ items, loaded: true, error: null });
  } catch (error) {
    const message = messageOf(error);
    if (message !== null && !current.signal.aborted) recent.update((value) => ({ ...value, error: message }));
  } finally {
    if (controller === current) controller = null;
  }
}

/** Big windows cost the service more, so they are read less often. */
function interval(): number {
  const running = live.get().update?.state === "running";
  return running ? RUNNING_MS * Math.max(1, windowSize.get() / 200) : RESTING_MS;
}

/** Polls while anything watches `recent`; returns how to stop. */
export function followRecent(): () => void {
  const tick = () => {
    const due = Date.now() - fetchedAt >= interval() - 50;
    if (due && controller === null && recent.watched && !document.hidden && live.get().connection === "open") {
      void refreshRecent();
    }
  };
  const timer = setInterval(tick, 250);
  let state = live.get().update?.state;
  let run = live.get().update?.run_id;
  const unwatchLive = live.subscribe(() => {
    const update = live.get().update;
    if (update?.state !== state || update?.run_id !== run) fetchedAt = 0;
    state = update?.state;
    run = update?.run_id;
  });
  const unwatchSize = windowSize.subscribe(() => {
    void refreshRecent();
  });
  return () => {
    clearInterval(timer);
    unwatchLive();
    unwatchSize();
    controller?.abort();
  };
}

export function useRecent(): Recent {
  const value = useStore(recent);
  useEffect(() => {
    if (!recent.get().loaded) fetchedAt = 0;
  }, []);
  return value;
}
