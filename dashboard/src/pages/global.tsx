/** Global comparison: the race and everything around it. */
import { rows } from "../layout/layout-store";
import { PanelGrid } from "../layout/panel-grid";
import { WindowSelect } from "../ui/window-select";

const DEFAULTS = {
  wide: rows(
    [
      ["race", 8, 8],
      ["summary", 10, 8],
      ["load", 6, 8],
    ],
    [
      ["scoreboard", 8, 8],
      ["heatmap", 8, 8],
      ["workload", 8, 8],
    ],
    [
      ["ledger", 10, 9],
      ["compare", 7, 9],
      ["console", 7, 9],
    ],
  ),
  normal: rows(
    [
      ["race", 5, 8],
      ["summary", 7, 8],
    ],
    [
      ["load", 3, 8],
      ["scoreboard", 5, 8],
      ["heatmap", 4, 8],
    ],
    [
      ["ledger", 7, 9],
      ["compare", 5, 9],
    ],
    [
      ["workload", 6, 8],
      ["console", 6, 8],
    ],
  ),
  medium: rows(
    [["race", 6, 8]],
    [["summary", 6, 6]],
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
    [["console", 6, 7]],
  ),
  narrow: rows(
    [["race", 1, 9]],
    [["summary", 1, 6]],
    [["load", 1, 9]],
    [["scoreboard", 1, 8]],
    [["heatmap", 1, 8]],
    [["compare", 1, 9]],
    [["workload", 1, 9]],
    [["ledger", 1, 10]],
    [["console", 1, 8]],
  ),
};

export default function GlobalPage() {
  return <PanelGrid page="global" defaults={DEFAULTS} toolbar={<WindowSelect />} />;
}
