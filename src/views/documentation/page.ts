import { createHash } from 'node:crypto';
import { joinParts, createMarkup, NO_MARKUP, toMarkup, type Markup } from './markup.js';
import { SCRIPT } from './script.js';
import { STYLE } from './style.js';

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

export interface PageInput {
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
<script>${toMarkup(SCRIPT)}</script>
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
