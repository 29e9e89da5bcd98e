import type { ComponentChildren } from 'preact';
import './badge.css';

export type Kind = 'plain' | 'good' | 'warning' | 'bad' | 'info';

interface BadgeProps {
  readonly kind?: Kind;
  readonly title?: string | undefined;
  readonly children: ComponentChildren;
}

/** Renders a state as a word. The colour only repeats the meaning of the word. */
export function Badge({ kind = 'plain', title, children }: BadgeProps) {
  return (
    <span class={`badge ${kind}`} title={title}>
      {children}
    </span>
  );
}
