/** Over how many tasks a panel's figures go. */
import { useRecent } from "../live/recent";

export function WindowNote() {
  const { items, error } = useRecent();
  if (error !== null) return <span className="text-xs text-bad">{error}</span>;
  return (
    <span className="text-xs whitespace-nowrap text-dim" data-testid="window-note" data-value={items.length}>
      last {items.length} tasks
    </span>
  );
}
