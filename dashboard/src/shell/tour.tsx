/** Three steps for the first visit: the kitchen, the race, the hands-on part. */
import { useState } from "react";
import { startShowMe } from "../show-me/director";
import { persisted, useStore } from "../store";
import { Dialog } from "../ui/dialog";
import { KitchenPicture } from "./kitchen-picture";

export const tourSeen = persisted("hms.tour.seen", false, (value): value is boolean => typeof value === "boolean");

const STEPS = [
  {
    title: "Picture a kitchen",
    text: "Orders come in all evening. The prep cook (the CPU) is slow and cheap; the master chefs (the GPUs) are fast and expensive. Carrying ingredients to a chef takes time, so chopping one onion is quicker done by the cook – and a busy chef may be worse than an idle cook.",
  },
  {
    title: "The scheduler calls at the pass",
    text: "The scheduler stands at the pass and calls out who does what. For every task it must decide: prep cook, which master chef, or a share for both. Here several schedulers decide about exactly the same tasks, each in its own kitchen. The Race shows who needs least; the oracle knows everything beforehand, and the lower bound is what nobody can beat.",
  },
  {
    title: "Now turn it up",
    text: "Turn the load dial and watch who breaks first, or let the page show you in a minute and a half. Click any bar, row or block to see a decision: what every device would have cost, what was chosen, and why. Every panel has a question mark that says how to read it; panels can be moved, resized and hidden.",
  },
] as const;

export function Tour() {
  const seen = useStore(tourSeen);
  return seen ? null : <TourDialog />;
}

function TourDialog() {
  const [step, setStep] = useState(0);
  const current = STEPS[step] ?? STEPS[0];
  const last = step === STEPS.length - 1;
  const finish = () => tourSeen.set(true);
  return (
    <Dialog title={current.title} className="max-w-xl" onClose={finish}>
      <KitchenPicture step={step} />
      <p className="mt-3 min-h-28 text-[15px] leading-relaxed" aria-live="polite">
        {current.text}
      </p>
      <div className="mt-3 flex items-center gap-2">
        <span className="grow text-xs text-dim">
          Step {step + 1} of {STEPS.length}
        </span>
        {!last && (
          <button type="button" className="button" onClick={finish}>
            Skip
          </button>
        )}
        {step > 0 && (
          <button type="button" className="button" onClick={() => setStep(step - 1)}>
            Back
          </button>
        )}
        <button
          type="button"
          className="button button-accent"
          data-first
          onClick={() => (last ? finish() : setStep(step + 1))}
        >
          {last ? "Start" : "Next"}
        </button>
        {last && (
          <button
            type="button"
            className="button button-accent"
            onClick={() => {
              finish();
              void startShowMe();
            }}
          >
            Show me
          </button>
        )}
      </div>
    </Dialog>
  );
}
