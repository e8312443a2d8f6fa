import { act, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { catalogue } from "../src/live/catalogue";
import { LearnFromStore } from "../src/ui/learn-from-store";
import { scheduler } from "./samples";

afterEach(() => {
  act(() => catalogue.set([]));
  vi.unstubAllGlobals();
});

function race() {
  act(() =>
    catalogue.set([
      scheduler("mct"),
      scheduler("rl_agent", { is_learner: true }),
      scheduler("hybrid_ml", { is_learner: true, learns_from_labels: true }),
      scheduler("static_forest", { is_learner: true, learns_from_labels: true, in_race: false }),
    ]),
  );
}

it("offers those learners of the race that learn from labels, and shows what came of it", async () => {
  const calls: [string, string | undefined][] = [];
  const message = "hybrid_ml was trained on the latest 7 labels in the store";
  vi.stubGlobal("fetch", async (path: string, { method }: RequestInit) => {
    calls.push([path, method]);
    return new Response(JSON.stringify({ scheduler_name: "hybrid_ml", labels: 7, message }));
  });
  race();
  render(<LearnFromStore />);
  const buttons = screen.getAllByRole("button");
  expect(buttons.map((button) => button.textContent)).toEqual(["Train hybrid_ml on stored labels"]);
  fireEvent.click(buttons[0] as HTMLElement);
  expect((screen.getByRole("button") as HTMLButtonElement).disabled).toBe(true);
  await screen.findByText(message);
  expect(calls).toEqual([["/api/schedulers/hybrid_ml/learn", "POST"]]);
  expect((screen.getByRole("button") as HTMLButtonElement).disabled).toBe(false);
});

it("shows why the service refused", async () => {
  const error = { code: "not_running", message: "the race is stopped; start it first", details: [] };
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify({ error }), { status: 409 }));
  race();
  render(<LearnFromStore />);
  fireEvent.click(screen.getByRole("button"));
  await screen.findByText(error.message);
});

it("is absent where nobody learns from labels", () => {
  act(() => catalogue.set([scheduler("mct")]));
  render(<LearnFromStore />);
  expect(screen.queryByRole("button")).toBeNull();
});
