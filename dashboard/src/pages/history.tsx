/** Historical analysis: what was collected and learned over time. */
import { rows } from "../layout/layout-store";
import { PanelGrid } from "../layout/panel-grid";
import { WindowSelect } from "../ui/window-select";

const DEFAULTS = {
  wide: rows([
    ["trends", 9, 16],
    ["insights", 8, 16],
    ["retraining", 7, 16],
  ]),
  normal: rows(
    [
      ["trends", 6, 9],
      ["insights", 6, 9],
    ],
    [["retraining", 12, 7]],
  ),
  medium: rows([["trends", 6, 9]], [["insights", 6, 8]], [["retraining", 6, 8]]),
  narrow: rows([["trends", 1, 9]], [["insights", 1, 9]], [["retraining", 1, 9]]),
};

export default function HistoryPage() {
  return <PanelGrid page="history" defaults={DEFAULTS} toolbar={<WindowSelect />} />;
}
