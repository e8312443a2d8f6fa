/** A measured box with a text alternative, for charts that need their size. */
import type { ReactNode } from "react";
import { type Size, useSize } from "../ui/size";

interface ChartFrameProps {
  /** What the chart says, in a sentence; the rows themselves are in the panel's table view. */
  summary: string;
  children: (size: Size) => ReactNode;
  className?: string;
}

export function ChartFrame({ summary, children, className = "h-full min-h-32" }: ChartFrameProps) {
  const [ref, size] = useSize<HTMLDivElement>();
  return (
    <div ref={ref} role="img" aria-label={summary} className={`relative w-full overflow-hidden ${className}`}>
      {size.width > 0 && size.height > 0 && (
        <div aria-hidden className="absolute inset-0">
          {children(size)}
        </div>
      )}
    </div>
  );
}
