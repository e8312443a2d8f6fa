/** Name, views, state and controls. */
import { Braces, CircleHelp, Clapperboard, Moon, Plus, SlidersHorizontal, Sun } from "lucide-react";
import { useState } from "react";
import { formatNumber, formatSeconds } from "../format";
import { useLive } from "../live/store";
import { Link, type Route, schedulerPath } from "../router";
import { startShowMe } from "../show-me/director";
import { useTheme } from "../theme";
import { RaceControls } from "./controls";
import { RealWork } from "./real-work";
import { SettingsDialog } from "./settings-dialog";
import { StatePill } from "./state-pill";
import { TaskDialog } from "./task-dialog";
import { tourSeen } from "./tour";

interface HeaderProps {
  route: Route;
  /** Where "Scheduler details" leads. */
  scheduler: string | undefined;
}

export function Header({ route, scheduler }: HeaderProps) {
  const [dialog, setDialog] = useState<"settings" | "task" | null>(null);
  const { shown, toggle } = useTheme();
  const views = [
    { view: "global", label: "Global comparison", short: "Global", href: "/" },
    {
      view: "scheduler",
      label: "Scheduler details",
      short: "Scheduler",
      href: scheduler === undefined ? "/scheduler" : schedulerPath(scheduler),
    },
    { view: "history", label: "Historical analysis", short: "Historical", href: "/history" },
    { view: "experiments", label: "Experiments", short: "Experiments", href: "/experiments" },
  ] as const;
  return (
    <header className="mb-4 flex flex-wrap items-center gap-x-2 gap-y-2 sm:gap-x-4">
      <div className="flex items-center gap-2 sm:min-w-56">
        <img src="/favicon.svg" alt="" width={28} height={28} />
        <div>
          <Link href="/" className="sr-only block text-base leading-tight font-semibold sm:not-sr-only">
            Hybrid ML Scheduler
          </Link>
          <Progress />
          <RealWork />
        </div>
      </div>
      <nav aria-label="Views" className="order-3 -mx-1 w-full overflow-x-auto px-1 py-1 lg:order-none lg:w-auto">
        <ul className="flex gap-1">
          {views.map(({ view, label, short, href }) => (
            <li key={view}>
              <Link
                href={href}
                aria-current={route.view === view ? "page" : undefined}
                aria-label={label}
                className="block rounded-lg px-2.5 py-1.5 font-medium whitespace-nowrap text-dim hover:bg-raised hover:text-ink aria-[current]:bg-raised aria-[current]:text-ink"
              >
                <span className="sm:hidden">{short}</span>
                <span className="hidden sm:inline">{label}</span>
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className="ml-auto flex items-center gap-1 sm:gap-1.5">
        <StatePill />
        <RaceControls />
        <button
          type="button"
          className="button px-2"
          aria-label="Put your own task into the race"
          title="Put your own task into the race"
          onClick={() => setDialog("task")}
        >
          <Plus size={16} aria-hidden />
        </button>
        <button
          type="button"
          className="button px-2"
          aria-label="Race settings"
          title="Race settings"
          onClick={() => setDialog("settings")}
        >
          <SlidersHorizontal size={16} aria-hidden />
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label="Show me: a guided run of a minute and a half"
          title="Show me: a guided run of a minute and a half"
          onClick={() => void startShowMe()}
        >
          <Clapperboard size={17} aria-hidden />
        </button>
        <button
          type="button"
          className="icon-button hidden sm:inline-grid"
          aria-label="Show the tour"
          title="Show the tour"
          onClick={() => tourSeen.set(false)}
        >
          <CircleHelp size={17} aria-hidden />
        </button>
        <a className="icon-button hidden sm:inline-grid" href="/docs" aria-label="API" title="API: every call, to try">
          <Braces size={17} aria-hidden />
        </a>
        <button
          type="button"
          className="icon-button"
          aria-label={shown === "dark" ? "Use the light theme" : "Use the dark theme"}
          title={shown === "dark" ? "Light theme" : "Dark theme"}
          onClick={toggle}
        >
          {shown === "dark" ? <Sun size={17} aria-hidden /> : <Moon size={17} aria-hidden />}
        </button>
      </div>
      {dialog === "settings" && <SettingsDialog onClose={() => setDialog(null)} />}
      {dialog === "task" && <TaskDialog onClose={() => setDialog(null)} />}
    </header>
  );
}

function Progress() {
  const update = useLive((state) => state.update);
  if (update === null) return null;
  return (
    <span
      className="figure hidden text-[11px] leading-tight text-dim sm:block"
      data-testid="progress"
      data-value={update.tasks_processed}
    >
      {update.tasks_processed.toLocaleString("en-GB")} tasks · {formatNumber(update.rates.tasks_per_second)}/s ·{" "}
      {formatSeconds(update.simulated_time)}
    </span>
  );
}
