/** The frame around every widget: title, help, menu, table view, and an error that stays inside. */
import { CircleHelp, Download, EyeOff, FileSpreadsheet, GripVertical, MoreHorizontal, Table2 } from "lucide-react";
import { type KeyboardEvent, memo, useEffect, useId, useRef, useState } from "react";
import { saveCsv, savePng } from "../charts/export";
import { PanelData, type TableSource } from "../charts/panel-data";
import type { Table } from "../charts/table";
import { formatNumber } from "../format";
import { notify } from "../live/store";
import { Empty } from "../ui/empty";
import { Menu } from "../ui/menu";
import { ScrollRegion } from "../ui/scroll-region";
import type { Widget, WidgetId } from "../widgets";
import { PanelBoundary } from "./panel-boundary";

interface PanelProps {
  id: WidgetId;
  widget: Widget;
  scheduler: string;
  movable: boolean;
  onHide: () => void;
  onArrow: (event: KeyboardEvent) => void;
}

export const Panel = memo(function Panel({ id, widget, scheduler, movable, onHide, onArrow }: PanelProps) {
  const [helpOpen, setHelpOpen] = useState(false);
  const [asTable, setAsTable] = useState(false);
  const source = useRef<TableSource | null>(null);
  const body = useRef<HTMLDivElement>(null);
  const [heading, help] = [useId(), useId()];
  const fileName = `hybrid-scheduler-${id}`;

  const withRows = (use: (table: Table) => void) => {
    if (source.current === null) notify("info", `${widget.title} has no data yet.`);
    else use(source.current());
  };
  const picture = () => {
    if (body.current === null) return;
    savePng(body.current, widget.title, fileName).catch((error: unknown) => notify("error", String(error)));
  };
  const Component = widget.component;
  return (
    <section className="glass flex h-full flex-col" aria-labelledby={heading} data-testid={`panel-${id}`}>
      <header className="flex items-center gap-1 py-1.5 pr-2 pl-3">
        <h2 id={heading} className={`panel-handle grow truncate font-semibold ${movable ? "cursor-grab" : ""}`}>
          {widget.title}
        </h2>
        {movable && (
          <button
            type="button"
            className="icon-button panel-handle cursor-grab opacity-70"
            aria-label={`Move ${widget.title}: arrow keys; with Shift they resize`}
            title="Drag, or use the arrow keys; with Shift they resize"
            onKeyDown={onArrow}
          >
            <GripVertical size={15} aria-hidden />
          </button>
        )}
        <button
          type="button"
          className="icon-button"
          aria-label={`How to read ${widget.title}`}
          title="How to read this"
          aria-expanded={helpOpen}
          aria-controls={helpOpen ? help : undefined}
          onClick={() => setHelpOpen(!helpOpen)}
        >
          <CircleHelp size={16} aria-hidden />
        </button>
        <Menu
          label={`${widget.title}: more`}
          icon={<MoreHorizontal size={16} aria-hidden />}
          items={[
            {
              id: "table",
              label: asTable ? "Show as chart" : "Show as table",
              icon: <Table2 size={15} aria-hidden />,
              run: () => setAsTable(!asTable),
            },
            { id: "picture", label: "Save picture (PNG)", icon: <Download size={15} aria-hidden />, run: picture },
            {
              id: "data",
              label: "Save data (CSV)",
              icon: <FileSpreadsheet size={15} aria-hidden />,
              run: () => withRows((table) => saveCsv(table, fileName)),
            },
            { id: "hide", label: "Hide panel", icon: <EyeOff size={15} aria-hidden />, run: onHide },
          ]}
        />
      </header>
      {helpOpen && (
        <p id={help} className="mx-3 mb-2 rounded-lg bg-raised px-3 py-2 text-[13px] text-dim">
          {widget.help}
        </p>
      )}
      <div className="@container relative min-h-0 grow px-3 pb-3" ref={body}>
        <PanelData value={source}>
          <PanelBoundary title={widget.title}>
            {/* The widget stays mounted behind its table: it is what keeps the rows current. */}
            <div className={asTable ? "hidden" : "h-full"}>
              <Component scheduler={scheduler} />
            </div>
          </PanelBoundary>
        </PanelData>
        {asTable && <PanelTable source={source} title={widget.title} />}
      </div>
    </section>
  );
});

const TABLE_REFRESH_MS = 1000;

function PanelTable({ source, title }: { source: { current: TableSource | null }; title: string }) {
  const [table, setTable] = useState<Table | null>(null);
  useEffect(() => {
    const read = () => setTable(source.current?.() ?? null);
    read();
    const timer = setInterval(read, TABLE_REFRESH_MS);
    return () => clearInterval(timer);
  }, [source]);
  if (table === null || table.rows.length === 0) return <Empty waitsFor="the first row" />;
  return (
    <ScrollRegion label={`${title} as a table`}>
      <table className="data-table">
        <thead>
          <tr>
            {table.columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity of their own.
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={table.columns[column]} className={typeof cell === "number" ? "number" : ""}>
                  {typeof cell === "number" ? formatNumber(cell, 4) : String(cell ?? "–")}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
