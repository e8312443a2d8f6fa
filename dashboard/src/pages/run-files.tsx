/** The files of a run: the report to open, tables to download, plots to look at. */
import { Download, FileText, Image } from "lucide-react";
import { useCallback } from "react";
import { api, runFileAddress } from "../api/client";
import { useResource } from "../api/resource";
import type { RunFile } from "../api/types";
import { formatBytes } from "../format";

type Listed = Pick<RunFile, "name"> & { bytes: number | null };

const REPORT = /\.(pdf|html?)$/i;
export const PICTURE = /\.(png|svg)$/i;

/** Reports first, then tables, then pictures; within each the service's order. */
export function sortedFiles<T extends Pick<RunFile, "name">>(files: readonly T[]): T[] {
  const rank = ({ name }: T) => (REPORT.test(name) ? 0 : PICTURE.test(name) ? 2 : 1);
  return [...files].sort((a, b) => rank(a) - rank(b));
}

/** Browsers show reports and pictures; everything else is saved. */
export function FileLinks({ run, files }: { run: number; files: readonly Listed[] }) {
  if (files.length === 0) return null;
  return (
    <ul className="flex flex-wrap gap-1.5" aria-label={`Files of run ${run}`}>
      {sortedFiles(files).map(({ name, bytes }) => {
        const report = REPORT.test(name);
        const shown = report || PICTURE.test(name);
        const Icon = report ? FileText : shown ? Image : Download;
        return (
          <li key={name} className="max-w-full">
            <a
              className={`button max-w-full text-[13px] ${report ? "button-accent" : ""}`}
              href={runFileAddress(run, name)}
              data-testid="run-file"
              {...(shown ? { target: "_blank", rel: "noopener" } : { download: name.split("/").at(-1) })}
            >
              <Icon size={14} aria-hidden className="flex-none" />
              <span className="truncate">{name}</span>
              {bytes !== null && <span className="figure font-normal opacity-75">{formatBytes(bytes)}</span>}
            </a>
          </li>
        );
      })}
    </ul>
  );
}

/** What the service keeps for a run; a run without files shows nothing. */
export function RunFiles({ run }: { run: number }) {
  const load = useCallback((signal: AbortSignal) => api.runFiles(run, signal), [run]);
  const { data, error } = useResource(load);
  if (error !== null) return <p className="text-[13px] text-dim">{error}</p>;
  return data === null ? null : <FileLinks run={run} files={data} />;
}
