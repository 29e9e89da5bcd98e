import type { ComponentChildren } from 'preact';
import './badge.css';

export type Kind = 'plain' | 'good' | 'warning' | 'bad' | 'info';

interface BadgeProps {
  readonly kind?: Kind;
  readonly title?: string | undefined;
  readonly children: ComponentChildren;
}

/** A word about a state; its colour only repeats it. */
export function Badge({ kind = 'plain', title, children }: BadgeProps) {
  return (
    <span class={`badge ${kind}`} title={title}>
      {children}
    </span>
  );
}
