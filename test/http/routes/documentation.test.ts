import { readdirSync } from 'node:fs';
import { get, type IncomingHttpHeaders } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openLiveService, type LiveService } from '../../real/live.js';

let service: LiveService;
beforeAll(async () => {
  service = await openLiveService();
});
afterAll(() => service.close());

test('the reference is a page with every operation, and loads only from its service', async () => {
  const { status, headers, body } = await service.ask<string>('GET', '/docs');
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(headers.get('content-security-policy')).toContain("default-src 'self'");
  expect(body).toContain('<section class="operation" id="createIndex">');
});

test('a page that the client has is not sent again', async () => {
  const first = await fetch(`${service.url}/docs`);
  const secondAnswer = await fetch(`${service.url}/docs`, { headers: { 'If-None-Match': first.headers.get('etag')! } });
  expect([secondAnswer.status, await secondAnswer.text()]).toEqual([304, '']);
});

/** Returns a response as it was transferred. fetch would decode it. */
function requestRaw(path: string, acceptEncoding: string): Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    get(`${service.url}${path}`, { headers: { 'accept-encoding': acceptEncoding } }, (response) => {
      const chunks: Buffer[] = [];
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => resolve({ headers: response.headers, bytes: Buffer.concat(chunks) }));
    }).on('error', reject);
  });
}

test.each(['/docs', '/docs/guide', '/docs/guide/data', '/openapi.json'])(
  '%s is compressed for clients that accept it, each coding under a different etag',
  async (path) => {
    const plainAnswer = await requestRaw(path, 'identity');
    const br = await requestRaw(path, 'gzip, br');
    const gzip = await requestRaw(path, 'gzip');
    expect(
      [plainAnswer, br, gzip].map(({ headers }) => [
        headers['content-encoding'],
        headers['vary'],
        headers['content-type'],
      ]),
    ).toEqual(
      [undefined, 'br', 'gzip'].map((coding) => [coding, 'Accept-Encoding', plainAnswer.headers['content-type']]),
    );
    expect(brotliDecompressSync(br.bytes).equals(plainAnswer.bytes)).toBe(true);
    expect(gunzipSync(gzip.bytes).equals(plainAnswer.bytes)).toBe(true);
    expect(br.bytes.length).toBeLessThan(plainAnswer.bytes.length / 3);
    expect(new Set([plainAnswer, br, gzip].map(({ headers }) => headers['etag'])).size).toBe(3);
    const secondAnswer = await fetch(`${service.url}${path}`, {
      headers: { 'accept-encoding': 'br', 'if-none-match': br.headers['etag']! },
    });
    expect(secondAnswer.status).toBe(304);
  },
);

test('pages load only existing pictures of the guide', async () => {
  const { body: first } = await service.ask<string>('GET', '/docs/guide');
  const pages = [
    '/docs',
    '/docs/guide',
    ...new Set([...first.matchAll(/href="(\/docs\/guide\/[a-z-]+)"/g)].map((match) => match[1]!)),
  ];
  expect(pages.length).toBeGreaterThan(15);
  for (const path of pages) {
    const { body } = await service.ask<string>('GET', path);
    const addresses = [
      ...body.matchAll(
        /<(?:link|script|img|iframe|object|embed|source|video|audio|use|image)\b[^>]*\b(?:src|href|data|srcset)\s*=|@import|url\(/gi,
      ),
    ];
    const pictures = [...body.matchAll(/<img src="(\/docs\/guide\/pictures\/[a-z]+)"/g)].map((match) => match[1]!);
    expect(
      addresses.map((match) => match[0]),
      path,
    ).toEqual(pictures.map(() => '<img src='));
    for (const picture of pictures) expect((await service.ask('GET', picture)).status).toBe(200);
  }
});

test('the guide has a first page and others, and lists them for an unknown page', async () => {
  expect((await service.ask<string>('GET', '/docs/guide')).body).toContain('<title>Divisor: Guide</title>');
  expect((await service.ask<string>('GET', '/docs/guide/data')).body).toContain('<title>Divisor: Data</title>');
  const { status, body } = await service.ask<{ error: { code: string; message: string } }>(
    'GET',
    '/docs/guide/nothing',
  );
  expect([status, body.error.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
  expect(body.error.message).toContain('backtest');
});

test('examples of answers are in the OpenAPI document', async () => {
  interface Document {
    paths: Record<
      string,
      Record<
        string,
        { operationId: string; responses: Record<string, { content?: Record<string, { example?: unknown }> }> }
      >
    >;
  }
  const document = await service.ok<Document>('GET', '/openapi.json');
  const operationsWithout = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ operationId, responses }) => {
      const json = Object.entries(responses).findLast(([status]) => status.startsWith('2'))?.[1].content?.[
        'application/json'
      ];
      return json !== undefined && json.example === undefined && operationId !== 'getOpenApi';
    });
  expect(operationsWithout.map(({ operationId }) => operationId)).toEqual([]);
});

test('the list of pages for agents has every page of the guide, and each address in it answers as text', async () => {
  const { status, headers, body } = await service.ask<string>('GET', '/llms.txt');
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
  expect(body).toMatch(/^# Divisor\n\n> Divisor defines, previews, backtests, analyses and optimises equity indices/);
  const addresses = [...body.matchAll(/^- \[[^\]]+\]\((\/[^)]+)\): ./gm)].map((match) => match[1]!);
  const pages = readdirSync('data/guide').filter((name) => name.endsWith('.md') && name !== 'README.md');
  for (const name of pages) expect(addresses).toContain(`/docs/guide/${name.replace('.md', '')}?format=md`);
  const answers = await Promise.all(addresses.map((address) => fetch(service.url + address)));
  expect(answers.filter((answer) => !answer.ok || !/text|json/.test(answer.headers.get('content-type')!))).toEqual([]);
});

test('the guide as one text has all pages in reading order, and no marks of generated tables', async () => {
  const { status, body } = await service.ask<string>('GET', '/llms-full.txt');
  expect(status).toBe(200);
  const titles = ['# Guide', '# Data', '# Define', '# Backtest', '# Optimise', '# Operation'];
  const places = titles.map((title) => body.indexOf(`\n${title}\n`.slice(title === '# Guide' ? 1 : 0)));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(body).not.toContain('<!-- generated');
});
