/** The panels, by their ids. To add one: a file that exports title, help and component, its line here, and its place on a page. */
import type { ComponentType } from "react";

export interface WidgetProps {
  /** The scheduler chosen on the page; empty where none is. */
  scheduler: string;
}

export interface Widget {
  title: string;
  /** One sentence: how to read this. */
  help: string;
  component: ComponentType<WidgetProps>;
}

const files = {
  race: () => import("./race"),
  summary: () => import("./summary"),
  waiting: () => import("./waiting"),
  load: () => import("./load"),
  workload: () => import("./workload"),
  scoreboard: () => import("./scoreboard"),
  heatmap: () => import("./heatmap"),
  ledger: () => import("./ledger"),
  console: () => import("./console"),
  compare: () => import("./compare"),
  pulse: () => import("./pulse"),
  spider: () => import("./spider"),
  split: () => import("./split"),
  timeline: () => import("./timeline"),
  graph: () => import("./graph"),
  learning: () => import("./learning"),
  overtime: () => import("./overtime"),
  curves: () => import("./curves"),
  runs: () => import("./runs"),
  trends: () => import("./trends"),
  insights: () => import("./insights"),
  retraining: () => import("./retraining"),
} satisfies Record<string, () => Promise<Widget>>;

export type WidgetId = keyof typeof files;

export const WIDGET_IDS = Object.keys(files) as WidgetId[];

const loaded = new Map<WidgetId, Promise<Widget>>();

/** The same promise every time, as `use` wants it. */
export function loadWidget(id: WidgetId): Promise<Widget> {
  let promise = loaded.get(id);
  if (promise === undefined) {
    promise = files[id]();
    loaded.set(id, promise);
  }
  return promise;
}
