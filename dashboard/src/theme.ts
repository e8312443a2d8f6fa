/** Dark or light: as the system says, until the person chooses. */
import { useMemo, useSyncExternalStore } from "react";
import { persisted, useStore } from "./store";

export type ThemeChoice = "system" | "dark" | "light";

const CHOICES: ThemeChoice[] = ["system", "dark", "light"];

export const themeChoice = persisted<ThemeChoice>("hms.theme", "system", (value): value is ThemeChoice =>
  CHOICES.includes(value as ThemeChoice),
);

const prefersLight = window.matchMedia("(prefers-color-scheme: light)");

function watchSystem(listener: () => void): () => void {
  prefersLight.addEventListener("change", listener);
  return () => prefersLight.removeEventListener("change", listener);
}

export function shownTheme(): "dark" | "light" {
  const choice = themeChoice.get();
  return choice === "system" ? (prefersLight.matches ? "light" : "dark") : choice;
}

function apply(): void {
  document.documentElement.dataset.theme = shownTheme();
}

/** Before the first paint, and whenever system or person changes their mind. */
export function followTheme(also: (shown: "dark" | "light") => void = () => {}): void {
  const follow = () => {
    apply();
    also(shownTheme());
  };
  follow();
  watchSystem(follow);
  themeChoice.subscribe(follow);
}

export function useTheme(): { shown: "dark" | "light"; toggle: () => void } {
  const choice = useStore(themeChoice);
  const light = useSyncExternalStore(watchSystem, () => prefersLight.matches);
  return useMemo(() => {
    const shown = choice === "system" ? (light ? "light" : "dark") : choice;
    return { shown, toggle: () => themeChoice.set(shown === "dark" ? "light" : "dark") };
  }, [choice, light]);
}
