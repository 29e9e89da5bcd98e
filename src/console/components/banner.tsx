import type { ComponentChildren } from 'preact';
import type { Kind } from './badge.js';
import './banner.css';

interface BannerProps {
  readonly kind: Exclude<Kind, 'plain'>;
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
