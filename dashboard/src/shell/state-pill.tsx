/** What the service is doing, and whether this page still hears it. */
import type { State } from "../api/types";
import { useLive } from "../live/store";

const STATES: Record<State, { label: string; colour: string }> = {
  starting: { label: "Starting", colour: "text-warn" },
  running: { label: "Running", colour: "text-good" },
  paused: { label: "Paused", colour: "text-warn" },
  stopped: { label: "Stopped", colour: "text-dim" },
  waiting_for_store: { label: "Waiting for the store", colour: "text-warn" },
  following: { label: "Following another process", colour: "text-good" },
  failed: { label: "Failed", colour: "text-bad" },
};

export function StatePill() {
  const connection = useLive((state) => state.connection);
  const state = useLive((value) => value.update?.state);
  const shown =
    connection === "open"
      ? state === undefined
        ? { label: "Connected", colour: "text-good" }
        : STATES[state]
      : connection === "connecting"
        ? { label: "Connecting", colour: "text-warn" }
        : { label: "Offline", colour: "text-bad" };
  return (
    <output
      className={`tag min-h-7 px-3 text-xs ${shown.colour}`}
      data-testid="state-pill"
      data-state={connection === "open" ? (state ?? "connected") : connection}
    >
      <span
        aria-hidden
        className={`size-2 rounded-full bg-current ${state === "running" && connection === "open" ? "pill-dot" : ""}`}
      />
      {shown.label}
    </output>
  );
}
