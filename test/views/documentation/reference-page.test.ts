import { expect, test } from 'vitest';
import { z } from 'zod';
import { API } from '#contract/api.js';
import { createOpenApiDocument } from '#contract/openapi.js';
import { defineRoutes } from '#contract/route.js';
import { ERRORS } from '#domain/base/refusals.js';
import { PAGE_POLICY, renderGuidePage, renderReferencePage } from '#views/documentation/reference.js';
import { getApiDocument } from '../../contract/api-document.js';

const decodeText = ({ bytes }: { readonly bytes: Uint8Array }) => new TextDecoder().decode(bytes);
const document = getApiDocument();
const pageText = decodeText(
  renderReferencePage(document, [
    { name: '', title: 'Guide', html: '' },
    { name: 'data', title: 'Data', html: '' },
  ]),
);

const listMatches = (pattern: RegExp) => [...pageText.matchAll(pattern)].map((match) => match[1]!);

test('every operation, schema and error code has its own section', () => {
  const ids = listMatches(/ id="([^"]+)"/g);
  expect(new Set(ids).size).toBe(ids.length);
  const wantedTexts = [
    ...Object.keys(API),
    ...Object.keys(document.components.schemas).map((name) => `schema-${name}`),
    ...Object.keys(ERRORS).map((code) => `error-${code}`),
  ];
  expect(wantedTexts.filter((id) => !ids.includes(id))).toEqual([]);
});

test('every link within the page has a target', () => {
  const ids = new Set(listMatches(/ id="([^"]+)"/g));
  const links = listMatches(/href="#([^"]+)"/g);
  expect(links.length).toBeGreaterThan(500);
  expect(links.filter((link) => !ids.has(link))).toEqual([]);
});

test('the page fetches nothing', () => {
  expect(pageText.match(/<(?:link|img|iframe|object|embed)\b|\bsrc=|@import|url\(/g)).toBeNull();
  expect(listMatches(/href="([^"#]+)"/g).filter((href) => !href.startsWith('/'))).toEqual([]);
  expect(listMatches(/https?:\/\/([^\s<"&]+)/g).filter((host) => !host.startsWith('127.0.0.1'))).toEqual([]);
});

test('every body of a request is shown as a command that can be pasted', () => {
  for (const [id, route] of Object.entries(API)) {
    const start = pageText.indexOf(`<section class="operation" id="${id}">`);
    const sectionText = pageText.slice(start, pageText.indexOf('</section>', start));
    expect(sectionText, id).toContain('<pre><code>curl ');
    if ('body' in route) expect(sectionText, id).toContain('--json');
  }
});

test('texts of the contract are text, never markup', () => {
  const table = defineRoutes('a', {
    risky: {
      method: 'GET',
      path: '/x',
      scope: 'read',
      summary: '<script>alert(1)</script> & `<b>`',
      success: {
        status: 200,
        description: '"quoted"',
        schema: z.strictObject({ '<i>': z.string() }),
        example: { text: '</code></pre><script>' },
      },
    },
  });
  const html = decodeText(renderReferencePage(createOpenApiDocument(table, '<1>'), []));
  expect(html.match(/<script>/g)).toHaveLength(1);
  expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; <code>&lt;b&gt;</code>');
});

test('the policy of a page allows its own style and script by their hashes', () => {
  expect(PAGE_POLICY).toMatch(
    /^default-src 'self'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
  );
  expect(pageText).not.toMatch(/ style=| on[a-z]+="/);
});

test('a page of the guide lists all pages and marks itself', () => {
  const pages = [
    { name: '', title: 'Guide', html: '<h1>Guide</h1>' },
    { name: 'data', title: 'Data', html: '<h1>Data</h1>' },
  ];
  const html = decodeText(renderGuidePage(pages[1]!, pages));
  expect(html).toContain('<a href="/docs/guide">Guide</a>');
  expect(html).toContain('<a href="/docs/guide/data" aria-current="page">Data</a>');
});
