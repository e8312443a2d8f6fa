/** The data behind a panel, as rows: what CSV export and the table view show. */

export type Cell = string | number | boolean | null;

export interface Table {
  columns: string[];
  rows: Cell[][];
}

/** RFC 4180, numbers in full precision. */
export function toCsv({ columns, rows }: Table): string {
  return [columns, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n");
}

function csvCell(cell: Cell): string {
  if (cell === null) return "";
  const text = String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
