// Turns the guide into HTML at build: dist/guide.json, served at /docs/guide.
import { readFileSync, writeFileSync } from 'node:fs';
import { Marked } from 'marked';
import { API } from '../../dist/src/contract/api.js';

const folder = new URL('./', import.meta.url);
const read = (file) => readFileSync(new URL(file, folder), 'utf8');

/** The first page links to the others in reading order. */
const first = read('README.md');
const files = ['README.md', ...new Set([...first.matchAll(/\]\(([a-z-]+\.md)\)/g)].map((match) => match[1]))];
const nameOf = (file) => (file === 'README.md' ? '' : file.replace('.md', ''));

const operations = new Map(Object.entries(API).map(([id, { method, path }]) => [`${method} ${path}`, id]));
const slug = (text) =>
  text
    .toLowerCase()
    .replaceAll(/<[^>]*>|&[a-z#0-9]+;/g, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function toHtml(text) {
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens);
        return depth === 1
          ? `<h1>${html}</h1>\n`
          : `<h${depth} id="${slug(html)}"><a href="#${slug(html)}">${html}</a></h${depth}>\n`;
      },
      link({ href, tokens }) {
        const page = /^([a-zA-Z-]+\.md)(#.*)?$/.exec(href);
        const address =
          page === null ? href : `/docs/guide${page[1] === 'README.md' ? '' : `/${nameOf(page[1])}`}${page[2] ?? ''}`;
        return `<a href="${address}">${this.parser.parseInline(tokens)}</a>`;
      },
      image: ({ href, text }) =>
        `<img src="/docs/guide/${href.replace('.webp', '')}" alt="${escape(text)}" width="1280" height="820" loading="lazy">`,
      codespan({ text }) {
        const id = operations.get(text);
        const code = `<code>${escape(text)}</code>`;
        return id === undefined ? code : `<a href="/docs#${id}">${code}</a>`;
      },
      code: ({ text }) => `<pre><code>${escape(text)}</code></pre>\n`,
    },
  });
  return marked.parse(text);
}

const pages = files.map((file) => {
  const text = read(file);
  return { name: nameOf(file), title: /^# (.*)$/m.exec(text)[1], html: toHtml(text) };
});
writeFileSync(new URL('../../dist/guide.json', folder), JSON.stringify(pages));
