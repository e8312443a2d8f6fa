/** How the race runs: what arrives, how fast, who takes part, what learners care for. */
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import type { LiveSettings } from "../api/types";
import { formatPercent, schedulerLabel } from "../format";
import { useCatalogue } from "../live/catalogue";
import { useUpdate } from "../live/store";
import { Dialog } from "../ui/dialog";
import { Empty } from "../ui/empty";
import { SchedulerDot } from "../ui/scheduler-name";
import { ClearDialog } from "./clear-dialog";
import { changeSettings, GOALS, useDraft, withShare } from "./settings";

export function SettingsDialog({ onClose }: { onClose: () => void }) {
  const settings = useUpdate()?.settings ?? null;
  const [clearing, setClearing] = useState(false);
  if (clearing) return <ClearDialog onClose={onClose} />;
  return (
    <Dialog title="Race settings" className="max-w-2xl" onClose={onClose}>
      {settings === null ? (
        <Empty>No race is running; start it first</Empty>
      ) : (
        <div className="grid gap-5">
          <Arrivals settings={settings} />
          <Pace settings={settings} />
          <Objective settings={settings} />
          <LineUp settings={settings} />
        </div>
      )}
      <div className="mt-5 flex items-center gap-3 border-t border-line pt-4">
        <p className="grow text-[13px] text-dim">Everything stored so far can be deleted for good.</p>
        <button type="button" className="button button-bad" onClick={() => setClearing(true)}>
          <Trash2 size={15} aria-hidden /> Clear history …
        </button>
      </div>
    </Dialog>
  );
}

type SectionProps = { settings: LiveSettings };

function Arrivals({ settings }: SectionProps) {
  const real = settings.node === "machine";
  const presets = (useResource(api.presets).data ?? []).filter(({ name }) => !real || name === "kernels");
  const names = presets.map((preset) => preset.name);
  const [shown, choose] = useDraft(settings.preset ?? "", (preset) => void changeSettings({ preset }), 0);
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <label className="grid gap-1">
        <span className="text-sm font-medium">Workload preset</span>
        <select className="field" value={shown} onChange={(event) => choose(event.target.value)}>
          {settings.preset === null && <option value="">none: a trace is raced</option>}
          {settings.preset !== null && !names.includes(settings.preset) && <option>{settings.preset}</option>}
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <span className="text-xs text-dim">{presets.find((preset) => preset.name === shown)?.summary}</span>
      </label>
      <TypedSetting
        label="Trace file"
        name="trace"
        value={settings.trace ?? ""}
        note="a CSV file in the service's trace folder, instead of the preset"
        onSend={(text) => changeSettings({ trace: text })}
      />
    </div>
  );
}

function Pace({ settings }: SectionProps) {
  const real = settings.node === "machine";
  const [flatOut, setFlatOut] = useDraft(settings.flat_out, (value) => void changeSettings({ flat_out: value }), 0);
  return (
    <div className="grid items-start gap-3 sm:grid-cols-2">
      <TypedSetting
        numeric
        label={real ? "Arrival rate (tasks per second)" : "Arrival rate (tasks per simulated second)"}
        name="arrival_rate"
        value={shortest(settings.arrival_rate)}
        note={`${formatPercent(settings.load, 1)} of what the node can take${real ? ", by calibrated or else nominal times" : ""}`}
        onSend={(text) => changeSettings({ arrival_rate: Number(text) })}
      />
      {real ? (
        <p className="text-[13px] text-dim">
          Real work takes the time it takes. A round is the tasks of some seconds, which one scheduler after the other
          runs on {settings.devices.join(", ")}.
        </p>
      ) : (
        <>
          <TypedSetting
            numeric
            label="Speed (simulated seconds per second)"
            name="speed"
            value={shortest(settings.speed)}
            note={settings.flat_out ? "set aside: the race runs flat out" : "1 is real time"}
            onSend={(text) => changeSettings({ speed: Number(text) })}
          />
          <label className="flex items-center gap-2">
            <input type="checkbox" checked={flatOut} onChange={(event) => setFlatOut(event.target.checked)} />
            As fast as the machine can
          </label>
        </>
      )}
    </div>
  );
}

