/** Experiments: every stored run with its figures. */
import { useState } from "react";
import { Segmented } from "../ui/segmented";
import { type RunKind, RunList } from "./run-list";

const KINDS = [
  { value: "all", label: "All" },
  { value: "live", label: "Live" },
  { value: "compare", label: "Comparisons" },
  { value: "experiment", label: "Experiments" },
] as const;

export default function ExperimentsPage() {
  const [kind, setKind] = useState<RunKind | "all">("all");
  return (
    <section className="glass p-4" aria-labelledby="runs-heading">
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <h1 id="runs-heading" className="grow text-lg font-semibold">
          Stored runs
        </h1>
        <Segmented label="Kind of run" value={kind} options={KINDS} onChange={setKind} />
      </div>
      <RunList key={kind} kind={kind === "all" ? undefined : kind} />
    </section>
  );
}
