import type { ComponentChildren } from 'preact';
import './badge.css';

export type BadgeKind = 'plain' | 'good' | 'warning' | 'bad' | 'info';

interface BadgeProps {
  readonly kind?: BadgeKind;
  readonly title?: string | undefined;
  readonly children: ComponentChildren;
}

/** Renders a state as a word. Its colour only repeats what the word says. */
export function Badge({ kind = 'plain', title, children }: BadgeProps) {
  return (
    <span class={`badge ${kind}`} title={title}>
      {children}
    </span>
  );
}
