import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import './popover.css';

interface PopoverProps {
  /** Description of the button for screen readers. */
  readonly label: string;
  readonly title: ComponentChildren;
  readonly kind?: 'plain' | 'bare';
  /** Returns the content of the panel. Called only while the panel is open. */
  children(close: () => void): ComponentChildren;
}

/** Renders a button that opens a panel of controls. The panel stays open while it is used. */
export function Popover({ label, title, kind = 'plain', children }: PopoverProps) {
  const element = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  useEffect(() => {
    if (!isOpen) return undefined;
    const leave = (event: Event) => {
      if (event instanceof KeyboardEvent && event.key === 'Escape') {
        close();
        element.current?.querySelector('button')?.focus();
        event.stopPropagation();
      } else if (
        event.type === 'pointerdown' &&
        event.target instanceof Node &&
        element.current?.contains(event.target) !== true
      )
        close();
    };
    addEventListener('pointerdown', leave);
    addEventListener('keydown', leave);
    return () => {
      removeEventListener('pointerdown', leave);
      removeEventListener('keydown', leave);
    };
  }, [isOpen]);
  return (
    <div class="popover" ref={element}>
      <button
        type="button"
        class={`button ${kind}`}
        aria-label={label}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {title}
      </button>
      {isOpen && (
        <div class="popover-panel" role="group" aria-label={label}>
          {children(close)}
        </div>
      )}
    </div>
  );
}
