/** Messages that come and go. */
import { CircleAlert, Info, TriangleAlert, X } from "lucide-react";
import { useEffect } from "react";
import type { Notice } from "../live/state";
import { dismissNotice, useLive } from "../live/store";

const LOOKS = {
  info: { icon: Info, colour: "text-accent", forMs: 6_000 },
  warning: { icon: TriangleAlert, colour: "text-warn", forMs: 10_000 },
  error: { icon: CircleAlert, colour: "text-bad", forMs: 15_000 },
} as const;

export function Notices() {
  const notices = useLive((state) => state.notices);
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed right-3 bottom-3 z-40 grid w-[min(24rem,calc(100vw-1.5rem))] gap-2"
    >
      {notices.map((notice) => (
        <NoticeCard key={notice.key} notice={notice} />
      ))}
    </div>
  );
}

function NoticeCard({ notice }: { notice: Notice }) {
  const { icon: Icon, colour, forMs } = LOOKS[notice.level];
  useEffect(() => {
    const timer = setTimeout(() => dismissNotice(notice.key), forMs);
    return () => clearTimeout(timer);
  }, [notice.key, forMs]);
  return (
    <div
      className="pointer-events-auto flex items-start gap-2 rounded-xl border border-line bg-(--solid) px-3 py-2 shadow-2xl"
      data-testid="notice"
      data-level={notice.level}
    >
      <Icon size={17} aria-hidden className={`mt-0.5 flex-none ${colour}`} />
      <p className="grow text-[13px] break-words">{notice.message}</p>
      <button
        type="button"
        className="icon-button -my-1"
        aria-label="Dismiss"
        onClick={() => dismissNotice(notice.key)}
      >
        <X size={14} aria-hidden />
      </button>
    </div>
  );
}
