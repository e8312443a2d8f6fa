/** Views by path, so that every view and every scheduler has an address. */
import type { AnchorHTMLAttributes, MouseEvent } from "react";
import { useMemo } from "react";
import { Store, useStore } from "./store";

export type Route =
  | { view: "global" }
  | { view: "scheduler"; name: string | null }
  | { view: "history" }
  | { view: "experiments" }
  | { view: "unknown"; path: string };

const path = new Store(window.location.pathname);
window.addEventListener("popstate", () => path.set(window.location.pathname));

export function parseRoute(pathname: string): Route {
  const [first, second, ...rest] = pathname.split("/").filter((part) => part !== "");
  if (first === undefined) return { view: "global" };
  if (first === "scheduler" && rest.length === 0) {
    return { view: "scheduler", name: second === undefined ? null : decodeURIComponent(second) };
  }
  if ((first === "history" || first === "experiments") && second === undefined) return { view: first };
  return { view: "unknown", path: pathname };
}

export const schedulerPath = (name: string): string => `/scheduler/${encodeURIComponent(name)}`;

export function navigate(to: string): void {
  if (to === window.location.pathname) return;
  window.history.pushState(null, "", to);
  path.set(to);
  window.scrollTo(0, 0);
}

export function useRoute(): Route {
  const current = useStore(path);
  return useMemo(() => parseRoute(current), [current]);
}

/** An ordinary link that does not reload the page; modifier keys keep their meaning. */
export function Link({ href, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(href);
  };
  return <a href={href} onClick={follow} {...rest} />;
}
