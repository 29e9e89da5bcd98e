import '../button.css';
import '../icon.css';
import '../popover.css';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface ButtonVariant {
  readonly kind?: 'plain' | 'main' | 'bare' | 'danger';
  readonly children: ComponentChildren;
}

export type ButtonProps = ButtonVariant & Omit<JSX.IntrinsicElements['button'], 'class' | 'kind' | 'children'>;

export function Button({ kind = 'plain', children, type = 'button', ...rest }: ButtonProps) {
  return (
    <button type={type} class={`inline-line raised one-line button ${kind}`} {...rest}>
      {children}
    </button>
  );
}

type LinkProps = ButtonVariant & Omit<JSX.IntrinsicElements['a'], 'class' | 'kind' | 'children'>;

export function LinkButton({ kind = 'plain', children, ...rest }: LinkProps) {
  return (
    <a class={`inline-line raised one-line button ${kind}`} {...rest}>
      {children}
    </a>
  );
}

/** SVG paths on a 16 × 16 grid, drawn as strokes. */
const PATHS = {
  indices: 'M2 12.5 6 8l3 2.5L14 4M10.5 4H14v3.5',
  compare: 'M2 11.5 6 6l3 4 5-7M2 14l4-3 3 1.5 5-4',
  optimise: 'M2.5 14V2.5M2.5 13.5H14M4 12c1-5 4-7.5 9.5-8',
  sweeps: 'M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM9.5 9.5h4v4h-4z',
  data: 'M2.5 4c0-2 11-2 11 0v8c0 2-11 2-11 0zM2.5 4c0 2 11 2 11 0M2.5 8c0 2 11 2 11 0',
  dashboard: 'M2.5 2.5h5v6h-5zM9.5 2.5h4v3h-4zM9.5 7.5h4v6h-4zM2.5 10.5h5v3h-5z',
  reports: 'M4 1.5h5.5L13 5v9.5H4zM9.5 1.5V5H13M6 8.5h5M6 11h5',
  schedules: 'M8 2.5a5.5 5.5 0 1 0 .01 0M8 5v3.5L10.5 10',
  approvals: 'M2 8.5 6 12.5 14 3.5M2 4.5h5',
  governance: 'M2 6.5 8 2.5 14 6.5zM4 6.5v6M8 6.5v6M12 6.5v6M2 13.5h12',
  jobs: 'M8 2a6 6 0 1 0 6 6M8 4.5V8l2.5 1.5',
  health: 'M1.5 8.5H5l1.5-4 3 7.5 1.5-3.5h3.5',
  calendar: 'M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 1.5v3M10.5 1.5v3M5.5 9h.01M8 9h.01M10.5 9h.01M5.5 11.5h.01M8 11.5h.01',
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  menu: 'M2 4h12M2 8h12M2 12h12',
  more: 'M2.6 7.6h.8v.8h-.8zM7.6 7.6h.8v.8h-.8zM12.6 7.6h.8v.8h-.8z',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5 14 14',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  moon: 'M13.5 9.5A6 6 0 0 1 6.5 2.5 6 6 0 1 0 13.5 9.5z',
  edit: 'M3 13l.7-3L11 2.7l2.3 2.3L6 12.3zM9.5 4.2l2.3 2.3',
  up: 'M8 13V3M4 7l4-4 4 4',
  down: 'M8 3v10M4 9l4 4 4-4',
  play: 'M5 3l8 5-8 5z',
  link: 'M6.5 9.5l3-3M7 4.5l1.5-1.5a2.8 2.8 0 0 1 4 4L11 8.5M9 11.5 7.5 13a2.8 2.8 0 0 1-4-4L5 7.5',
  upload: 'M8 10.5V2.5M4.5 6 8 2.5 11.5 6M2.5 11v2.5h11V11',
  spark: 'M8 1.5l1.6 4.9L14.5 8l-4.9 1.6L8 14.5l-1.6-4.9L1.5 8l4.9-1.6z',
  pin: 'M5.5 2h5l-.5 5 2.5 2.5h-9L6 7zM8 9.5V14',
  star: 'M8 2l1.8 3.9 4.2.5-3.1 2.9.8 4.2L8 11.4l-3.7 2.1.8-4.2L2 6.4l4.2-.5z',
  person: 'M8 2.5a2.8 2.8 0 1 0 .01 0M2.5 14c.5-3 2.5-4.5 5.5-4.5s5 1.5 5.5 4.5',
  key: 'M10 2.5a3.5 3.5 0 1 1-2.6 5.8L2.5 13.2V14H5v-1.5h1.5V11H8l.9-.9M11 5h.01',
  theme: 'M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12',
} as const;

export type IconName = keyof typeof PATHS;

/** Renders a decorative icon, which is hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

interface PopoverProps {
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
        class={`inline-line raised one-line button ${kind}`}
        aria-label={label}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {title}
      </button>
      {isOpen && (
        <div class="pile frame raised gap-3 popover-panel" role="group" aria-label={label}>
          {children(close)}
        </div>
      )}
    </div>
  );
}
