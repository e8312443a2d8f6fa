/** A scheduler's name with its colour: the same everywhere. */

import { schedulerLabel } from "../format";
import { useCatalogue } from "../live/catalogue";

export function SchedulerName({ name, className = "" }: { name: string; className?: string }) {
  const { colour } = useCatalogue();
  return (
    <span className={`inline-flex min-w-0 items-center gap-1.5 ${className}`}>
      <SchedulerDot colour={colour(name)} />
      <span className="truncate">{schedulerLabel(name)}</span>
    </span>
  );
}

/** The rim keeps very light and very dark colours visible in both themes. */
export function SchedulerDot({ colour }: { colour: string }) {
  return (
    <span
      aria-hidden
      className="inline-block size-2.5 flex-none rounded-full border border-ink/25"
      style={{ backgroundColor: colour }}
    />
  );
}

interface SelectProps {
  label: string;
  value: string;
  names: readonly string[];
  onChange: (name: string) => void;
  /** Label of an extra first choice with the value "". */
  all?: string;
}

export function SchedulerSelect({ label, value, names, onChange, all }: SelectProps) {
  return (
    <select
      className="field text-xs"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {all !== undefined && <option value="">{all}</option>}
      {names.map((name) => (
        <option key={name} value={name}>
          {schedulerLabel(name)}
        </option>
      ))}
    </select>
  );
}
