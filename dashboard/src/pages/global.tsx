/** Global comparison: the race and everything around it. */
import { rows } from "../layout/layout-store";
import { PanelGrid } from "../layout/panel-grid";
import { WindowSelect } from "../ui/window-select";

const DEFAULTS = {
  wide: rows(
    [
      ["race", 8, 9],
      ["summary", 10, 9],
      ["load", 6, 9],
    ],
    [
      ["scoreboard", 8, 8],
      ["heatmap", 8, 8],
      ["workload", 8, 8],
    ],
    [
      ["ledger", 14, 9],
      ["waiting", 10, 9],
    ],
    [
      ["compare", 12, 8],
      ["console", 12, 8],
    ],
  ),
  normal: rows(
    [
      ["race", 5, 9],
      ["summary", 7, 9],
    ],
    [
      ["load", 3, 8],
      ["scoreboard", 5, 8],
      ["heatmap", 4, 8],
    ],
    [["ledger", 12, 9]],
    [
      ["waiting", 6, 8],
      ["compare", 6, 8],
    ],
    [
      ["workload", 6, 8],
      ["console", 6, 8],
    ],
  ),
  medium: rows(
    [["race", 6, 9]],
    [["summary", 6, 7]],
    [
      ["load", 3, 8],
      ["compare", 3, 8],
    ],
    [["scoreboard", 6, 7]],
    [
      ["heatmap", 3, 8],
      ["workload", 3, 8],
    ],
    [["ledger", 6, 9]],
    [["waiting", 6, 7]],
    [["console", 6, 7]],
  ),
  narrow: rows(
    [["race", 1, 10]],
    [["summary", 1, 7]],
    [["load", 1, 9]],
    [["scoreboard", 1, 8]],
    [["heatmap", 1, 8]],
    [["compare", 1, 9]],
    [["workload", 1, 9]],
    [["ledger", 1, 10]],
    [["waiting", 1, 8]],
    [["console", 1, 8]],
  ),
};

export default function GlobalPage() {
  return <PanelGrid page="global" defaults={DEFAULTS} toolbar={<WindowSelect />} />;
}
