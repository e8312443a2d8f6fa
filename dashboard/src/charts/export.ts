/** Saves what a panel shows: its picture or its data. */
import { paint } from "./paint";
import { type Table, toCsv } from "./table";

function save(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The download has begun by the next task; keeping the address would keep the data.
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

export function saveCsv(table: Table, name: string): void {
  save(new Blob([toCsv(table)], { type: "text/csv;charset=utf-8" }), `${name}.csv`);
}

export async function savePng(element: HTMLElement, title: string, name: string): Promise<void> {
  const canvas = paint(element, title);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (blob === null) throw new Error(`The picture of ${title} is too large for this browser; make the panel smaller.`);
  save(blob, `${name}.png`);
}
