import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icon.js';
import './side-panel.css';

interface SidePanelProps {
  readonly title: string;
  readonly onClose: () => void;
  /** Content that stays visible below the scrolling content, such as the buttons of a decision. */
  readonly footer?: ComponentChildren;
  readonly children: ComponentChildren;
}

/**
 * Renders a panel next to the page, with details of one item. Escape closes the panel, and the focus goes back to where
 * it was.
 */
export function SidePanel({ title, onClose, footer, children }: SidePanelProps) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    panel.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <aside
      ref={panel}
      class="side-panel"
      aria-label={title}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose();
      }}
    >
      <header>
        <h2>{title}</h2>
        <button type="button" class="panel-close" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="panel-body">{children}</div>
      {footer !== undefined && <div class="panel-footer">{footer}</div>}
    </aside>
  );
}
