/** Over what time the History view looks. */
import { type Chosen, chosenRange, RANGES } from "../analysis/range";
import { useStore } from "../store";
import { Segmented } from "./segmented";

export function RangePicker() {
  const chosen = useStore(chosenRange);
  const change = (part: Partial<Chosen>) => chosenRange.update((value) => ({ ...value, ...part }));
  return (
    <div className="flex flex-wrap items-center gap-2" data-testid="range-picker">
      <Segmented label="Time" value={chosen.id} options={RANGES} onChange={(id) => change({ id })} />
      {chosen.id === "custom" && (
        <>
          <label className="flex items-center gap-1 text-[13px] text-dim">
            from
            <input
              type="date"
              className="field"
              value={chosen.from}
              max={chosen.to || undefined}
              onChange={(event) => change({ from: event.target.value })}
            />
          </label>
          <label className="flex items-center gap-1 text-[13px] text-dim">
            to
            <input
              type="date"
              className="field"
              value={chosen.to}
              min={chosen.from || undefined}
              onChange={(event) => change({ to: event.target.value })}
            />
          </label>
        </>
      )}
    </div>
  );
}
