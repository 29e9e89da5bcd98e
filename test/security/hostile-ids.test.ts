import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLiveService, type LiveService } from '../real/live.js';
import { createFrame } from '../table-frame.js';

/**
 * Identifiers with a meaning for JavaScript objects. They must behave like any identifier. A market is imported twice,
 * with harmless identifiers and with these in the same order. The responses must be equal except for the identifiers.
 */
const HOSTILE = [
  '__defineGetter__',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'length',
  'prototype',
  'toString',
  'valueOf',
];
const HARMLESS_NAMES = HOSTILE.map((_, i) => `N${i}-`.padEnd(12, 'x'));

const DAYS = Array.from({ length: 60 }, (_, i) =>
  new Date(Date.UTC(2024, 0, 2 + i + 2 * Math.floor((i + 1) / 5))).toISOString().slice(0, 10),
).filter((day) => !['2024-01-15', '2024-02-19'].includes(day));

function createTables(names: readonly string[]) {
  const rows = DAYS.flatMap((day, t) =>
    names.map((name, i) => [name, day, 100 + 10 * i + ((t * (i + 3)) % 7), 1e6 * (i + 1)]),
  );
  return {
    market: createFrame(['identifier', 'date', 'CLOSE', 'MARKET_CAP'], rows),
    reference: {
      index: names.map((_, i) => i),
      columns: ['identifier', 'SECTOR'],
      data: names.map((name, i) => [name, names[i % 3]]),
    },
  };
}

const services: LiveService[] = [];
beforeAll(async () => {
  for (const names of [HARMLESS_NAMES, HOSTILE]) {
    const service = await openLiveService(['--workers', '1']);
    services.push(service);
    await service.ok('POST', '/data/import', {
      store_id: 'market',
      name: 'Names',
      activate: true,
      tables: createTables(names),
    });
    const createIndexBody = (id: string, weighting: object, selection: readonly object[] = []) => ({
      id,
      name: id,
      calendar: 'XNYS',
      base_date: DAYS[0],
      rebalance: { frequency: 'monthly' },
      pipeline: { selection, weighting },
    });
    await service.ok(
      'PUT',
      '/indices/constructor',
      createIndexBody('constructor', { type: 'MarketCapWeight', cap: 0.25 }),
    );
    await service.ok(
      'PUT',
      '/indices/__proto__',
      createIndexBody('__proto__', { type: 'EqualWeight', group_caps: [{ field: 'SECTOR', cap: 0.5 }] }, [
        { id: 'valueOf', type: 'ExcludeList', params: { identifiers: [names[2]] } },
      ]),
    );
    await service.job('/analytics/constructor/backtest', {
      benchmark: { id: '__proto__', kind: 'index' },
      transaction_cost_bps: 3,
    });
    await service.job('/analytics/__proto__/backtest', {});
    await service.job('/risk-models/__proto__/estimate', { index_id: 'constructor' });
    await service.ok('PUT', '/data/watchlists/toString', { name: 'Own', identifiers: names.slice(0, 3) });
  }
});
afterAll(() => Promise.all(services.map((service) => service.close())));

/** Returns a response without times. Hostile identifiers replace the harmless ones. */
function exchangeIdentifiers(text: string): unknown {
  const hostileText = HARMLESS_NAMES.reduce((changedText, name, i) => changedText.replaceAll(name, HOSTILE[i]!), text);
  return removeTimes(JSON.parse(hostileText) as unknown);
}

const TIMES = /(?:^|_)(?:at|age|refreshed|bytes|hash|id|seconds|sha256|location|etag)$/;

/** Returns a value as sorted pairs. So all own keys of an object are compared, including `__proto__`. */
function removeTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(removeTimes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .filter(([key]) => !TIMES.test(key))
    .map(([key, member]) => [key, removeTimes(member)]);
}

