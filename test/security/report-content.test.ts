import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { openLiveService, type LiveService } from '../real/live.js';

/**
 * Service that renders reports. The content of a template is drawn as text and adds no link, action, script or file to
 * the document.
 */
let service: LiveService;
beforeAll(async () => {
  service = await openLiveService(['--workers', '1']);
});
afterAll(() => service.close());

const HOSTILE = [
  '(unbalanced ( parentheses \\) endstream endobj',
  '>> /OpenAction << /S /JavaScript /JS (app.alert(1)) >>',
  '<script>alert(1)</script> [a](javascript:alert(1)) https://example.com',
  '1 0 obj << /Type /Action /S /URI /URI (https://example.com) >> endobj',
  '/EmbeddedFile /Launch /SubmitForm',
  'trailer << /Root 9 0 R >>\n%%EOF',
  '\u202egnp.exe',
  '\u0000\u0007\u001b]0;x\u0007',
];

test('hostile text is drawn as text', async () => {
  const blocks = HOSTILE.map((text) => ({ kind: 'text', title: text, text }));
  await service.ok('PUT', '/reports/templates/hostile', { template_id: 'hostile', name: HOSTILE[1], blocks });
  const job = await service.job<{ readonly render_id: string }>('/reports/render', { template_id: 'hostile' });
  expect(job.error).toBeNull();
  const response = await fetch(`${service.url}/reports/renders/${job.result.render_id}`);
  const pdfText = Buffer.from(await response.arrayBuffer()).toString('latin1');
  expect(pdfText.startsWith('%PDF-')).toBe(true);
  // Names of dictionaries are not compressed. Drawn text is in compressed streams or in strings of the title.
  const outsideTexts = pdfText
    .replaceAll(/stream\r?\n[\s\S]*?endstream/g, '')
    .replaceAll(/\((?:\\[\s\S]|[^\\()])*\)|<[0-9a-fA-F\s]*>/g, '()');
  for (const name of [
    '/JavaScript',
    '/JS',
    '/URI',
    '/Launch',
    '/EmbeddedFile',
    '/SubmitForm',
    '/OpenAction',
    '/AA',
    '/Annots',
    '/AcroForm',
    '/RichMedia',
  ])
    expect(outsideTexts).not.toContain(`${name} `);
  expect(pdfText.match(/%%EOF/g)).toHaveLength(1);
  expect(response.headers.get('content-type')).toBe('application/pdf');
  expect(response.headers.get('content-disposition')).toMatch(/^inline; filename="[A-Za-z0-9._-]+"$/);
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
});

test('more blocks than a report may have are refused before rendering', async () => {
  const blocks = Array.from({ length: 101 }, () => ({ kind: 'text', text: 'x' }));
  const { status, body } = await service.ask<{ readonly error: { readonly code: string } }>(
    'PUT',
    '/reports/templates/long',
    { template_id: 'long', name: 'Long', blocks },
  );
  expect([status, body.error.code]).toEqual([422, 'VALIDATION_FAILED']);
});

test('the id of a render is random, not sequential', async () => {
  const render = async (): Promise<string> =>
    (
      (await service.job<{ readonly render_id: string }>('/reports/render', {
        template_id: 'hostile',
      })) as JobStatus & { readonly result: { readonly render_id: string } }
    ).result.render_id;
  const [first, second] = [await render(), await render()];
  expect(first.slice(-8)).toMatch(/^[0-9a-f]{8}$/);
  expect(first.slice(-8)).not.toBe(second.slice(-8));
});
