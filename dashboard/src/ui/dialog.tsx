/** The browser's own modal dialog: keeps focus inside, closes with Escape, gives focus back. */
import { X } from "lucide-react";
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** Extra classes for the box, e.g. its width. */
  className?: string;
}

/** Open while mounted. What has `data-first` gets the focus; otherwise the browser chooses. */
export function Dialog({ title, onClose, children, className = "max-w-lg" }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Before the element is gone: only then does closing give the focus back.
  useLayoutEffect(() => {
    const dialog = box.current;
    if (dialog === null || dialog.open) return;
    dialog.showModal();
    dialog.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => dialog.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape does the same; the click is on the backdrop.
    <dialog
      ref={box}
      aria-labelledby={heading}
      className={`m-auto max-h-[92dvh] w-[calc(100vw-1.5rem)] overflow-auto rounded-2xl border border-line bg-(--solid) p-0 shadow-2xl ${className}`}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === box.current && onClose()}
    >
      <div className="p-5">
        <div className="mb-3 flex items-start gap-3">
          <h2 id={heading} className="grow text-lg font-semibold">
            {title}
          </h2>
          <button type="button" className="icon-button" aria-label="Close" onClick={onClose}>
            <X size={18} aria-hidden />
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
