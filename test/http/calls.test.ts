import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoutes } from '#contract/route.js';
import { deriveHandlers } from '#http/routes.js';

const routes = defineRoutes('pairs', {
  putPair: {
    method: 'PUT',
    path: '/pairs/{second}/{first}',
    call: 'pairs.put',
    scope: 'write',
    summary: 'Stores a pair.',
    params: z.strictObject({ first: z.string(), second: z.string() }),
    query: z.strictObject({ unit: z.string() }),
    body: { schema: z.strictObject({ size: z.number() }) },
    versioned: true,
    success: { status: 200, description: 'The pair.', schema: z.strictObject({ size: z.number() }) },
  },
  startPair: {
    method: 'POST',
    path: '/pairs/start',
    call: 'pairs.start',
    scope: 'run',
    summary: 'Starts a job.',
    success: { status: 202, description: 'The job.', schema: z.strictObject({ job_id: z.string() }) },
  },
});

const author = { author: 'desk', note: null, requestId: 'r' };
const origin = { owner: 'k' };
const { signal } = new AbortController();
const request = {
  params: { first: 'A', second: 'B' },
  query: { unit: 'kg' },
  body: () => ({ size: 2 }),
  precondition: () => '*',
  authorship: () => author,
  origin,
  signal,
};

test('a route passes path, query, body, precondition, author and signal in this order, and its document has an etag', async () => {
  const calls: unknown[][] = [];
  const handlers = deriveHandlers(routes, {
    pairs: {
      put(...parameters: unknown[]) {
        calls.push(parameters);
        return { etag: 'e1', pair: { size: 2 } };
      },
      start(...parameters: unknown[]) {
        calls.push(parameters);
        return { job_id: 'pair:A' };
      },
    },
  });
  const put = await handlers.putPair(request as unknown as Parameters<typeof handlers.putPair>[0]);
  expect(put).toEqual({ json: { size: 2 }, documentEtag: 'e1' });
  const started = await handlers.startPair(request as unknown as Parameters<typeof handlers.startPair>[0]);
  expect(started).toEqual({ json: { job_id: 'pair:A' }, headers: { Location: '/jobs/pair:A' } });
  expect(calls).toEqual([
    ['B', 'A', { unit: 'kg' }, { size: 2 }, '*', author, signal],
    [origin, signal],
  ]);
});
