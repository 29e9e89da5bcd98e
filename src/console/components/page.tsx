import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { health } from '../state/live.js';
import { consoleLocation, formatAddress, getParameter } from '../state/location.js';
import { addVisit } from '../state/recent.js';
import { isPrinting } from '../state/printing.js';
import './page.css';

interface PageProps {
  /** Heading of the page, and title of the browser tab. */
  readonly title: string;
  /** Parent pages, linked before the title. */
  readonly above?: readonly { readonly address: string; readonly text: string }[];
  readonly subtitle?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** True for the editor of a document. On a phone, its actions stay visible at the bottom of the window. */
  readonly isEditor?: boolean;
  readonly children: ComponentChildren;
}

export function Page({ title, above = [], subtitle, actions, isEditor = false, children }: PageProps) {
  const name = [title, ...above.map(({ text }) => text)].join(' · ');
  const store = getParameter('store');
  useEffect(() => {
    document.title = `${name} · Divisor`;
    addVisit({ address: formatAddress(consoleLocation.peek().path, { store }), text: name });
  }, [name, store]);
  return (
    <div class="page">
      <header class="page-head">
        <div class="page-names">
          {above.length > 0 && (
            <nav aria-label="Above" class="page-above">
              {above.map(({ address, text }) => (
                <span key={address}>
                  <a href={address}>{text}</a> <span aria-hidden="true">/</span>
                </span>
              ))}
            </nav>
          )}
          <h1>{title}</h1>
          {subtitle !== undefined && <div class="page-subtitle">{subtitle}</div>}
        </div>
        {actions !== undefined && actions !== false && (
          <div class={isEditor ? 'page-actions is-fixed' : 'page-actions'}>{actions}</div>
        )}
      </header>
      {children}
      {isPrinting.value && <PrintFoot />}
    </div>
  );
}

/** Renders the origin of the page at the end of a printout. */
function PrintFoot() {
  const { store } = health.value ?? {};
  return (
    <p class="print-foot">
      Divisor · {store?.active ?? 'no data store'}
      {store?.end == null ? '' : ` to ${store.end}`} · printed {new Date().toISOString().slice(0, 10)} · {location.href}
    </p>
  );
}

interface SectionProps {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Renders a part of a page under a heading. */
export function Section({ title, aside, children }: SectionProps) {
  return (
    <section class="section" aria-label={title}>
      <header class="section-head">
        <h2>{title}</h2>
        {aside !== undefined && <div class="section-aside">{aside}</div>}
      </header>
      {children}
    </section>
  );
}
