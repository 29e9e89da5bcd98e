import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { pino } from 'pino';
import type { Health } from '#contract/service.js';
import { defineRoutes } from '#contract/route.js';
import { refuseWhileResuming } from '#domain/definition/datasets.js';
import type { ErrorDetail } from '#domain/base/refusals.js';
import { createApp } from '#http/app.js';
import { createServedMarkets } from '#market/serve/served-markets.js';
import { pauseReaders } from '../../market/process/reading-processes.js';
import { runService, type RunningService } from '../running-service.js';
import { createEqualIndex } from '../../equal-index.js';

describe('after a restart', () => {
  let service: RunningService;
  beforeEach(async () => {
    service = await runService();
    const data = ['2024-01-02', '2024-01-03'].map((day, t) => ['A', day, 10 + t]);
    await service.ask('POST', '/data/import', {
      store_id: 'held',
      name: 'held',
      tables: { market: { index: [0, 1], columns: ['identifier', 'date', 'CLOSE'], data } },
      activate: true,
    });
  });
  afterEach(() => service.close());

  test('the service is ready only after its data, and earlier requests are answered from that data', async () => {
    const resumeReaders = pauseReaders();
    onTestFinished(resumeReaders);
    await service.restart();
    const earlyAnswers = [
      service.ask('GET', '/data/prices/A'),
      service.ask('GET', '/data/reference?identifiers=A&fields=CLOSE'),
      service.ask('GET', '/data/source'),
      service.ask('GET', '/data/coverage'),
      service.ask('POST', '/risk-models/m/estimate', { identifiers: ['NOBODY'] }),
      service.ask('PUT', '/data/watchlists/w', { name: 'w', identifiers: ['A', 'B'] }),
      service.ask(
        'POST',
        '/indices/validate',
        createEqualIndex('X', { base_date: '2024-01-02', universe: { kind: 'named', id: 'NONE' } }),
      ),
    ] as const;
    const [ready, health] = await Promise.all([
      service.ask<{ error: ErrorDetail }>('GET', '/health/ready'),
      service.ask<Health>('GET', '/health'),
    ]).finally(resumeReaders);
    const [prices, reference, source, coverage, estimate, watchlist, validation] = await Promise.all(earlyAnswers);
    expect([ready.status, ready.body.error.code]).toEqual([503, 'STORE_UNAVAILABLE']);
    expect(health.body.checks.find(({ name }) => name === 'data')).toEqual({
      name: 'data',
      ok: false,
      warning: false,
      message: 'The data store held is loading after a restart.',
    });
    expect(prices.status).toBe(200);
    expect(reference.body).toMatchObject({ entries: [{ found: true, fields: { CLOSE: 11 } }] });
    expect(source.body).toEqual({ configured: true, identifiers: 1 });
    expect(coverage.body).toMatchObject({ identifiers_union: 1 });
    expect(estimate.body).not.toMatchObject({ error: { code: 'NO_DATA_SOURCE' } });
    expect(watchlist.body).toMatchObject({ unknown: ['B'] });
    expect(JSON.stringify(validation.body)).toContain('NONE');
    expect((await service.ask('GET', '/health/ready')).status).toBe(200);
  });

  test('a change to the earlier store waits for it, and has the same refusal or success as later', async () => {
    const resumeReaders = pauseReaders();
    onTestFinished(resumeReaders);
    await service.restart();
    const earlyAnswers = [
      service.refusal('POST', '/data/stores/held/activate'),
      service.refusal('POST', '/data/sync'),
    ] as const;
    const view = service.ask<{ status: string }>('GET', '/data/stores/held');
    const second = service.ask<{ status: string }>('POST', '/data/synthetic', {
      store_id: 'second',
      assets: 1,
      activate: true,
    });
    expect((await view).body.status).toBe('loading');
    resumeReaders();
    const [activation, sync] = await Promise.all(earlyAnswers);
    expect(activation).toMatchObject({ status: 409, code: 'STORE_ACTIVE' });
    expect(sync).toMatchObject({ status: 409, code: 'NOTHING_TO_REFRESH' });
    expect((await second).status).toBe(202);
    expect((await service.waitForJob('generate:second')).status).toBe('succeeded');
  });

  test('the service is ready once its data is known to be unreadable, and reports what could not be read and why', async () => {
    const { body } = await service.ask<{ location: string }>('GET', '/data/stores/held');
    const awayFolder = join(service.root, 'away');
    await rename(body.location, awayFolder);
    await service.restart();
    const refusal = await service.refusal('GET', '/data/prices/A');
    const store = await service.ask<{ status: string; error: ErrorDetail }>('GET', '/data/stores/held');
    expect(store.body).toMatchObject({ status: 'error' });
    expect(refusal).toMatchObject({
      status: 503,
      code: 'NO_DATA_SOURCE',
      detail: { store_id: 'held', error: store.body.error },
    });
    expect(refusal.message).toContain(`The active data store held could not be read: ${store.body.error.message}`);
    expect((await service.ask('GET', '/health/ready')).status).toBe(200);
    const check = { name: 'active_store', ok: false, warning: false, message: refusal.message };
    expect((await service.ask<Health>('GET', '/health')).body).toMatchObject({
      status: 'degraded',
      reason: 'Checks that fail: active_store.',
      checks: expect.arrayContaining([check]) as unknown[],
    });
    await rename(awayFolder, body.location);
    expect((await service.ask('POST', '/data/stores/held/activate')).status).toBeLessThan(300);
    await service.waitForJob('load:held');
    expect((await service.ask('GET', '/data/prices/A')).status).toBe(200);
  });

  test('a service that served nothing before is ready at once', async () => {
    const emptyService = await runService();
    try {
      expect((await emptyService.ask('GET', '/health/ready')).status).toBe(200);
      expect(await emptyService.refusal('GET', '/data/prices/A')).toMatchObject({
        status: 503,
        code: 'NO_DATA_SOURCE',
      });
    } finally {
      await emptyService.close();
    }
  });
});

