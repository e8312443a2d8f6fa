/** How a widget hands its data to the panel around it (table view, CSV). */
import { createContext, useContext, useEffect } from "react";
import type { Table } from "./table";

export type TableSource = () => Table;

export const PanelData = createContext<{ current: TableSource | null } | null>(null);

/** Registers the panel's data; `source` runs only when somebody asks for the rows. */
export function usePanelData(source: TableSource): void {
  const holder = useContext(PanelData);
  useEffect(() => {
    if (holder === null) return;
    holder.current = source;
  });
}
