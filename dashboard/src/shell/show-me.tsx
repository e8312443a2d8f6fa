/** The guided run as the person sees it: what happens now, what was measured, and the way out. */
import { Undo2, X } from "lucide-react";
import { formatPercent } from "../format";
import { useUpdate } from "../live/store";
import type { Moment } from "../show-me/acts";
import { closeShowMe, type Ending, putBack, type Show, showMe, skipShowMe } from "../show-me/director";
import { useStore } from "../store";

const MOMENTS: Record<Moment, string> = {
  1: "calm",
  2: "rules break",
  3: "who holds",
  4: "workload shift",
  5: "the end",
};

const ENDINGS: Record<Ending, string> = {
  done: "That was it",
  changed: "Somebody changed the race meanwhile, so the guided run ends here",
  stopped: "The race no longer runs, so the guided run ends here",
  lost: "The guided run was interrupted",
};

export function ShowMe() {
  const show = useStore(showMe);
  return show === null ? null : <Strip show={show} />;
}

function Strip({ show }: { show: Show }) {
  const { ending, said, moment } = show;
  const over = ending === "done";
  return (
    <section
      aria-label="Guided run"
      data-testid="show-me"
      data-moment={moment}
      data-broken={show.broken.join(" ")}
      data-ending={ending ?? ""}
      data-restored={show.restored}
      className="sticky top-2 z-30 mb-3 rounded-2xl border border-accent bg-(--solid) px-4 py-3 shadow-2xl"
    >
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <h2 className="font-semibold">{ending === null ? show.act.title : ENDINGS[ending]}</h2>
        {ending === null ? <Situation /> : <Restored show={show} />}
        <ol className="ml-auto flex gap-1.5" aria-label="Moments">
          {([1, 2, 3, 4, 5] as const).map((number) => (
            <li
              key={number}
              title={MOMENTS[number]}
              aria-current={number === moment ? "step" : undefined}
              className={`figure grid size-6 place-items-center rounded-full text-xs ${
                number <= moment ? "bg-accent text-accent-ink" : "bg-raised text-dim"
              }`}
            >
              {number}
              <span className="sr-only"> {MOMENTS[number]}</span>
            </li>
          ))}
        </ol>
        {ending === null ? (
          <button type="button" className="button" onClick={() => void skipShowMe()}>
            Skip
          </button>
        ) : (
          <button type="button" className="icon-button" aria-label="Close the guided run" onClick={closeShowMe}>
            <X size={17} aria-hidden />
          </button>
        )}
      </div>
      <div aria-live="polite" className="mt-1.5 text-[15px] leading-snug">
        {over ? (
          <ol className="grid gap-1 text-[13px]">
            {said.map((each) => (
              <li key={each.moment} data-testid="show-me-said" data-moment={each.moment}>
                <b>{MOMENTS[each.moment]}:</b> {each.text}
              </li>
            ))}
          </ol>
        ) : (
          <p data-testid="show-me-text">
            {said.at(-1)?.text ?? (ending === null ? "Watch the Race and the Load dial." : "")}
          </p>
        )}
      </div>
      {ending === null && (
        <div aria-hidden className="mt-2 h-1 overflow-hidden rounded-full bg-(--track)">
          <div
            className="h-full origin-left bg-accent transition-transform duration-300 ease-linear"
            style={{ transform: `scaleX(${show.seconds / show.total})` }}
          />
        </div>
      )}
    </section>
  );
}

/** As the service says it, at this moment. */
function Situation() {
  const update = useUpdate();
  const overloaded = update?.comparison.filter((entry) => entry.overloaded).length ?? 0;
  return (
    <span className="figure text-[13px] text-dim">
      load {formatPercent(update?.settings?.load)} · {update?.settings?.preset} · {overloaded} of{" "}
      {update?.comparison.length ?? 0} overloaded
    </span>
  );
}

function Restored({ show }: { show: Show }) {
  if (show.restored) return <span className="text-[13px] text-dim">The race has your settings again.</span>;
  return (
    <button type="button" className="button" onClick={() => void putBack()}>
      <Undo2 size={15} aria-hidden />
      Put my settings back
    </button>
  );
}
