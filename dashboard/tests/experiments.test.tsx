import { act, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runFileAddress } from "../src/api/client";
import type { ExperimentJob } from "../src/api/types";
import { countOf, shortest } from "../src/pages/experiment-form";
import { progressText } from "../src/pages/experiment-job";
import ExperimentsPage from "../src/pages/experiments";
import { sortedFiles } from "../src/pages/run-files";
import { experimentJob, storedRun } from "./samples";

const AVAILABLE = [
  { name: "mixed", question: "What do learners gain?", default_seeds: 5, default_tasks: 2000 },
  { name: "heavy", question: "Who holds out?", default_seeds: 3, default_tasks: 10000 },
];

/** A service that keeps one experiment; `calls` is what was sent to it. */
function service(first: ExperimentJob[] = []) {
  const state = { jobs: first, calls: [] as [method: string, path: string, body: unknown][], refuse: false };
  const answer = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });
  vi.stubGlobal("fetch", async (path: string, { method, body }: RequestInit) => {
    if (method !== "GET") state.calls.push([method ?? "", path, body ? JSON.parse(String(body)) : null]);
    if (method === "POST") {
      if (state.refuse)
        return answer({ error: { code: "conflict", message: "mixed is running; wait", details: [] } }, 409);
      state.jobs = [experimentJob()];
      return answer(state.jobs[0], 202);
    }
    if (method === "DELETE") {
      state.jobs = [experimentJob({ state: "cancelled", seconds_left: null })];
      return answer(state.jobs[0]);
    }
    if (path.endsWith("/files")) return answer([{ name: "result.csv", bytes: 2048 }]);
    if (path.startsWith("/api/runs")) return answer({ items: [storedRun()], next_cursor: null });
    return answer({ available: AVAILABLE, jobs: state.jobs });
  });
  return state;
}

it("begins with the experiment that asks for the fewest tasks", () => {
  expect(shortest([...AVAILABLE].reverse())).toBe("mixed");
  expect(shortest([])).toBe("");
});

const settle = () => act(async () => vi.advanceTimersByTimeAsync(1_100));

beforeEach(() => {
  vi.useFakeTimers();
  Element.prototype.scrollIntoView = vi.fn();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("the experiments view", () => {
  it("starts the chosen experiment; an empty field means the experiment's own number", async () => {
    const { calls } = service();
    render(<ExperimentsPage />);
    await settle();
    fireEvent.change(screen.getByLabelText("Experiment"), { target: { value: "heavy" } });
    expect(screen.getByTestId("experiment-question").textContent).toBe("Who holds out?");
    expect(screen.getByLabelText<HTMLInputElement>("Tasks per seed").placeholder).toBe("10,000");
    fireEvent.change(screen.getByLabelText("Seeds"), { target: { value: "2" } });
    fireEvent.click(screen.getByRole("button", { name: "Start" }));
    await settle();
    expect(calls).toEqual([["POST", "/api/experiments", { name: "heavy", seeds: 2, tasks: null }]]);
    expect(screen.getByTestId("experiment-job").dataset.state).toBe("running");
  });

  it("follows a running one and lets it be cancelled; a second cannot be started", async () => {
    const state = service([experimentJob()]);
    render(<ExperimentsPage />);
    await settle();
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Start" }).disabled).toBe(true);
    expect(screen.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("25");
    state.jobs = [experimentJob({ done: 3 })];
    await settle();
    expect(screen.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("75");
    fireEvent.click(screen.getByRole("button", { name: "Cancel" }));
    await settle();
    expect(state.calls).toEqual([["DELETE", `/api/experiments/${experimentJob().id}`, null]]);
    expect(screen.getByTestId("experiment-job").dataset.state).toBe("cancelled");
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Start" }).disabled).toBe(false);
  });

  it("offers files and figures of a finished one", async () => {
    service([experimentJob({ state: "finished", run_id: 7, files: ["result.csv", "report.pdf", "workload.png"] })]);
    render(<ExperimentsPage />);
    await settle();
    const links = within(screen.getByTestId("experiment-job")).getAllByTestId<HTMLAnchorElement>("run-file");
    expect(links.map((link) => link.getAttribute("href"))).toEqual([
      "/api/runs/7/files/report.pdf",
      "/api/runs/7/files/result.csv",
    ]);
    expect(links.map((link) => link.getAttribute("download"))).toEqual([null, "result.csv"]);
    fireEvent.click(screen.getByRole("button", { name: "Figures and plots of run 7" }));
    await settle();
    const run = screen.getByTestId("run");
    expect(within(run).getByRole("table").textContent).toContain("greedy");
    expect(within(run).getByTestId("run-file").textContent).toContain("2.05 kB");
  });

  it("says in the service's words why it refused", async () => {
    const state = service();
    state.refuse = true;
    render(<ExperimentsPage />);
    await settle();
    fireEvent.click(screen.getByRole("button", { name: "Start" }));
    await settle();
    expect(screen.getByRole("alert").textContent).toBe("mixed is running; wait");
  });
});

it("leaves judging a number to the service", () =>
  expect(["", " ", "5", "-1", "many"].map(countOf)).toEqual([null, null, 5, -1, "many"]));

it("tells how far an experiment is", () => {
  expect(progressText(experimentJob())).toBe("1 of 4 parts · about 12 s left");
  expect(progressText(experimentJob({ seconds_left: null }))).toBe("1 of 4 parts");
  expect(progressText(experimentJob({ total: 0, done: 0, seconds_left: null }))).toBe("preparing");
});

it("puts reports first and pictures last", () =>
  expect(sortedFiles(["b.png", "a.csv", "report.html"].map((name) => ({ name }))).map(({ name }) => name)).toEqual([
    "report.html",
    "a.csv",
    "b.png",
  ]));

it("writes addresses of files with odd names", () =>
  expect(runFileAddress(3, "plots/100 % load.png")).toBe("/api/runs/3/files/plots/100%20%25%20load.png"));
