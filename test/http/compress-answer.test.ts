import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { JSON_TYPE, ResponseHeaders } from '#http/answers.js';
import { compressResponse } from '#http/request-listener.js';

const BROWSER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)', 'accept-encoding': 'gzip, deflate, br' };
const LONG_TEXT = JSON.stringify(Array.from({ length: 5000 }, (_, t) => 1000 + Math.sin(t)));

function createAnswer(body: string, type = JSON_TYPE) {
  const headers = new ResponseHeaders('id', {});
  headers.set('ETag', '"e"');
  headers.describe(type, Buffer.byteLength(body));
  return { status: 200, headers, body: new Uint8Array(Buffer.from(body)) };
}

test('a browser receives a long answer compressed, in a coding that it accepts, with the etag of the content', async () => {
  const { headers, body } = (await compressResponse(createAnswer(LONG_TEXT), BROWSER))!;
  expect(headers.byName()).toMatchObject({ 'Content-Encoding': 'br', Vary: 'Accept-Encoding', ETag: '"e"' });
  expect(headers.byName()['Content-Length']).toBe(String((body as Uint8Array).byteLength));
  expect((body as Uint8Array).byteLength).toBeLessThan(0.5 * LONG_TEXT.length);
  expect(brotliDecompressSync(body as Uint8Array).toString()).toBe(LONG_TEXT);
  const response = (await compressResponse(createAnswer(LONG_TEXT), { ...BROWSER, 'accept-encoding': 'gzip' }))!;
  expect(gunzipSync(response.body as Uint8Array).toString()).toBe(LONG_TEXT);
});

test('programs, short answers, other media types and errors are sent uncompressed', () => {
  expect(compressResponse(createAnswer(LONG_TEXT), { 'accept-encoding': 'br' })).toBeUndefined();
  expect(compressResponse(createAnswer(LONG_TEXT), { 'user-agent': 'Mozilla/5.0' })).toBeUndefined();
  expect(compressResponse(createAnswer('[1]'), BROWSER)).toBeUndefined();
  expect(compressResponse(createAnswer(LONG_TEXT, 'application/pdf'), BROWSER)).toBeUndefined();
  expect(compressResponse({ ...createAnswer(LONG_TEXT), status: 404 }, BROWSER)).toBeUndefined();
});
