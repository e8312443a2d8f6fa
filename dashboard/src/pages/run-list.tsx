/** Runs, newest first, page by page; each opens to its figures. */
import { ChevronDown, ChevronRight } from "lucide-react";
import { useCallback, useState } from "react";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import type { StoredRun } from "../api/types";
import { formatDate } from "../format";
import { Empty } from "../ui/empty";
import { RunFigures } from "./run-figures";

export type RunKind = StoredRun["kind"];

interface RunListProps {
  kind: RunKind | undefined;
  /** The run whose figures are shown. */
  open: number | null;
  onOpen: (run: number | null) => void;
  refreshMs: number;
}

export function RunList({ kind, open, onOpen, refreshMs }: RunListProps) {
  const [pages, setPages] = useState(1);
  const load = useCallback(
    async (signal: AbortSignal) => {
      const runs: StoredRun[] = [];
      let before: number | null = null;
      for (let page = 0; page < pages; page += 1) {
        const answer = await api.runs({ before, kind }, signal);
        runs.push(...answer.items);
        before = answer.next_cursor;
        if (before === null) break;
      }
      return { runs, more: before !== null };
    },
    [pages, kind],
  );
  const { data, error } = useResource(load, refreshMs);
  if (error !== null && data === null) return <Empty>{error}</Empty>;
  if (data === null) return <Empty>Loading …</Empty>;
  if (data.runs.length === 0) return <Empty waitsFor="the first stored run" />;
  return (
    <>
      <ul className="grid gap-2">
        {data.runs.map((run) => (
          <li key={run.id} className="rounded-xl border border-line" data-testid="run" data-run={run.id}>
            <button
              type="button"
              className="flex w-full flex-wrap items-center gap-x-4 gap-y-1 rounded-xl px-3 py-2 text-left hover:bg-raised"
              aria-expanded={open === run.id}
              onClick={() => onOpen(open === run.id ? null : run.id)}
            >
              {open === run.id ? <ChevronDown size={16} aria-hidden /> : <ChevronRight size={16} aria-hidden />}
              <span className="figure w-16 text-dim">run {run.id}</span>
              <span className="min-w-32 grow font-medium">{run.name || run.kind}</span>
              <span className="tag text-dim">{run.kind}</span>
              <span
                className={`tag ${run.status === "running" ? "text-good" : run.status === "failed" ? "text-bad" : "text-dim"}`}
              >
                {run.status}
              </span>
              <span className="figure text-[13px] text-dim">seed {run.seed}</span>
              <span className="text-[13px] whitespace-nowrap text-dim">{formatDate(run.started)}</span>
            </button>
            {open === run.id && <RunFigures run={run} />}
          </li>
        ))}
      </ul>
      {data.more && (
        <button type="button" className="button mx-auto mt-4 flex" onClick={() => setPages(pages + 1)}>
          Show older runs
        </button>
      )}
    </>
  );
}
