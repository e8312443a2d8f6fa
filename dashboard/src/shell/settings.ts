/** Changing the live race; what the service refuses is said as it said it. */
import { useCallback, useEffect, useRef, useState } from "react";
import { api, type Control } from "../api/client";
import { messageOf } from "../api/resource";
import type { GoalWeights, SettingsChange } from "../api/types";
import { notify } from "../live/store";

function report(error: unknown): void {
  const message = messageOf(error);
  if (message !== null) notify("error", message);
}

/** True when the service accepted it. */
export async function changeSettings(change: SettingsChange): Promise<boolean> {
  try {
    await api.changeSettings(change);
    return true;
  } catch (error) {
    report(error);
    return false;
  }
}

export async function control(name: Control): Promise<void> {
  try {
    await api.control(name);
  } catch (error) {
    report(error);
  }
}

export const GOALS = ["time", "energy", "money"] as const;
type Goal = (typeof GOALS)[number];

/** The weights with one goal's share changed: the others keep their ratio, and the sum stays 1. */
export function withShare(weights: GoalWeights, goal: Goal, share: number): GoalWeights {
  const rest = GOALS.reduce((sum, other) => sum + (other === goal ? 0 : weights[other]), 0);
  const scaled = (other: Goal) => {
    if (other === goal) return share;
    // Nothing else counted before: what is left goes to the two others alike.
    return (1 - share) * (rest > 0 ? weights[other] / rest : 0.5);
  };
  return { time: scaled("time"), energy: scaled("energy"), money: scaled("money") };
}

const SETTLE_MS = 250;
/** Until an update confirms the new value, the old one must not flicker back. */
const CONFIRM_MS = 1500;

/** A setting under the hand: shows what the hand says at once, sends when it rests, then follows the service again. */
export function useDraft<T>(live: T, send: (value: T) => void, settleMs = SETTLE_MS): [T, (value: T) => void] {
  const [draft, setDraft] = useState<{ value: T } | null>(null);
  const timers = useRef<ReturnType<typeof setTimeout>[]>([]);
  const sender = useRef(send);
  useEffect(() => {
    sender.current = send;
  });
  const clear = useCallback(() => {
    for (const timer of timers.current) clearTimeout(timer);
    timers.current = [];
  }, []);
  useEffect(() => clear, [clear]);
  const change = useCallback(
    (value: T) => {
      setDraft({ value });
      clear();
      timers.current = [
        setTimeout(() => sender.current(value), settleMs),
        setTimeout(() => setDraft(null), settleMs + CONFIRM_MS),
      ];
    },
    [clear, settleMs],
  );
  return [draft === null ? live : draft.value, change];
}
