import { createPage, type Group, type Page } from './page.js';
import { createMarkup, toMarkup } from './markup.js';

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
