/** One of the stored runs. */
import type { ReactNode } from "react";
import type { StoredRun } from "../api/types";
import { formatDate } from "../format";

interface RunSelectProps {
  label: string;
  value: number | null;
  runs: readonly StoredRun[];
  onPick: (run: number | null) => void;
  /** Label of an extra first choice, which picks null. */
  none?: ReactNode;
}

export function RunSelect({ label, value, runs, onPick, none }: RunSelectProps) {
  return (
    <label className="flex min-w-0 items-center gap-1 text-[13px] text-dim">
      {label}
      <select
        className="field min-w-0"
        value={value ?? ""}
        onChange={({ target }) => onPick(target.value === "" ? null : Number(target.value))}
      >
        {none !== undefined && <option value="">{none}</option>}
        {runs.map((run) => (
          <option key={run.id} value={run.id}>
            {run.id} · {run.name || run.kind} · {formatDate(run.started)}
          </option>
        ))}
      </select>
    </label>
  );
}
