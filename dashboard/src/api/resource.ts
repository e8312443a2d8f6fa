/** Data a panel reads by REST: loaded on show, refreshed while the page is visible. */
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError } from "./client";

export interface Resource<T> {
  data: T | null;
  error: string | null;
  reload: () => void;
}

/** Messages for people; an abort is nobody's news. */
export function messageOf(error: unknown): string | null {
  if (error instanceof DOMException && error.name === "AbortError") return null;
  if (error instanceof ApiError) return error.message;
  throw error;
}

/**
 * @param load must keep its identity (useCallback or a module function).
 * @param everyMs how often to refresh; leave out to load once.
 */
export function useResource<T>(load: (signal: AbortSignal) => Promise<T>, everyMs?: number): Resource<T> {
  const [data, setData] = useState<T | null>(null);
  const [error, setError] = useState<string | null>(null);
  const controller = useRef<AbortController | null>(null);

  const reload = useCallback(() => {
    controller.current?.abort();
    const current = new AbortController();
    controller.current = current;
    load(current.signal).then(
      (value) => {
        if (current.signal.aborted) return;
        setData(value);
        setError(null);
      },
      (reason: unknown) => {
        const message = messageOf(reason);
        if (message !== null && !current.signal.aborted) setError(message);
      },
    );
  }, [load]);

  useEffect(() => {
    reload();
    const timer = everyMs === undefined ? null : setInterval(() => !document.hidden && reload(), everyMs);
    return () => {
      if (timer !== null) clearInterval(timer);
      controller.current?.abort();
    };
  }, [reload, everyMs]);

  return { data, error, reload };
}
