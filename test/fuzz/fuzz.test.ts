import { fc } from '../fast-check.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API } from '#contract/api.js';
import { createJudge } from './judge.js';
import { createRequests } from './request-arbitrary.js';
import type { Client } from './clients.js';
import { KEPT_NAME, openScene, type Scene } from './scene.js';
import { openWire, type Wire, type WireRequest } from './wire.js';
import { getApiDocument } from '../contract/api-document.js';

/**
 * Number of requests that are sent to a whole service. They are derived from the OpenAPI document and are valid, nearly
 * valid or hostile. Every response must be declared, no connection may break, and no defect may be logged.
 * `FUZZ_REQUESTS=100000` sends more. `FUZZ_SEED` repeats a test.
 */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 120);
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_261_120);
/** Number of concurrent requests. */
const AT_ONCE = 16;
/** Number of requests after which the documents are restored. Some requests delete what other requests read. */
const RESTORE_AFTER = 1500;
/** Number of incorrect responses after which the test stops. */
const BROKEN_MAX = 200;

describe.each(['anybody', 'teams'] as const)('requested by %s', (access) => {
  let scene: Scene;
  let wire: Wire;
  beforeAll(async () => {
    scene = await openScene(access);
    wire = openWire(scene.url, AT_ONCE);
  });
  afterAll(async () => {
    wire?.close();
    await scene?.close();
  });

  test(
    `${REQUESTS} requests are answered as the OpenAPI document declares (FUZZ_SEED=${SEED})`,
    { timeout: 120_000 + REQUESTS * 40 },
    async () => {
      const judge = createJudge();
      const requests = createRequests(JSON.parse(JSON.stringify(getApiDocument())) as never, scene.vocabulary);
      const tally = new Map<number, number>();
      const reachedRoutes = new Set<string>();
      const slowest: { readonly ms: number; readonly request: WireRequest }[] = [];
      const violations: string[] = [];
      let sentCount = 0;

      async function ask(wireRequest: WireRequest, { name, headers, isLimited }: Client): Promise<void> {
        const request = { ...wireRequest, headers: { ...headers, ...wireRequest.headers } };
        try {
          const answer = await wire.send(request);
          tally.set(answer.status, (tally.get(answer.status) ?? 0) + 1);
          if (answer.status < 300) reachedRoutes.add(request.operation);
          slowest.push({ ms: answer.ms, request });
          slowest.sort((a, b) => b.ms - a.ms).splice(5);
          const isShown =
            isLimited && answer.body.includes(KEPT_NAME) && wireRequest.body?.includes(KEPT_NAME) !== true;
          const faults = [...judge(request, answer), ...(isShown ? [`${name} is shown a document of others`] : [])];
          if (faults.length > 0)
            violations.push(
              `${faults.slice(0, 4).join('\n  ')}\n  ${describeRequest(request)}\n  ${answer.body.toString('utf8').slice(0, 600)}`,
            );
        } catch (failure) {
          violations.push(
            `${failure instanceof Error ? `${failure.name}: ${failure.message}` : String(failure)}\n  ${describeRequest(request)}`,
          );
        }
      }

      const startMs = performance.now();
      for (let part = 0; sentCount < REQUESTS && violations.length < BROKEN_MAX; part++) {
        const queue = fc.sample(requests, {
          seed: SEED + part,
          numRuns: Math.min(RESTORE_AFTER, REQUESTS - sentCount),
        });
        sentCount += queue.length;
        const sendQueuedRequests = async () => {
          for (let request = queue.pop(); request !== undefined; request = queue.pop())
            await ask(request, scene.clients[queue.length % scene.clients.length]!);
        };
        await Promise.all(Array.from({ length: AT_ONCE }, sendQueuedRequests));
        if (sentCount < REQUESTS) await scene.restore();
      }
      const seconds = (performance.now() - startMs) / 1000;
      const countsText = [...tally]
        .toSorted(([a], [b]) => a - b)
        .map(([status, count]) => `${status}: ${count}`)
        .join(', ');
      const slowRequests = slowest
        .map(({ ms, request }) => `${ms.toFixed(0)} ms ${request.method} ${request.path.slice(0, 120)}`)
        .join('\n  ');
      const missedRoutes = Object.keys(API)
        .filter((id) => !reachedRoutes.has(id))
        .join(', ');
      console.log(
        `${sentCount} requests by ${access} in ${seconds.toFixed(1)} s; without a success: ${missedRoutes || 'none'}\n  ${countsText}\n  slowest:\n  ${slowRequests}`,
      );
      expect(`${violations.length} broken\n${violations.slice(0, 12).join('\n')}`).toBe('0 broken\n');
      expect(scene.defects).toEqual([]);
    },
  );
});

function describeRequest({ method, path, headers, body }: WireRequest): string {
  const shownBody =
    body === undefined
      ? ''
      : ` ${JSON.stringify(body.slice(0, 700))}${body.length > 700 ? `... (${body.length})` : ''}`;
  return `${method} ${path.slice(0, 400)} ${JSON.stringify(headers).slice(0, 300)}${shownBody}`;
}
