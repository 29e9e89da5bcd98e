import type { ComponentChildren } from 'preact';
import './empty-state.css';

interface EmptyStateProps {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly action?: ComponentChildren;
}

/** Renders the reason why there is nothing to show, and a possible action. */
export function EmptyState({ title, children, action }: EmptyStateProps) {
  return (
    <section class="empty-state">
      <h2>{title}</h2>
      {children !== undefined && <div class="empty-words">{children}</div>}
      {action !== undefined && <div class="empty-action">{action}</div>}
    </section>
  );
}
