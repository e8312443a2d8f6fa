/** What a panel says when it has nothing to show: what it waits for, and why that may not come by itself. */
import type { ReactNode } from "react";
import type { State } from "../api/types";
import { useLive } from "../live/store";

const OBSTACLES: Partial<Record<State, string>> = {
  starting: "The race is just starting.",
  paused: "The race is paused: resume it to go on.",
  stopped: "The race is stopped: start it to begin a new run.",
  waiting_for_store: "The race waits for the store.",
  failed: "The race has failed.",
};

interface EmptyProps {
  /** What must happen first, e.g. "the first finished task". */
  waitsFor?: string;
  /** Instead of all that: there is nothing to wait for. */
  children?: ReactNode;
}

export function Empty({ waitsFor, children }: EmptyProps) {
  return (
    <div data-testid="empty" className="grid h-full min-h-24 place-items-center p-4 text-center text-dim">
      {children === undefined ? <Waiting waitsFor={waitsFor} /> : <p>{children}</p>}
    </div>
  );
}

function Waiting({ waitsFor }: { waitsFor: string | undefined }) {
  const state = useLive((value) => value.update?.state);
  const connection = useLive((value) => value.connection);
  const obstacle =
    connection === "lost"
      ? "The connection to the service is lost; it is tried again."
      : state === undefined
        ? ""
        : (OBSTACLES[state] ?? "");
  return (
    <p>
      No data yet{waitsFor !== undefined && `: waiting for ${waitsFor}`}
      {obstacle !== "" && <span className="block text-[13px]">{obstacle}</span>}
    </p>
  );
}
