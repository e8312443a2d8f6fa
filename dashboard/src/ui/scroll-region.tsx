/** A part that scrolls: named, and reachable by keyboard so that it can be scrolled without a mouse. */
import type { ReactNode } from "react";

interface ScrollRegionProps {
  label: string;
  children: ReactNode;
  className?: string;
}

export function ScrollRegion({ label, children, className = "h-full overflow-auto" }: ScrollRegionProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it only a mouse could scroll.
    <section className={className} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
