/** The decisions of all schedulers on one task, one at a time. */
import { useState } from "react";
import type { DecisionReport, Result } from "../api/types";
import { schedulerLabel } from "../format";
import { useCatalogue } from "../live/catalogue";
import { SchedulerDot } from "../ui/scheduler-name";
import { Decision } from "./decision";

interface DecisionTabsProps {
  decisions: DecisionReport[];
  results?: Record<string, Result>;
  first: string | null;
}

export function DecisionTabs({ decisions, results = {}, first }: DecisionTabsProps) {
  const [chosen, setChosen] = useState(first);
  const { colour } = useCatalogue();
  const shown = decisions.find((report) => report.scheduler_name === chosen) ?? decisions[0];
  if (shown === undefined) return <p className="text-dim">No decision is stored for this task.</p>;
  return (
    <>
      <fieldset className="mb-4 flex flex-wrap gap-1.5">
        <legend className="sr-only">Scheduler</legend>
        {decisions.map(({ scheduler_name: name }) => (
          <label
            key={name}
            className="inline-flex cursor-pointer items-center gap-1.5 rounded-full border border-line px-3 py-1 text-[13px] has-checked:border-accent has-checked:bg-raised has-focus-visible:outline-2 has-focus-visible:outline-accent"
          >
            <input
              type="radio"
              name="decision"
              className="sr-only"
              checked={name === shown.scheduler_name}
              onChange={() => setChosen(name)}
            />
            <SchedulerDot colour={colour(name)} />
            {schedulerLabel(name)}
          </label>
        ))}
      </fieldset>
      <Decision report={shown} result={results[shown.scheduler_name]} />
    </>
  );
}
