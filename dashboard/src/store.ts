/** A value that components can watch. */
import { useSyncExternalStore } from "react";

export class Store<T> {
  private readonly listeners = new Set<() => void>();

  constructor(private value: T) {}

  get = (): T => this.value;

  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of this.listeners) listener();
  }

  update(change: (value: T) => T): void {
    this.set(change(this.value));
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  get watched(): boolean {
    return this.listeners.size > 0;
  }
}

/** Watches a part of a store; the part must be an object the store keeps, not one made on the fly. */
export function useStore<T, S = T>(store: Store<T>, select: (value: T) => S = (value) => value as unknown as S): S {
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
}

/** A store that survives a reload. What cannot be read back is replaced by the default. */
export function persisted<T>(key: string, fallback: T, accepts: (value: unknown) => value is T): Store<T> {
  const store = new Store(readStored(key, fallback, accepts));
  store.subscribe(() => localStorage.setItem(key, JSON.stringify(store.get())));
  return store;
}

export function readStored<T>(key: string, fallback: T, accepts: (value: unknown) => value is T): T {
  const text = localStorage.getItem(key);
  if (text === null) return fallback;
  try {
    const value: unknown = JSON.parse(text);
    return accepts(value) ? value : fallback;
  } catch (error) {
    if (error instanceof SyntaxError) return fallback;
    throw error;
  }
}