describe('hostile ids get the same answers as harmless ids', () => {
  test.each([
    '/indices/constructor',
    '/indices/__proto__',
    '/indices',
    '/analytics/constructor/record',
    '/analytics/constructor/overview',
    '/analytics/constructor/weights?risk=true&benchmark=__proto__',
    '/analytics/__proto__/weights?risk=true',
    '/analytics/constructor/attribution',
    '/analytics/constructor/factor-risk?benchmark=__proto__',
    '/analytics/compare?ids=constructor,__proto__',
    '/analytics/constructor/levels',
    '/risk-models/__proto__',
    '/risk-models',
    '/data/watchlists/toString',
    '/data/watchlists',
    '/data/coverage',
    '/data/identifiers?limit=20',
    `/data/reference?identifiers=NAME0,NAME1,NAME5`,
    '/analytics/constructor/assets/NAME1',
    '/data/prices/NAME1',
    '/data/reference/NAME1',
    '/data/corporate-actions/NAME2',
    '/indices/constructor/explain/NAME1',
    '/indices/constructor/methodology',
  ])('%s', async (path) => {
    const [harmless, hostile] = await Promise.all(
      services.map(async (service, i) => {
        const names = [HARMLESS_NAMES, HOSTILE][i]!;
        const answer = await fetch(
          service.url + path.replaceAll(/NAME(\d)/g, (_, position: string) => names[Number(position)]!),
        );
        return { status: answer.status, text: await answer.text() };
      }),
    );
    expect([harmless!.status, hostile!.status]).toEqual([200, 200]);
    expect(removeTimes(JSON.parse(hostile!.text))).toEqual(exchangeIdentifiers(harmless!.text));
    if (harmless!.text.includes(HARMLESS_NAMES[1]!)) expect(hostile!.text).toContain('__proto__');
  });

  test('of a preview and a what-if', async () => {
    for (const [path, body] of [
      ['/indices/constructor/preview', {}],
      ['/indices/whatif', { index_id: 'constructor', patch: { pipeline: { weighting: { cap: 0.2 } } } }],
    ] as const) {
      const [harmless, hostile] = await Promise.all(services.map((service) => service.ok('POST', path, body)));
      expect(removeTimes(hostile)).toEqual(exchangeIdentifiers(JSON.stringify(harmless)));
    }
  });
});

test('no object of the process has a new property', () => {
  expect([
    ({} as Record<string, unknown>)['polluted'],
    Object.keys(Object.prototype),
    Object.getPrototypeOf({}) === Object.prototype,
  ]).toEqual([undefined, [], true]);
});

test('a body cannot write a prototype, by its name or by its escapes', async () => {
  for (const text of [
    '{"name":"x","identifiers":[],"__proto__":{"polluted":true}}',
    '{"name":"x","identifiers":[],"\\u005f_proto__":{"polluted":true}}',
  ]) {
    const answer = await services[0]!.ask('PUT', '/data/watchlists/mine', text);
    expect(answer.status).toBe(400);
  }
  const answer = await services[0]!.ask(
    'PUT',
    '/data/watchlists/mine',
    '{"name":"x","identifiers":[],"constructor":{"prototype":{"polluted":true}}}',
  );
  expect(answer.status).toBe(422);
});

/** Returns copies of a body. In each copy one object has members with the inherited names. */
function addInherited(body: unknown): unknown[] {
  const inheritedMembers = { constructor: [], hasOwnProperty: [], toString: null, valueOf: {} };
  if (Array.isArray(body))
    return body.flatMap((item, i) => addInherited(item).map((changedItem) => body.with(i, changedItem)));
  if (typeof body !== 'object' || body === null) return [];
  const inner = Object.entries(body).flatMap(([name, member]) =>
    addInherited(member).map((changedItem) => ({ ...body, [name]: changedItem })),
  );
  return [{ ...body, ...inheritedMembers }, ...inner];
}

test('a body with inherited names as members, anywhere, is refused and is no defect', async () => {
  const { paths } = await services[0]!.ok<{ paths: Record<string, Record<string, Operation>> }>('GET', '/openapi.json');
  delete paths['/mcp']; // its errors are those of JSON-RPC, which the agent tests check
  const asks = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) =>
      addInherited(requestBody?.content['application/json']?.example).map((body) => ({ path, method, body })),
    ),
  );
  expect(asks.length).toBeGreaterThan(100);
  const failures: string[] = [];
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let ask = asks.pop(); ask !== undefined; ask = asks.pop()) {
        const path = ask.path.replaceAll(/\{\w+\}/g, 'constructor');
        const { status } = await services[0]!.ask(ask.method.toUpperCase(), path, JSON.stringify(ask.body));
        if (status >= 500 && status !== 501 && status !== 503) failures.push(`${status} ${ask.method} ${path}`);
      }
    }),
  );
  expect(failures).toEqual([]);
});

interface Operation {
  readonly requestBody?: { readonly content: { readonly 'application/json'?: { readonly example?: unknown } } };
}
