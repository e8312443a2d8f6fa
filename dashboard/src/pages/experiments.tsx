/** Experiments: start one, follow it, and every stored run with its figures and files. */
import { useState } from "react";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import { Empty } from "../ui/empty";
import { Segmented } from "../ui/segmented";
import { ExperimentForm } from "./experiment-form";
import { ExperimentJobCard } from "./experiment-job";
import { type RunKind, RunList } from "./run-list";

const KINDS = [
  { value: "all", label: "All" },
  { value: "live", label: "Live" },
  { value: "compare", label: "Comparisons" },
  { value: "experiment", label: "Experiments" },
] as const;

const FOLLOW_MS = 1_000;
const REFRESH_MS = 10_000;

export default function ExperimentsPage() {
  const [kind, setKind] = useState<RunKind | "all">("all");
  const [open, setOpen] = useState<number | null>(null);
  const [running, setRunning] = useState(false);
  const refreshMs = running ? FOLLOW_MS : REFRESH_MS;
  const { data, error, reload } = useResource(api.experiments, refreshMs);
  const runs = data?.jobs.some((job) => job.state === "running") ?? false;
  // The pace follows the data: quick while something runs, and once more at its end for the stored run.
  if (runs !== running) setRunning(runs);

  const openRun = (run: number) => {
    setKind("experiment");
    setOpen(run);
    document.getElementById("runs-heading")?.scrollIntoView({ block: "start" });
  };
  return (
    <div className="grid gap-3.5">
      <section className="glass grid gap-4 p-4" aria-labelledby="experiments-heading">
        <h1 id="experiments-heading" className="text-lg font-semibold">
          Experiments
        </h1>
        {data === null ? (
          <Empty>{error ?? "Loading …"}</Empty>
        ) : (
          <>
            <ExperimentForm available={data.available} running={running} onStarted={reload} />
            {data.jobs.length > 0 && (
              <ul className="grid gap-2" aria-label="Started here">
                {data.jobs.map((job) => (
                  <ExperimentJobCard key={job.id} job={job} onChanged={reload} onOpenRun={openRun} />
                ))}
              </ul>
            )}
          </>
        )}
      </section>
      <section className="glass p-4" aria-labelledby="runs-heading">
        <div className="mb-3 flex flex-wrap items-center gap-3">
          <h2 id="runs-heading" className="grow text-lg font-semibold">
            Stored runs
          </h2>
          <Segmented label="Kind of run" value={kind} options={KINDS} onChange={setKind} />
        </div>
        <RunList
          key={kind}
          kind={kind === "all" ? undefined : kind}
          open={open}
          onOpen={setOpen}
          refreshMs={refreshMs}
        />
      </section>
    </div>
  );
}
