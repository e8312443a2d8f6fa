/** Where the work is real: on which devices, and whose turn it is. */
import { schedulerLabel } from "../format";
import { useLive } from "../live/store";

export function RealWork() {
  const settings = useLive((state) => state.update?.settings);
  const turn = useLive((state) => state.update?.turn);
  if (settings?.node !== "machine") return null;
  return (
    <span
      className="hidden text-[11px] leading-tight text-accent sm:block"
      data-testid="real-work"
      title="Kernels run for real on this machine. The schedulers take turns: each runs the same tasks on the idle machine."
    >
      real work: {settings.devices.join(", ")}
      {turn != null && ` · turn: ${schedulerLabel(turn)}`}
    </span>
  );
}
