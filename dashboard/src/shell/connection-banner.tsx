/** Says that the connection is lost, since when, and when the page tries again. */
import { WifiOff } from "lucide-react";
import { useEffect, useState } from "react";
import { formatClock } from "../format";
import { enterToken, retryConnection, useLive } from "../live/store";

export function ConnectionBanner() {
  const connection = useLive((state) => state.connection);
  const retryAt = useLive((state) => state.retryAt);
  const receivedAt = useLive((state) => state.receivedAt);
  if (connection !== "lost") return null;
  return (
    <div
      role="alert"
      data-testid="connection-banner"
      className="mb-3 flex flex-wrap items-center gap-x-3 gap-y-2 rounded-xl border border-bad bg-(--solid) px-4 py-2"
    >
      <WifiOff size={18} aria-hidden className="text-bad" />
      <p className="grow">
        <b>Connection lost.</b>{" "}
        {receivedAt === null ? "Nothing received yet." : `Panels show what came until ${formatClock(receivedAt)}.`}{" "}
        <Countdown to={retryAt} />
      </p>
      <button type="button" className="button" onClick={() => void enterToken()}>
        Enter token
      </button>
      <button type="button" className="button" onClick={retryConnection}>
        Try now
      </button>
    </div>
  );
}

function Countdown({ to }: { to: number | null }) {
  const [, redraw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => redraw((count) => count + 1), 500);
    return () => clearInterval(timer);
  }, []);
  const seconds = to === null ? 0 : Math.ceil((to - Date.now()) / 1000);
  // Not announced: a screen reader need not count down.
  return <span aria-hidden>{seconds > 0 ? `Next try in ${seconds} s.` : "Trying …"}</span>;
}
