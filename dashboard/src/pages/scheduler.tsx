/** Scheduler details: one scheduler at a time. */
import { useMemo } from "react";
import { schedulerLabel } from "../format";
import { rows } from "../layout/layout-store";
import { PanelGrid } from "../layout/panel-grid";
import { useCatalogue } from "../live/catalogue";
import { Link, schedulerPath } from "../router";
import { Empty } from "../ui/empty";
import { SchedulerDot } from "../ui/scheduler-name";
import { WindowSelect } from "../ui/window-select";

const DEFAULTS = {
  wide: rows(
    [
      ["pulse", 12, 7],
      ["spider", 6, 7],
      ["split", 6, 7],
    ],
    [
      ["timeline", 14, 8],
      ["learning", 10, 8],
    ],
    [["graph", 24, 9]],
  ),
  normal: rows(
    [
      ["pulse", 7, 7],
      ["spider", 5, 7],
    ],
    [
      ["timeline", 8, 8],
      ["split", 4, 8],
    ],
    [["graph", 12, 9]],
    [["learning", 12, 6]],
  ),
  medium: rows(
    [["pulse", 6, 7]],
    [
      ["spider", 3, 8],
      ["split", 3, 8],
    ],
    [["timeline", 6, 8]],
    [["graph", 6, 9]],
    [["learning", 6, 7]],
  ),
  narrow: rows(
    [["pulse", 1, 7]],
    [["spider", 1, 8]],
    [["split", 1, 8]],
    [["timeline", 1, 8]],
    [["graph", 1, 10]],
    [["learning", 1, 10]],
  ),
};

/** Only learners have a learning panel. */
function withoutLearning(): typeof DEFAULTS {
  const drop = (places: (typeof DEFAULTS)["wide"]) =>
    places
      .filter((place) => place.i !== "learning")
      .map((place) => (place.i === "timeline" && place.w === 14 ? { ...place, w: 24 } : place));
  return {
    wide: drop(DEFAULTS.wide),
    normal: drop(DEFAULTS.normal),
    medium: drop(DEFAULTS.medium),
    narrow: drop(DEFAULTS.narrow),
  };
}

const FIXED_RULE = withoutLearning();

export default function SchedulerPage({ name }: { name: string | null }) {
  const { all, racing, find } = useCatalogue();
  const choices = useMemo(
    () => [...racing, ...all.filter((info) => info.name === name && !info.in_race)],
    [all, racing, name],
  );
  const info = name === null ? racing[0] : find(name);
  if (info === undefined) {
    return (
      <>
        <h1 className="sr-only">Scheduler details</h1>
        {all.length === 0 ? (
          <Empty waitsFor="the list of schedulers" />
        ) : (
          <Empty>
            {name === null ? "No scheduler is in the race" : `There is no scheduler called ${name}.`}{" "}
            <Link href="/" className="underline">
              Back to the race
            </Link>
          </Empty>
        )}
      </>
    );
  }
  return (
    <>
      <nav aria-label="Schedulers" className="mb-3 flex flex-wrap gap-1.5">
        {choices.map((choice) => (
          <Link
            key={choice.name}
            href={schedulerPath(choice.name)}
            aria-current={choice.name === info.name ? "page" : undefined}
            className="inline-flex items-center gap-1.5 rounded-full border border-line px-3 py-1 text-[13px] text-dim hover:text-ink aria-[current]:border-accent aria-[current]:bg-raised aria-[current]:text-ink"
          >
            <SchedulerDot colour={choice.colour} />
            {schedulerLabel(choice.name)}
          </Link>
        ))}
      </nav>
      <div className="mb-3">
        <h1 className="text-xl font-semibold">
          {schedulerLabel(info.name)}
          {info.knows_truth && <span className="tag ml-3 align-middle text-dim">a reference, not a contestant</span>}
          {!info.in_race && <span className="tag ml-3 align-middle text-warn">not in the race</span>}
        </h1>
        <p className="text-dim">{info.summary}</p>
        {Object.keys(info.parameters).length > 0 && (
          <details className="mt-1 text-[13px] text-dim">
            <summary>Parameters and their defaults</summary>
            <p className="mt-1 font-mono text-xs">
              {Object.entries(info.parameters)
                .map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
                .join(" · ")}
            </p>
          </details>
        )}
      </div>
      <PanelGrid
        page={info.is_learner ? "learner" : "scheduler"}
        defaults={info.is_learner ? DEFAULTS : FIXED_RULE}
        scheduler={info.name}
        toolbar={<WindowSelect />}
      />
    </>
  );
}
