/** Which schedulers exist, with their names and colours: from the service alone. */
import { useMemo } from "react";
import { api } from "../api/client";
import { messageOf } from "../api/resource";
import type { SchedulerInfo } from "../api/types";
import { Store, useStore } from "../store";
import { metricCatalogue } from "./metric-catalogue";
import { live } from "./store";

export const catalogue = new Store<SchedulerInfo[]>([]);

const UNKNOWN_COLOUR = "#94a3b8";

export async function refreshCatalogue(): Promise<void> {
  try {
    catalogue.set(await api.schedulers());
    if (metricCatalogue.get().length === 0) metricCatalogue.set(await api.metricCatalogue());
  } catch (error) {
    // The lost connection is on the banner already.
    messageOf(error);
  }
}

/** Refreshes on every new connection and when the race changes its line-up. */
export function followCatalogue(): () => void {
  let connection = live.get().connection;
  let lineUp = "";
  return live.subscribe(() => {
    const state = live.get();
    const names = (state.update?.settings?.schedulers ?? []).join();
    const changed = (state.connection === "open" && connection !== "open") || (names !== "" && names !== lineUp);
    connection = state.connection;
    if (names !== "") lineUp = names;
    if (changed) void refreshCatalogue();
  });
}

export interface Catalogue {
  all: SchedulerInfo[];
  racing: SchedulerInfo[];
  find: (name: string) => SchedulerInfo | undefined;
  colour: (name: string) => string;
  /** The scheduler that knows the truth, when it races. */
  reference: SchedulerInfo | undefined;
}

export function useCatalogue(): Catalogue {
  const all = useStore(catalogue);
  return useMemo(() => {
    const byName = new Map(all.map((info) => [info.name, info]));
    const racing = all.filter((info) => info.in_race);
    return {
      all,
      racing,
      find: (name) => byName.get(name),
      colour: (name) => byName.get(name)?.colour ?? UNKNOWN_COLOUR,
      reference: racing.find((info) => info.knows_truth),
    };
  }, [all]);
}
