import { describe, expect, it } from "vitest";
import { withShare } from "../src/shell/settings";

describe("weights of the goals", () => {
  it("keep their sum when one changes, and the ratio of the others", () => {
    const changed = withShare({ time: 0.6, energy: 0.2, money: 0.2 }, "money", 0.6);
    expect(changed.money).toBe(0.6);
    expect(changed.time).toBeCloseTo(0.3);
    expect(changed.energy).toBeCloseTo(0.1);
    expect(withShare(changed, "time", 1)).toEqual({ time: 1, energy: 0, money: 0 });
  });

  it("go to both others alike when nothing else counted", () => {
    expect(withShare({ time: 0, energy: 0, money: 1 }, "money", 0.5)).toEqual({ time: 0.25, energy: 0.25, money: 0.5 });
  });
});
