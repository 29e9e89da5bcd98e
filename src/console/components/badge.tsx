import type { ComponentChildren } from 'preact';
import './badge.css';

export type Kind = 'plain' | 'good' | 'warning' | 'bad' | 'info';

interface BadgeProps {
  readonly kind?: Kind;
  readonly title?: string | undefined;
  readonly children: ComponentChildren;
}

/** Renders a state as a word. Its colour only repeats the word. */
export function Badge({ kind = 'plain', title, children }: BadgeProps) {
  return (
    <span class={`badge ${kind}`} title={title}>
      {children}
    </span>
  );
}
