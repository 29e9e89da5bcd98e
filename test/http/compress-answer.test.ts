import { Hono } from 'hono';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { JSON_CONTENT_TYPE } from '#http/answers.js';
import type { Env } from '#http/handler.js';
import { compressResponses } from '#http/app.js';

const BROWSER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)', 'accept-encoding': 'gzip, deflate, br' };
const LONG_TEXT = JSON.stringify(Array.from({ length: 5000 }, (_, t) => 1000 + Math.sin(t)));

/** Requests a stored body through the compression. */
const ask = async (body: string, headers: Record<string, string>, type = JSON_CONTENT_TYPE, status: 200 | 404 = 200) =>
  new Hono<Env>()
    .use(compressResponses)
    .get('/', (c) =>
      c.body(new Uint8Array(Buffer.from(body)), status, {
        ETag: '"e"',
        'Content-Type': type,
        'Content-Length': String(Buffer.byteLength(body)),
      }),
    )
    .request('/', { headers }, {});

test('a browser receives a long answer compressed, in a coding that it accepts, with the etag of the content', async () => {
  const answer = await ask(LONG_TEXT, BROWSER);
  const body = new Uint8Array(await answer.arrayBuffer());
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-encoding': 'br',
    vary: 'Accept-Encoding',
    etag: '"e"',
    'content-length': String(body.byteLength),
  });
  expect(body.byteLength).toBeLessThan(0.5 * LONG_TEXT.length);
  expect(brotliDecompressSync(body).toString()).toBe(LONG_TEXT);
  const response = await ask(LONG_TEXT, { ...BROWSER, 'accept-encoding': 'gzip' });
  expect(gunzipSync(await response.arrayBuffer()).toString()).toBe(LONG_TEXT);
});

test('programs, short answers, other media types and errors are sent uncompressed', async () => {
  const answers = await Promise.all([
    ask(LONG_TEXT, { 'accept-encoding': 'br' }),
    ask(LONG_TEXT, { 'user-agent': 'Mozilla/5.0' }),
    ask('[1]', BROWSER),
    ask(LONG_TEXT, BROWSER, 'application/pdf'),
    ask(LONG_TEXT, BROWSER, JSON_CONTENT_TYPE, 404),
  ]);
  for (const answer of answers) expect(answer.headers.get('content-encoding')).toBeNull();
  expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual([
    LONG_TEXT,
    LONG_TEXT,
    '[1]',
    LONG_TEXT,
    LONG_TEXT,
  ]);
});
