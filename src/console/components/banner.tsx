import type { ComponentChildren } from 'preact';
import type { BadgeKind } from './badge.js';
import './banner.css';

interface BannerProps {
  readonly kind: Exclude<BadgeKind, 'plain'>;
  readonly title: ComponentChildren;
  readonly action?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** Renders a notice at the top of a page or section. */
export function Banner({ kind, title, action, children }: BannerProps) {
  return (
    <section class={`banner ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      <div class="banner-words">
        <strong>{title}</strong>
        {children}
      </div>
      {action !== undefined && <div class="banner-action">{action}</div>}
    </section>
  );
}
