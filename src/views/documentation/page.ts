import { createHash } from 'node:crypto';

/** HTML text that is already escaped. Plain text is escaped when it is inserted; markup is inserted unchanged. */
export interface Markup {
  readonly html: string;
}

type Part = string | number | Markup | readonly Markup[];

/** Builds markup from a template. All inserted values that are not markup are escaped. */
export function createMarkup(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return { html: texts.map((text, i) => (i < parts.length ? text + formatHtml(parts[i]!) : text)).join('') };
}

/** Marks a text as markup without escaping it. */
export const toMarkup = (html: string): Markup => ({ html });

export const NO_MARKUP: Markup = toMarkup('');

export const joinParts = (parts: readonly Markup[], between = ''): Markup =>
  toMarkup(parts.map(({ html }) => html).join(between));

function formatHtml(part: Part): string {
  if (typeof part === 'string') return escapeHtml(part);
  if (typeof part === 'number') return String(part);
  return 'html' in part ? part.html : joinParts(part).html;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** Converts a description to markup. Empty lines separate paragraphs; words in backticks become code. */
export function renderProse(text: string): Markup {
  return joinParts(
    text
      .trim()
      .split(/\n\s*\n/)
      .map((paragraph) => createMarkup`<p>${renderPhrase(paragraph)}</p>`),
  );
}

/** Converts one paragraph to markup without the surrounding element. */
export function renderPhrase(text: string): Markup {
  return joinParts(
    text
      .split(/(`[^`]+`)/)
      .map((part) => (/^`.+`$/s.test(part) ? createMarkup`<code>${part.slice(1, -1)}</code>` : createMarkup`${part}`)),
  );
}

/**
 * Script of a documentation page. It adds a search over the sections, and buttons that copy a sample with the address
 * of the service.
 */
const SCRIPT = `
document.documentElement.classList.add('scripted');
const sections = [...document.querySelectorAll('section[id]')].map((section) => ({ section, link: document.querySelector('nav a[href$="#' + section.id + '"]'), text: section.textContent.toLowerCase() }));
const search = document.querySelector('nav input');
const groups = [...document.querySelectorAll('main > h2, main > .group')];
if (search) {
  search.addEventListener('input', () => {
    const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const { section, link, text } of sections) {
      const isFound = words.every((word) => text.includes(word));
      section.hidden = !isFound;
      if (link) link.parentElement.hidden = !isFound;
    }
    for (const group of groups) group.hidden = words.length > 0 && !group.querySelector('section:not([hidden])') && !group.matches('h2');
  });
  addEventListener('keydown', (event) => {
    if (event.key === '/' && document.activeElement !== search) { event.preventDefault(); search.focus(); }
    if (event.key === 'Escape' && document.activeElement === search) { search.value = ''; search.dispatchEvent(new Event('input')); search.blur(); }
  });
  addEventListener('hashchange', () => { search.value = ''; search.dispatchEvent(new Event('input')); document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView(); });
}
for (const pre of document.querySelectorAll('pre')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    const text = pre.querySelector('code').textContent.replaceAll('$DIVISOR', location.protocol === 'file:' ? '$DIVISOR' : location.origin);
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  (pre.closest('figure') ?? pre).append(button);
}
`;

/** Style sheet of all documentation pages. It supports light and dark themes, narrow and wide screens, and print. */
const STYLE = `
:root { --ink: #1c2430; --quiet: #5b6675; --line: #dfe4ea; --paper: #fff; --wash: #f5f7f9; --link: #0b5cad; --mark: #8a3c00;
  --get: #0b6e4f; --post: #0b5cad; --put: #8a5a00; --patch: #6a3fb0; --delete: #a3262a; color-scheme: light dark }
@media (prefers-color-scheme: dark) { :root { --ink: #dfe5ec; --quiet: #98a4b3; --line: #303a46; --paper: #12171d; --wash: #1a2129; --link: #7ab7ff;
  --mark: #ffb37a; --get: #5fd0a5; --post: #7ab7ff; --put: #f0c060; --patch: #c3a6ff; --delete: #ff8f8f } }
* { box-sizing: border-box }
html { scroll-padding-top: 1rem }
body { margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 1fr); font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper) }
code, pre { font: 0.86em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
a { color: var(--link); text-decoration: none }
a:hover { text-decoration: underline }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; border-right: 1px solid var(--line); background: var(--wash); font-size: 13.5px }
nav strong a, nav strong { display: block; margin: 0.9rem 0 0.2rem; color: var(--ink) }
nav .brand { font-size: 1.25rem; margin-top: 0 }
nav ul { list-style: none; margin: 0; padding: 0 }
nav li a { display: block; padding: 0.1rem 0; color: var(--quiet); overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
nav li a[aria-current], nav li a:hover { color: var(--link) }
nav input { width: 100%; padding: 0.35rem 0.5rem; font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: 4px }
html:not(.scripted) nav input { display: none }
main { padding: 1.5rem 2rem 6rem; max-width: 82rem }
main.guide { max-width: 64rem }
main.guide > p, main.guide > ul { max-width: 46rem }
main.guide > p { margin: 0.8rem 0 }
main.guide img { display: block; max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 6px }
main.guide pre + pre { margin-top: -0.35rem; border-top-style: dashed; background: none }
h1 { margin: 0 0 0.5rem; font-size: 1.9rem; line-height: 1.2 }
h2 { margin: 2.5rem 0 0.75rem; padding-bottom: 0.25rem; border-bottom: 1px solid var(--line); font-size: 1.35rem }
h3 { margin: 1.8rem 0 0.5rem; font-size: 1.05rem }
h3 a, h2 a { color: inherit }
h4 { margin: 1rem 0 0.3rem; font-size: 0.8rem; color: var(--quiet); text-transform: uppercase; letter-spacing: 0.04em }
p { margin: 0.4rem 0 }
.summary { font-size: 1.02rem }
.facts, .bounds, figcaption { color: var(--quiet); font-size: 0.86rem }
.operation { border-top: 1px solid var(--line); padding: 0.2rem 0 1.2rem }
h2 + .operation { border-top: 0 }
.operation h3 { overflow-wrap: anywhere }
.columns { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 2rem }
.columns > * { min-width: 0 }
.method { font-weight: 700; font-size: 0.8rem; letter-spacing: 0.03em }
.get { color: var(--get) } .post { color: var(--post) } .put { color: var(--put) } .patch { color: var(--patch) } .delete { color: var(--delete) }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem }
th, td { padding: 0.28rem 0.6rem 0.28rem 0; border-top: 1px solid var(--line); text-align: left; vertical-align: top; font-weight: 400 }
.fields th, .answers th { white-space: nowrap }
.fields .type { color: var(--quiet); overflow-wrap: break-word }
@media (max-width: 46rem) { .fields tr { display: block; padding: 0.3rem 0; border-top: 1px solid var(--line) } .fields th, .fields td { display: block; border: 0; padding: 0 } }
.answers td { overflow-wrap: anywhere }
.guide th, thead th { font-weight: 600 }
.required { color: var(--mark) }
figure { margin: 0.6rem 0 0; position: relative }
pre { margin: 0.3rem 0; padding: 0.7rem 0.8rem; background: var(--wash); border: 1px solid var(--line); border-radius: 5px; overflow: auto; max-height: 26rem; tab-size: 2 }
main.guide pre { position: relative; margin: 0.6rem 0; max-height: none }
p code, li code, td code { padding: 0 0.15em; overflow-wrap: anywhere }
button { position: absolute; top: 0.4rem; right: 0.4rem; padding: 0.1rem 0.5rem; font: 12px system-ui, sans-serif; color: var(--quiet); background: var(--paper); border: 1px solid var(--line); border-radius: 4px; cursor: pointer; opacity: 0 }
figure button { top: 0 }
figure:hover button, pre:hover button, button:focus { opacity: 1 }
:target > h3, tr:target { background: color-mix(in srgb, var(--link) 14%, transparent) }
[hidden] { display: none }
@media (max-width: 68rem) { .columns { grid-template-columns: minmax(0, 1fr); gap: 0 } }
@media (max-width: 46rem) { body { display: block } nav { position: static; height: auto; border-right: 0 } main { padding: 1rem } }
@media print { body { display: block; font-size: 10pt } nav, button { display: none } main { padding: 0; max-width: none } pre { max-height: none; white-space: pre-wrap; overflow-wrap: anywhere }
  a { color: inherit } .operation { break-inside: auto } h2, h3, h4, figcaption { break-after: avoid } tr { break-inside: avoid } @page { margin: 16mm } }
`;

/** Page that contains its own style and script. Only its pictures are loaded separately. */
export interface Page {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

export interface Link {
  readonly href: string;
  readonly text: Markup;
}

export interface Group {
  readonly title: Markup;
  readonly links: readonly Link[];
}

interface PageInput {
  readonly title: string;
  /** Class of the main element. */
  readonly kind: 'reference' | 'guide';
  readonly groups: readonly Group[];
  readonly content: Markup;
  /** Address of the page in the navigation. */
  readonly current: string;
}

const computeSha256 = (text: string) => createHash('sha256').update(text).digest('base64');

/**
 * Content security policy of a page. Only the script and the style of the page are used. Everything else may come only
 * from the service. The page cannot be framed and submits no forms.
 */
export const PAGE_POLICY = [
  "default-src 'self'",
  `style-src 'sha256-${computeSha256(STYLE)}'`,
  `script-src 'sha256-${computeSha256(SCRIPT)}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Builds a page with head, navigation and content. */
export function createPage({ title, kind, groups, content, current }: PageInput): Page {
  const html = createMarkup`<!doctype html>
<html lang="en-GB">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${toMarkup(STYLE)}</style>
</head>
<body>
<nav aria-label="Contents">
<strong class="brand"><a href="/docs">Divisor</a></strong>
${kind === 'reference' ? toMarkup('<input type="search" placeholder="Search ( / )" aria-label="Search the reference">') : NO_MARKUP}
${groups.map((group) => renderNavigation(group, current))}
</nav>
<main class="${kind}">
${content}
</main>
${toMarkup(`<script>${SCRIPT}</script>`)}
</body>
</html>
`.html;
  const bytes = new TextEncoder().encode(html);
  return { bytes, etag: createHash('sha256').update(bytes).digest('hex') };
}

function renderNavigation({ title, links }: Group, current: string): Markup {
  const items = links.map(
    ({ href, text }) =>
      createMarkup`<li><a href="${href}"${href === current ? toMarkup(' aria-current="page"') : NO_MARKUP}>${text}</a></li>`,
  );
  return createMarkup`<strong>${title}</strong><ul>${joinParts(items)}</ul>`;
}

/** A page of the guide, already converted to HTML. */
export interface GuidePage {
  /** Last segment of the page's address; empty for the first page. */
  readonly name: string;
  readonly title: string;
  /** Content as HTML, generated from `data/guide` when the package was built. */
  readonly html: string;
}

const formatAddress = ({ name }: GuidePage) => (name === '' ? '/docs/guide' : `/docs/guide/${name}`);

/** Renders a page of the guide. A navigation lists all pages. */
export function renderGuidePage(page: GuidePage, guide: readonly GuidePage[]): Page {
  return createPage({
    title: `Divisor: ${page.title}`,
    kind: 'guide',
    groups: [createGuideGroup(guide), REFERENCE],
    content: toMarkup(page.html),
    current: formatAddress(page),
  });
}

/**
 * Renders the list of the pages of the guide as text: a title, a summary and one link for each page, with its content.
 * @param first Markdown of the first page, whose table lists the others
 */
export function renderGuideIndexText(first: string): string {
  const summary = /^# .*\n+((?:.+\n)+)/.exec(first)?.[1] ?? '';
  const rows = [...first.matchAll(/^\| \[([^\]]+)\]\(([a-z-]+)\.md\) \| (.*) \|$/gm)];
  const links = rows.map(([, title, name, content]) => `- [${title}](/docs/guide/${name}?format=md): ${content}`);
  const more = [
    '- [First steps](/docs/guide?format=md): an index on a generated market, and the path through the guide',
    '- [OpenAPI](/openapi.json): every route, with schemas and examples',
    '- [The whole guide](/llms-full.txt): all pages as one text',
  ];
  return `# Divisor\n\n> ${summary.trim().replaceAll('\n', ' ')}\n\n## Begin\n\n${more.join('\n')}\n\n## Pages\n\n${links.join('\n')}\n`;
}

/** Joins the Markdown of all pages, without the marks of generated tables. */
export const renderGuideText = (pages: readonly string[]): string =>
  pages.map((text) => text.replaceAll(/^<!--.*-->\n/gm, '').trim()).join('\n\n---\n\n') + '\n';

export function createGuideGroup(guide: readonly GuidePage[]): Group {
  return {
    title: createMarkup`guide`,
    links: guide.map((page) => ({ href: formatAddress(page), text: createMarkup`${page.title}` })),
  };
}

const REFERENCE: Group = {
  title: createMarkup`reference`,
  links: [{ href: '/docs', text: createMarkup`Every route, schema and error` }],
};