test('a request waits two seconds for data that is being read, and is then asked to retry', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const markets = createServedMarkets();
    markets.expect('slow');
    const api = defineRoutes('t', {
      ask: {
        method: 'GET',
        path: '/ask',
        scope: 'open',
        summary: 's',
        errors: ['NO_DATA_SOURCE'],
        success: { status: 200, description: 'd' },
      },
      change: {
        method: 'POST',
        path: '/change',
        scope: 'open',
        summary: 's',
        errors: ['STORE_LOADING'],
        success: { status: 202, description: 'd' },
      },
    });
    const app = createApp({
      api,
      handlers: {
        ask: () => ({ json: markets.require().loadedAt }),
        change: () => {
          throw refuseWhileResuming('slow');
        },
      },
      authenticate: () => ({ keyId: null, name: null, scopes: new Set() }),
      version: '1.0.0',
      log: pino({ level: 'silent' }),
      dataSettled: () => markets.settled(),
      dataWaitMs: 2000,
    });
    let answer: Response | undefined;
    const changes: Response[] = [];
    const answering = Promise.resolve(app.fetch(new Request('http://localhost/ask'))).then(
      (response) => (answer = response),
    );
    const change = new Request('http://localhost/change', { method: 'POST' });
    const changeRequest = Promise.resolve(app.fetch(change)).then((response) => (changes.push(response), response));
    await vi.advanceTimersByTimeAsync(1999);
    expect([answer, changes]).toEqual([undefined, []]);
    await vi.advanceTimersByTimeAsync(1);
    await answering;
    const reply = await changeRequest;
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([409, '5']);
    expect(await reply.json()).toMatchObject({ error: { code: 'STORE_LOADING', detail: { store_id: 'slow' } } });
    expect([answer?.status, answer?.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await answer?.json()).toMatchObject({
      error: { code: 'STORE_UNAVAILABLE', detail: { store_id: 'slow', status: 'loading' } },
    });
  } finally {
    vi.useRealTimers();
  }
});
