/** A button that unfolds a short list of actions. */
import { type ReactNode, useEffect, useId, useRef, useState } from "react";

export interface MenuItem {
  id: string;
  label: ReactNode;
  icon: ReactNode;
  run: () => void;
}

interface MenuProps {
  label: string;
  icon: ReactNode;
  items: MenuItem[];
  className?: string;
  /** Shown beside the icon. */
  text?: string;
}

export function Menu({ label, icon, items, className = "icon-button", text }: MenuProps) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const list = useId();

  useEffect(() => {
    if (!open) return;
    const closeOutside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", closeOutside);
    document.addEventListener("focusin", closeOutside);
    return () => {
      document.removeEventListener("pointerdown", closeOutside);
      document.removeEventListener("focusin", closeOutside);
    };
  }, [open]);

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape from any item closes the list.
    <div
      ref={root}
      className="relative"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open) return;
        event.stopPropagation();
        setOpen(false);
        root.current?.querySelector("button")?.focus();
      }}
    >
      <button
        type="button"
        className={className}
        aria-label={text === undefined ? label : undefined}
        title={label}
        aria-expanded={open}
        aria-controls={open ? list : undefined}
        onClick={() => setOpen(!open)}
      >
        {icon}
        {text}
      </button>
      {open && (
        <ul
          id={list}
          className="absolute right-0 z-20 mt-1 w-max min-w-44 rounded-xl border border-line bg-(--solid) p-1 shadow-2xl"
        >
          {items.map((item) => (
            <li key={item.id}>
              <button
                type="button"
                className="flex w-full items-center gap-2 rounded-lg px-2.5 py-1.5 text-left text-ink hover:bg-raised"
                onClick={() => {
                  setOpen(false);
                  item.run();
                }}
              >
                {item.icon}
                {item.label}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
