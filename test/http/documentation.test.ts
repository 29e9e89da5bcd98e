import { afterAll, beforeAll, expect, test } from 'vitest';
import { liveService, type LiveService } from '../real/live.js';

let service: LiveService;
beforeAll(async () => {
  service = await liveService();
});
afterAll(() => service.close());

test('the reference is a page that a browser may run only as it stands', async () => {
  const { status, headers, body } = await service.ask<string>('GET', '/docs');
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(headers.get('content-security-policy')).toContain("default-src 'self'");
  expect(body).toContain('<section class="operation" id="createIndex">');
});

test('a page that the client holds is not sent again', async () => {
  const first = await fetch(`${service.url}/docs`);
  const again = await fetch(`${service.url}/docs`, { headers: { 'If-None-Match': first.headers.get('etag')! } });
  expect([again.status, await again.text()]).toEqual([304, '']);
});

test('the guide has a first page and others, and says which when asked for one it lacks', async () => {
  expect((await service.ask<string>('GET', '/docs/guide')).body).toContain('<title>Divisor: Guide</title>');
  expect((await service.ask<string>('GET', '/docs/guide/data')).body).toContain('<title>Divisor: Data</title>');
  const { status, body } = await service.ask<{ error: { code: string; message: string } }>('GET', '/docs/guide/nothing');
  expect([status, body.error.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
  expect(body.error.message).toContain('backtest');
});

test('examples of answers are in the document that programs read', async () => {
  interface Document { paths: Record<string, Record<string, { operationId: string; responses: Record<string, { content?: Record<string, { example?: unknown }> }> }>> }
  const document = await service.ok<Document>('GET', '/openapi.json');
  const without = Object.values(document.paths).flatMap((methods) => Object.values(methods)).filter(({ operationId, responses }) => {
    const json = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content?.['application/json'];
    return json !== undefined && json.example === undefined && operationId !== 'getOpenApi';
  });
  expect(without.map(({ operationId }) => operationId), 'npm run generate').toEqual([]);
});
