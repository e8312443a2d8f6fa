/** Start, stop, pause, resume: always in reach. */
import { Pause, Play, Square } from "lucide-react";
import { useState } from "react";
import type { Control } from "../api/client";
import { useLive } from "../live/store";
import { control } from "./settings";

const BUTTONS = {
  start: { label: "Start", icon: Play },
  resume: { label: "Resume", icon: Play },
  pause: { label: "Pause", icon: Pause },
  stop: { label: "Stop", icon: Square },
} as const;

export function RaceControls() {
  const state = useLive((value) => value.update?.state);
  const connected = useLive((value) => value.connection === "open");
  const [busy, setBusy] = useState<Control | null>(null);
  const stopped = state === undefined || state === "stopped" || state === "failed";
  const offered: Control[] = stopped ? ["start"] : [state === "paused" ? "resume" : "pause", "stop"];
  const press = async (name: Control) => {
    setBusy(name);
    await control(name);
    setBusy(null);
  };
  return (
    <fieldset className="flex gap-1 sm:gap-1.5">
      <legend className="sr-only">Race</legend>
      {offered.map((name) => {
        const { label, icon: Icon } = BUTTONS[name];
        return (
          <button
            key={name}
            type="button"
            className="button max-sm:px-2"
            title={`${label} the race`}
            aria-label={label}
            disabled={!connected || busy !== null}
            onClick={() => void press(name)}
          >
            <Icon size={15} aria-hidden />
            <span className="hidden min-[1440px]:inline">{label}</span>
          </button>
        );
      })}
    </fieldset>
  );
}
