/** Historical analysis: how it went over time and across runs, what was collected and learned. */
import { rows } from "../layout/layout-store";
import { PanelGrid } from "../layout/panel-grid";
import { RangePicker } from "../ui/range-picker";
import { WindowSelect } from "../ui/window-select";

const DEFAULTS = {
  wide: rows(
    [
      ["overtime", 14, 10],
      ["curves", 10, 10],
    ],
    [
      ["runs", 8, 9],
      ["retraining", 8, 9],
      ["trends", 8, 9],
    ],
    [["insights", 24, 11]],
  ),
  normal: rows(
    [["overtime", 12, 9]],
    [
      ["curves", 6, 8],
      ["runs", 6, 8],
    ],
    [["retraining", 12, 7]],
    [
      ["trends", 6, 9],
      ["insights", 6, 9],
    ],
  ),
  medium: rows(
    [["overtime", 6, 9]],
    [["curves", 6, 7]],
    [["runs", 6, 8]],
    [["retraining", 6, 8]],
    [["trends", 6, 9]],
    [["insights", 6, 8]],
  ),
  narrow: rows(
    [["overtime", 1, 12]],
    [["curves", 1, 8]],
    [["runs", 1, 11]],
    [["retraining", 1, 9]],
    [["trends", 1, 10]],
    [["insights", 1, 9]],
  ),
};

export default function HistoryPage() {
  return (
    <PanelGrid
      page="history"
      defaults={DEFAULTS}
      toolbar={
        <>
          <RangePicker />
          <WindowSelect />
        </>
      }
    />
  );
}
