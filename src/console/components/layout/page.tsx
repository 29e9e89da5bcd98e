import '../page.css';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { isPrinting, PRINT_WIDTH } from '../../state/appearance.js';
import { health } from '../../state/live.js';
import { consoleLocation, formatAddress, getParameter } from '../../state/location.js';
import { hasKey, service } from '../../state/service.js';
import { addVisit } from '../../state/stored-list.js';
import { Download } from '../controls/action-button.js';

interface GuideLinkProps {
  readonly page: string;
  readonly children: ComponentChildren;
}

/** Renders a link that opens a page of the guide. If an API key is required, the link saves the page as a file. */
export function GuideLink({ page, children }: GuideLinkProps) {
  const read = () => service.value.download('getGuidePage', 'text/html', { params: { page } });
  return (
    <HtmlLink address={`/docs/guide/${page}`} fileName={`divisor-${page}.html`} read={read}>
      {children}
    </HtmlLink>
  );
}

export function GuideLinks() {
  return (
    <>
      <HtmlLink
        address="/docs/guide"
        fileName="divisor-guide.html"
        read={() => service.value.download('getGuide', 'text/html')}
      >
        Guide
      </HtmlLink>
      <HtmlLink
        address="/docs"
        fileName="divisor-reference.html"
        read={() => service.value.download('getDocumentation', 'text/html')}
      >
        Reference
      </HtmlLink>
    </>
  );
}

interface HtmlLinkProps {
  readonly address: string;
  readonly fileName: string;
  readonly children: ComponentChildren;
  read(): Promise<Uint8Array>;
}

/** Renders a button that downloads a page with the API key. A plain link would send no key. */
function HtmlLink({ address, fileName, read, children }: HtmlLinkProps) {
  if (!hasKey.value) return <a href={address}>{children}</a>;
  return (
    <Download address={address} fileName={fileName} title="Saves the page as a file" read={read}>
      {children}
    </Download>
  );
}

export interface PageFrameProps {
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

export function Page({ title, above = [], subtitle, actions, isEditor = false, children }: PageFrameProps) {
  const name = [title, ...above.map(({ text }) => text)].join(' · ');
  const store = getParameter('store');
  useEffect(() => {
    document.title = `${name} · Divisor`;
    addVisit({ address: formatAddress(consoleLocation.peek().path, { store }), text: name });
  }, [name, store]);
  return (
    <div class="stack gap-4 page">
      <header class="wrap spread gap-3 page-head">
        <div class="text-flow page-names">
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
          {subtitle !== undefined && <div class="flow second page-subtitle">{subtitle}</div>}
        </div>
        {actions !== undefined && actions !== false && (
          <div class={isEditor ? 'wrap gap-2 page-actions is-fixed' : 'wrap gap-2 page-actions'}>{actions}</div>
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

export function Section({ title, aside, children }: SectionProps) {
  return (
    <section class="stack gap-2 section" aria-label={title}>
      <header class="flow spread gap-2 section-head">
        <h2>{title}</h2>
        {aside !== undefined && <div class="flow gap-2 second section-aside">{aside}</div>}
      </header>
      {children}
    </section>
  );
}

/**
 * Returns the width of an element in pixels. Before the first layout, returns the width of the window. For printing,
 * returns at most the width of the printed text.
 */
export function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(innerWidth);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    setWidth(current.clientWidth);
    const observer = new ResizeObserver(() => setWidth(current.clientWidth));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return isPrinting.value ? Math.min(width, PRINT_WIDTH) : width;
}

/** Returns the name of a chart, table or group of figures on its page: its label without dates. */
export const getPartName = (label: string): string => label.replaceAll(/\d{4}-\d{2}-\d{2}/g, '…');

/** Returns the only part of the page that the address asks for; null for the whole page. */
export const findOnlyPart = (): string | null => getParameter('part');

/** Returns the names of the charts, tables and groups of figures on the page, in order. */
export const listPartsOnPage = (): readonly string[] => {
  const parts = [...document.querySelectorAll<HTMLElement>('main [data-part]')];
  // The selector requires this attribute.
  return [...new Set(parts.filter((part) => part.checkVisibility()).map((part) => part.dataset['part']!))];
};

/**
 * Hides everything on the page except one part. This includes content that is added later.
 * @returns a function that shows everything again
 */
export function showOnly(part: string): () => void {
  const root = document.documentElement;
  root.classList.add('is-part');
  const mark = () => {
    for (const markedElement of document.querySelectorAll('[data-way]')) markedElement.removeAttribute('data-way');
    const element = [...document.querySelectorAll<HTMLElement>('main [data-part]')].find(
      (one) => one.dataset['part'] === part,
    );
    if (element === undefined) return;
    element.dataset['way'] = 'end';
    for (let way = element.parentElement; way !== null && way.id !== 'main'; way = way.parentElement)
      way.dataset['way'] = 'through';
  };
  mark();
  const observer = new MutationObserver(mark);
  observer.observe(document.body, { childList: true, subtree: true });
  return () => {
    observer.disconnect();
    root.classList.remove('is-part');
  };
}
