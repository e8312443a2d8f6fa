/** Where panels lie on each page and which are hidden: kept in the browser. */
import { persisted, type Store } from "../store";

/** `I`: the ids of panels. */
export interface Place<I extends string = string> {
  i: I;
  x: number;
  y: number;
  w: number;
  h: number;
}

/** Twelve columns on a desk, more room on a wide one; below `medium` panels are simply stacked. */
export type Width = "wide" | "normal" | "medium" | "narrow";

export const COLUMNS: Record<Width, number> = { wide: 24, normal: 12, medium: 6, narrow: 1 };

export function widthOf(pixels: number): Width {
  if (pixels >= 1600) return "wide";
  if (pixels >= 1000) return "normal";
  return pixels >= 640 ? "medium" : "narrow";
}

export type Places<I extends string = string> = Record<Width, Place<I>[]>;

export interface PageLayout {
  places: Partial<Places>;
  hidden: string[];
}

function isPageLayout(value: unknown): value is PageLayout {
  const candidate = value as PageLayout | null;
  return (
    typeof candidate === "object" &&
    candidate !== null &&
    Array.isArray(candidate.hidden) &&
    typeof candidate.places === "object" &&
    candidate.places !== null &&
    Object.values(candidate.places).every((places) => Array.isArray(places) && places.every(isPlace))
  );
}

function isPlace(value: unknown): value is Place {
  const place = value as Place | null;
  return typeof place?.i === "string" && [place.x, place.y, place.w, place.h].every(Number.isFinite);
}

const stores = new Map<string, Store<PageLayout>>();

export function layoutStore(page: string): Store<PageLayout> {
  let store = stores.get(page);
  if (store === undefined) {
    store = persisted<PageLayout>(`hms.layout.${page}`, { places: {}, hidden: [] }, isPageLayout);
    stores.set(page, store);
  }
  return store;
}

/** Rows of `[id, width, height]` side by side become places: an easy way to write a default. */
export function rows<I extends string>(...lines: [id: I, w: number, h: number][][]): Place<I>[] {
  const places: Place<I>[] = [];
  let y = 0;
  for (const line of lines) {
    let x = 0;
    for (const [i, w, h] of line) {
      places.push({ i, x, y, w, h });
      x += w;
    }
    y += Math.max(...line.map(([, , h]) => h));
  }
  return places;
}

/** Stored places win; panels that are new since then come from the default. */
export function placesFor<I extends string>(
  stored: readonly Place[] | undefined,
  defaults: readonly Place<I>[],
): Place<I>[] {
  const known = new Map(stored?.map((place) => [place.i, place]));
  return defaults.map((place) => ({ ...(known.get(place.i) ?? place), i: place.i }));
}
