/** How many of the latest tasks the panels look at. */
import { WINDOW_SIZES, windowSize } from "../live/recent";
import { useStore } from "../store";

export function WindowSelect() {
  const size = useStore(windowSize);
  return (
    <label className="flex items-center gap-2 text-[13px] text-dim">
      Panels look at the last
      <select
        className="field"
        name="window"
        value={size}
        onChange={(event) => windowSize.set(Number(event.target.value))}
      >
        {WINDOW_SIZES.map((choice) => (
          <option key={choice} value={choice}>
            {choice} tasks
          </option>
        ))}
      </select>
    </label>
  );
}
