import { describe, expect, it } from "vitest";
import { placesFor, rows, widthOf } from "../src/layout/layout-store";
import { moveByKey } from "../src/layout/panel-grid";
import { persisted } from "../src/store";

const places = rows(
  [
    ["a", 4, 5],
    ["b", 8, 5],
  ],
  [["c", 12, 6]],
);

describe("places", () => {
  it("lie side by side, row under row", () => {
    expect(places).toEqual([
      { i: "a", x: 0, y: 0, w: 4, h: 5 },
      { i: "b", x: 4, y: 0, w: 8, h: 5 },
      { i: "c", x: 0, y: 5, w: 12, h: 6 },
    ]);
  });
  it("that are stored win, new panels get their default, vanished ones are forgotten", () => {
    const stored = [
      { i: "a", x: 6, y: 9, w: 6, h: 4 },
      { i: "gone", x: 0, y: 0, w: 1, h: 1 },
    ];
    expect(placesFor(stored, places)).toEqual([stored[0], places[1], places[2]]);
  });
  it("depend on the width", () =>
    expect([390, 768, 1280, 1920].map(widthOf)).toEqual(["narrow", "medium", "normal", "wide"]));
});

describe("arrow keys", () => {
  it("move within the grid", () => {
    expect(moveByKey(places, "a", "ArrowRight", false, 12)?.[0]).toMatchObject({ x: 1 });
    expect(moveByKey(places, "a", "ArrowLeft", false, 12)?.[0]).toMatchObject({ x: 0 });
    expect(moveByKey(places, "b", "ArrowRight", false, 12)?.[1]).toMatchObject({ x: 4 });
  });
  it("swap a panel with the one above or below", () => {
    const moved = moveByKey(places, "c", "ArrowUp", false, 12);
    expect(moved?.find((place) => place.i === "c")?.y).toBe(0);
  });
  it("resize with Shift, never below the smallest size or beyond the edge", () => {
    expect(moveByKey(places, "a", "ArrowDown", true, 12)?.[0]).toMatchObject({ w: 4, h: 6 });
    expect(moveByKey(places, "b", "ArrowRight", true, 12)?.[1]).toMatchObject({ w: 8 });
    expect(moveByKey([{ i: "a", x: 0, y: 0, w: 2, h: 4 }], "a", "ArrowLeft", true, 12)?.[0]).toMatchObject({ w: 2 });
  });
  it("leave other keys alone", () => expect(moveByKey(places, "a", "Enter", false, 12)).toBeNull());
});

describe("what the browser keeps", () => {
  const isNumber = (value: unknown): value is number => typeof value === "number";
  it("comes back after a reload", () => {
    persisted("k", 1, isNumber).set(7);
    expect(persisted("k", 1, isNumber).get()).toBe(7);
  });
  it("is replaced by the default when it cannot be read", () => {
    localStorage.setItem("k", "{broken");
    expect(persisted("k", 1, isNumber).get()).toBe(1);
    localStorage.setItem("k", '"text"');
    expect(persisted("k", 1, isNumber).get()).toBe(1);
  });
});
