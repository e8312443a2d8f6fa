/** The page: header, banner, one of the four views, and what lies above them. */
import { lazy, Suspense, useEffect } from "react";
import { schedulerLabel } from "./format";
import { useCatalogue } from "./live/catalogue";
import { Link, type Route, useRoute } from "./router";
import { ConnectionBanner } from "./shell/connection-banner";
import { Header } from "./shell/header";
import { Inspector } from "./shell/inspector";
import { Notices } from "./shell/notices";
import { ShowMe } from "./shell/show-me";
import { TokenDialog } from "./shell/token-dialog";
import { Tour } from "./shell/tour";
import { Empty } from "./ui/empty";

const GlobalPage = lazy(() => import("./pages/global"));
const SchedulerPage = lazy(() => import("./pages/scheduler"));
const HistoryPage = lazy(() => import("./pages/history"));
const ExperimentsPage = lazy(() => import("./pages/experiments"));

const TITLES = {
  global: "Global comparison",
  scheduler: "Scheduler details",
  history: "Historical analysis",
  experiments: "Experiments",
  unknown: "Not found",
} as const;

function titleOf(route: Route): string {
  return route.view === "scheduler" && route.name !== null ? schedulerLabel(route.name) : TITLES[route.view];
}

export function App() {
  const route = useRoute();
  const { racing, reference } = useCatalogue();
  const title = titleOf(route);
  const favourite = racing.find((info) => info.is_learner) ?? racing.find((info) => info !== reference);
  useEffect(() => {
    document.title = `${title} · Hybrid ML Scheduler`;
  }, [title]);
  return (
    <div className="mx-auto max-w-[2200px] px-3 py-3 sm:px-5">
      <a href="#main" className="sr-only focus:not-sr-only">
        Skip to the panels
      </a>
      <Header route={route} scheduler={(route.view === "scheduler" ? route.name : null) ?? favourite?.name} />
      <ConnectionBanner />
      <ShowMe />
      <main id="main" tabIndex={-1} className="outline-none">
        {(route.view === "global" || route.view === "history") && <h1 className="sr-only">{title}</h1>}
        <Suspense fallback={<Empty>Loading …</Empty>}>
          <View route={route} />
        </Suspense>
      </main>
      <Inspector />
      <Tour />
      <TokenDialog />
      <Notices />
    </div>
  );
}

function View({ route }: { route: Route }) {
  switch (route.view) {
    case "global":
      return <GlobalPage />;
    case "scheduler":
      return <SchedulerPage name={route.name} />;
    case "history":
      return <HistoryPage />;
    case "experiments":
      return <ExperimentsPage />;
    default:
      return (
        <Empty>
          There is nothing at {route.path}.{" "}
          <Link href="/" className="underline">
            To the race
          </Link>
        </Empty>
      );
  }
}
