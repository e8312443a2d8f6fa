/** The panels of a page: dragged, resized, hidden, put back; stacked on a phone. */
import { Eye, LayoutGrid, RotateCcw } from "lucide-react";
import { type KeyboardEvent, Suspense, use, useCallback, useMemo } from "react";
import { GridLayout, type Layout, verticalCompactor } from "react-grid-layout";
import { useStore } from "../store";
import { Menu } from "../ui/menu";
import { useSize } from "../ui/size";
import { loadWidget, type WidgetId } from "../widgets";
import { COLUMNS, layoutStore, type Place, type Places, placesFor, widthOf } from "./layout-store";
import { Panel } from "./panel";

const ROW = 40;
const GAP = 14;
const SMALLEST = { w: 2, h: 4 };
const DRAG = { enabled: true, handle: ".panel-handle", threshold: 4, bounded: false };

interface PanelGridProps {
  page: string;
  defaults: Places<WidgetId>;
  scheduler?: string;
  /** Left of the layout menu. */
  toolbar?: React.ReactNode;
}

export function PanelGrid({ page, defaults, scheduler = "", toolbar }: PanelGridProps) {
  const store = layoutStore(page);
  const layout = useStore(store);
  const [ref, size] = useSize<HTMLDivElement>();
  const width = widthOf(size.width);
  const columns = COLUMNS[width];
  const all = defaults[width];
  const places = useMemo(
    () => placesFor(layout.places[width], all).filter((place) => !layout.hidden.includes(place.i)),
    [layout, width, all],
  );

  const keep = useCallback(
    (next: Layout) => {
      store.update((value) => {
        const shown = next.map(({ i, x, y, w, h }) => ({ i, x, y, w, h }));
        const others = placesFor(value.places[width], all).filter((place) => value.hidden.includes(place.i));
        return { ...value, places: { ...value.places, [width]: [...shown, ...others] } };
      });
    },
    [store, width, all],
  );

  const hide = (id: string) => store.update((value) => ({ ...value, hidden: [...value.hidden, id] }));
  const show = (id: string) =>
    store.update((value) => ({ ...value, hidden: value.hidden.filter((hidden) => hidden !== id) }));
  const arrow = (event: KeyboardEvent, id: string) => {
    const moved = moveByKey(places, id, event.key, event.shiftKey, columns);
    if (moved === null) return;
    event.preventDefault();
    keep(verticalCompactor.compact(moved, columns));
  };

  const hidden = all.filter((place) => layout.hidden.includes(place.i));
  const panel = (place: Place<WidgetId>) => (
    <Suspense fallback={<div className="glass h-full" aria-busy="true" />}>
      <LoadedPanel
        id={place.i}
        scheduler={scheduler}
        movable={width !== "narrow"}
        onHide={() => hide(place.i)}
        onArrow={(event) => arrow(event, place.i)}
      />
    </Suspense>
  );

  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-2">
        {toolbar}
        <div className="ml-auto">
          <Menu
            label="Panels: show hidden ones, or put everything back"
            text={hidden.length > 0 ? `Panels (${hidden.length} hidden)` : "Panels"}
            className="button"
            icon={<LayoutGrid size={15} aria-hidden />}
            items={[
              ...hidden.map((place) => ({
                id: place.i,
                label: <ShowLabel id={place.i} />,
                icon: <Eye size={15} aria-hidden />,
                run: () => show(place.i),
              })),
              {
                id: "reset",
                label: "Reset layout",
                icon: <RotateCcw size={15} aria-hidden />,
                run: () => store.set({ places: {}, hidden: [] }),
              },
            ]}
          />
        </div>
      </div>
      <div ref={ref}>
        {size.width > 0 && width === "narrow" && (
          <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
            {places.map((place) => (
              <div key={place.i} style={{ height: place.h * (ROW + GAP) - GAP }}>
                {panel(place)}
              </div>
            ))}
          </div>
        )}
        {size.width > 0 && width !== "narrow" && (
          <GridLayout
            width={size.width}
            layout={places.map((place) => ({ ...place, minW: SMALLEST.w, minH: SMALLEST.h }))}
            gridConfig={{ cols: columns, rowHeight: ROW, margin: [GAP, GAP], containerPadding: [0, 0] }}
            dragConfig={DRAG}
            onDragStop={keep}
            onResizeStop={keep}
          >
            {places.map((place) => (
              <div key={place.i}>{panel(place)}</div>
            ))}
          </GridLayout>
        )}
      </div>
    </>
  );
}

type LoadedPanelProps = Omit<React.ComponentProps<typeof Panel>, "widget">;

function LoadedPanel({ id, ...rest }: LoadedPanelProps) {
  return <Panel id={id} widget={use(loadWidget(id))} {...rest} />;
}

/** The title is in the panel's own file, which nobody has loaded while the panel is hidden. */
function ShowLabel({ id }: { id: WidgetId }) {
  return (
    <Suspense fallback="Show …">
      <WidgetTitle id={id} />
    </Suspense>
  );
}

function WidgetTitle({ id }: { id: WidgetId }) {
  return <>Show {use(loadWidget(id)).title}</>;
}

const STEPS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The places after an arrow key: moves a panel, with Shift resizes it; null when the key means nothing. */
export function moveByKey(
  places: readonly Place[],
  id: string,
  key: string,
  resize: boolean,
  columns: number,
): Place[] | null {
  const step = STEPS[key];
  const place = places.find((candidate) => candidate.i === id);
  if (step === undefined || place === undefined) return null;
  const [dx, dy] = step;
  if (resize) {
    const w = Math.min(columns - place.x, Math.max(SMALLEST.w, place.w + dx));
    return places.map((other) => (other === place ? { ...place, w, h: Math.max(SMALLEST.h, place.h + dy) } : other));
  }
  if (dy === 0) {
    const x = Math.min(columns - place.w, Math.max(0, place.x + dx));
    return places.map((other) => (other === place ? { ...place, x } : other));
  }
  return swapWithNeighbour(places, place, dy);
}

/** One row up or down would be undone by compaction, so a panel changes places with the next one in its columns. */
function swapWithNeighbour(places: readonly Place[], place: Place, dy: number): Place[] {
  const overlaps = (other: Place) => other.x < place.x + place.w && place.x < other.x + other.w;
  const ahead = places
    .filter((other) => other !== place && overlaps(other) && (other.y - place.y) * dy > 0)
    .sort((a, b) => (a.y - b.y) * dy);
  const neighbour = ahead[0];
  if (neighbour === undefined) return [...places];
  return places.map((other) => {
    if (other === place) return { ...place, y: dy < 0 ? neighbour.y : neighbour.y + neighbour.h };
    if (other === neighbour) return { ...neighbour, y: dy < 0 ? place.y + place.h : place.y };
    return other;
  });
}
