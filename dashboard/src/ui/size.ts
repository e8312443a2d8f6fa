/** The size of an element, for charts that must be told. */
import { type RefCallback, useCallback, useRef, useState } from "react";

export interface Size {
  width: number;
  height: number;
}

/** A ref to put on the element, and its size in whole pixels; zero until measured. */
export function useSize<E extends HTMLElement>(): [RefCallback<E>, Size] {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const observer = useRef<ResizeObserver | null>(null);
  const ref = useCallback((element: E | null) => {
    observer.current?.disconnect();
    if (element === null) return;
    observer.current = new ResizeObserver(() => {
      const next = { width: element.clientWidth, height: element.clientHeight };
      setSize((old) => (old.width === next.width && old.height === next.height ? old : next));
    });
    observer.current.observe(element);
  }, []);
  return [ref, size];
}