interface TypedSettingProps {
  label: string;
  name: string;
  value: string;
  note: string;
  numeric?: boolean;
  onSend: (text: string) => Promise<boolean>;
}

/** Sent on Enter or when the field is left; afterwards it shows the service's value again. */
function TypedSetting({ label, name, value, note, numeric = false, onSend }: TypedSettingProps) {
  const [text, setText] = useState<string | null>(null);
  const send = async () => {
    if (text !== null && text.trim() !== "" && text !== value) await onSend(text.trim());
    setText(null);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label className="grid gap-1">
        <span className="text-sm font-medium">{label}</span>
        <input
          className="field"
          type={numeric ? "number" : "text"}
          step={numeric ? "any" : undefined}
          name={name}
          value={text ?? value}
          onChange={(event) => setText(event.target.value)}
          onBlur={() => void send()}
        />
        <span className="text-xs text-dim">{note}</span>
      </label>
    </form>
  );
}

function shortest(value: number): string {
  return String(Number(value.toPrecision(6)));
}

function Objective({ settings }: SectionProps) {
  const [weights, setWeights] = useDraft(settings.weights, (value) => void changeSettings({ weights: value }));
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-1 text-sm font-medium">What the learners care for</legend>
      {GOALS.map((goal) => (
        <label key={goal} className="grid grid-cols-[4rem_1fr_3.5rem] items-center gap-3 text-sm">
          <span>{goal}</span>
          <input
            type="range"
            name={`weight_${goal}`}
            min={0}
            max={1}
            step={0.05}
            value={weights[goal]}
            aria-valuetext={`${goal} counts ${formatPercent(weights[goal])}`}
            onChange={(event) => setWeights(withShare(weights, goal, Number(event.target.value)))}
          />
          <span className="figure text-right text-dim">{formatPercent(weights[goal])}</span>
        </label>
      ))}
      <span className="text-xs text-dim">
        Shares of what counts: raising one lowers the others, in proportion. Learners keep what they know of times.
      </span>
    </fieldset>
  );
}

function LineUp({ settings }: SectionProps) {
  const { all } = useCatalogue();
  const [draft, setDraft] = useState<string[] | null>(null);
  const racing = draft ?? settings.schedulers;
  const toggle = (name: string) =>
    setDraft(racing.includes(name) ? racing.filter((other) => other !== name) : [...racing, name]);
  const apply = async () => {
    if (draft !== null && (await changeSettings({ schedulers: draft }))) setDraft(null);
  };
  return (
    <fieldset>
      <legend className="mb-1 text-sm font-medium">Schedulers in the race</legend>
      <div className="grid gap-1.5 sm:grid-cols-2">
        {all.map((info) => (
          <label
            key={info.name}
            className={`flex items-center gap-2 ${info.available ? "" : "text-dim"}`}
            title={info.reason || info.summary}
          >
            <input
              type="checkbox"
              name="scheduler"
              value={info.name}
              checked={racing.includes(info.name)}
              disabled={!info.available}
              onChange={() => toggle(info.name)}
            />
            <SchedulerDot colour={info.colour} />
            <span>
              {schedulerLabel(info.name)}
              {!info.available && <span className="block text-xs">{info.reason}</span>}
            </span>
          </label>
        ))}
      </div>
      <div className="mt-2 flex items-center gap-3">
        <button
          type="button"
          className="button"
          disabled={draft === null || draft.length === 0}
          onClick={() => void apply()}
        >
          Apply line-up
        </button>
        <span className="text-xs text-dim">Another line-up begins a new run.</span>
      </div>
    </fieldset>
  );
}
