import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import './menu.css';

interface MenuProps {
  /** Description of the menu for screen readers. */
  readonly label: string;
  readonly title: ComponentChildren;
  readonly kind?: 'plain' | 'bare';
  /** Entries of the list. */
  readonly children: ComponentChildren;
}

/**
 * Renders a button that opens a list of links and buttons. The list closes when the user selects an entry, clicks
 * elsewhere or presses Escape.
 */
export function Menu({ label, title, kind = 'plain', children }: MenuProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const { current } = menu;
      if (current === null || !current.open) return;
      if (event instanceof KeyboardEvent) {
        if (event.key !== 'Escape') return;
        current.open = false;
        current.querySelector('summary')?.focus();
      } else if (!(event.target instanceof Node) || !current.querySelector('summary')?.contains(event.target)) {
        const isChosen = current.contains(document.activeElement);
        current.open = false;
        if (isChosen) current.querySelector('summary')?.focus();
      }
    };
    addEventListener('click', close);
    addEventListener('keydown', close);
    return () => {
      removeEventListener('click', close);
      removeEventListener('keydown', close);
    };
  }, []);
  return (
    <details class="menu" ref={menu}>
      <summary class={`button ${kind}`} aria-label={label}>
        {title}
      </summary>
      <ul>{children}</ul>
    </details>
  );
}
