import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Methodology } from '#contract/indices/methodology.js';
import type { WhatIfResponse } from '#contract/indices/what-if.js';
import type { IndexExplanation } from '#contract/indices/explanation.js';
import type { PreviewResponse } from '#contract/indices/preview.js';
import type { IndexCollection, IndexDeletion, RuleTypes, SavedIndex } from '#contract/indices/definition.js';
import type { ErrorDetail } from '#domain/refusal.js';
import { liveService, type LiveService } from '../../real/live.js';

let service: LiveService;
beforeAll(async () => {
  service = await liveService(['--workers', '1']);
});
afterAll(() => service.close());

/** The golden four with sectors, on their seven sessions. */
const CLOSES: Readonly<Record<string, readonly number[]>> = {
  A: [100, 102, 101, 104, 106, 103, 107],
  B: [200, 204, 101, 100, 103, 104, 102],
  C: [50, 51, 52, 51, 50, 52, 53],
  E: [20, 20, 21, 22, 21, 21, 22],
};
const SHARES: Readonly<Record<string, (t: number) => number>> = {
  A: () => 10,
  B: (t) => (t < 2 ? 3 : 6),
  C: () => 4,
  E: () => 5,
};
const DAYS = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08', '2024-01-09', '2024-01-10'];
const table = (columns: string[], data: unknown[][]) => ({ index: data.map((_, i) => i), columns, data });
const golden = {
  store_id: 'golden',
  name: 'golden',
  currency: 'USD',
  activate: true,
  tables: {
    market: table(
      ['identifier', 'date', 'CLOSE', 'SHARES_OUTSTANDING'],
      Object.entries(CLOSES).flatMap(([name, closes]) =>
        closes.map((close, t) => [name, DAYS[t], close, SHARES[name]!(t)]),
      ),
    ),
    reference: table(
      ['identifier', 'SECTOR'],
      [
        ['A', 'S1'],
        ['B', 'S1'],
        ['C', 'S2'],
        ['E', 'S2'],
      ],
    ),
    corporate_actions: table(['identifier', 'type', 'value', 'ex_date'], [['B', 'SPLIT', 2, '2024-01-04']]),
    universes: table(
      ['universe', 'identifier', 'start', 'end'],
      [
        ['PAIR', 'A', null, null],
        ['PAIR', 'C', null, '2024-01-08'],
        ['PAIR', 'E', '2024-01-08', null],
      ],
    ),
  },
};

const document = (id: string, rest: Record<string, unknown> = {}, pipeline: Record<string, unknown> = {}) => ({
  id,
  name: `Index ${id}`,
  calendar: 'XNYS',
  base_date: '2024-01-02',
  pipeline: {
    selection: [{ id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: 4 } }],
    weighting: { type: 'MarketCapWeight', params: {}, cap: 0.4 },
    ...pipeline,
  },
  ...rest,
});
const child = (id: string, source: string) => ({
  id,
  name: id,
  calendar: 'XNYS',
  base_date: '2024-01-02',
  derivation: { source_index_id: source },
});

const refused = async (method: string, path: string, body?: unknown) => {
  const answer = await service.ask<{ error: ErrorDetail }>(method, path, body);
  return { status: answer.status, ...answer.body.error };
};
const findings = (error: ErrorDetail) =>
  ((error.detail ?? {})['findings'] as { code: string; path: string }[]).map(({ code, path }) => `${code} ${path}`);
const ask = (method: string, path: string, body: unknown, headers: Record<string, string>) =>
  fetch(new URL(path, service.url), {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

describe('before any data store is served', () => {
  test('definitions can be stored and read, and previews say what is missing', async () => {
    await service.ok('POST', '/indices', document('EARLY'));
    expect(await refused('POST', '/indices/EARLY/preview', {})).toMatchObject({ status: 503, code: 'NO_DATA_SOURCE' });
    expect(await service.ok<Methodology>('GET', '/indices/EARLY/methodology')).toMatchObject({ index_id: 'EARLY' });
    await service.ok('DELETE', '/indices/EARLY');
  });
});

describe('storing definitions', () => {
  test('GET, PUT, GET is a fixed point with a strong etag', async () => {
    const saved = await service.ok<SavedIndex>('POST', '/indices', document('FIXED', { tags: ['x'] }));
    const first = await service.ask('GET', '/indices/FIXED');
    expect(first.body).toEqual(saved.index);
    await service.ok('PUT', '/indices/FIXED', first.body);
    const second = await service.ask('GET', '/indices/FIXED');
    expect(second.body).toEqual(first.body);
    const etag = first.headers.get('etag')!;
    expect(second.headers.get('etag')).toBe(etag);
    expect((await ask('GET', '/indices/FIXED', undefined, { 'if-none-match': etag })).status).toBe(304);
  });

  test('If-Match guards a change and a deletion', async () => {
    await service.ok('POST', '/indices', document('GUARDED'));
    const etag = (await service.ask('GET', '/indices/GUARDED')).headers.get('etag')!;
    expect(
      (await ask('PUT', '/indices/GUARDED', document('GUARDED', { name: 'Second' }), { 'if-match': etag })).status,
    ).toBe(200);
    expect(
      (await ask('PUT', '/indices/GUARDED', document('GUARDED', { name: 'Third' }), { 'if-match': etag })).status,
    ).toBe(412);
    expect((await ask('DELETE', '/indices/GUARDED', undefined, { 'if-match': etag })).status).toBe(412);
    expect(await service.ok('GET', '/indices/GUARDED')).toMatchObject({ name: 'Second' });
    expect((await ask('DELETE', '/indices/GUARDED', undefined, { 'if-match': '*' })).status).toBe(200);
  });

  test('PUT creates when there is nothing, and never under another id', async () => {
    expect((await service.ask('PUT', '/indices/MADE', document('MADE'))).status).toBe(200);
    expect(await refused('PUT', '/indices/MADE', document('OTHER'))).toMatchObject({
      status: 422,
      code: 'ID_MISMATCH',
    });
    expect(await refused('GET', '/indices/OTHER')).toMatchObject({ status: 404, code: 'INDEX_NOT_FOUND' });
  });

  test('POST on a taken id is refused with a finding and changes nothing', async () => {
    await service.ok('PUT', '/indices/TAKEN', document('TAKEN'));
    const error = await refused('POST', '/indices', document('TAKEN', { name: 'New' }));
    expect(error).toMatchObject({ status: 422, code: 'VALIDATION_FAILED' });
    expect(findings(error)).toEqual(['DUPLICATE_ID id']);
    expect(await service.ok('GET', '/indices/TAKEN')).toMatchObject({ name: 'Index TAKEN' });
  });

  test('words of the routes are no ids, and a method their route lacks is 405', async () => {
    expect(findings(await refused('POST', '/indices', document('preview')))).toEqual(['BAD_IDENTIFIER id']);
    const answer = await ask('GET', '/indices/preview', undefined, {});
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toContain('POST');
    expect((await ask('DELETE', '/indices/rule-types', undefined, {})).status).toBe(405);
  });

  test('a missing calendar is refused on create, update and validate alike', async () => {
    const { calendar: _, ...rest } = document('NOCAL');
    for (const [method, path] of [
      ['POST', '/indices'],
      ['PUT', '/indices/NOCAL'],
      ['POST', '/indices/validate'],
    ] as const) {
      const error = await refused(method, path, rest);
      expect(error).toMatchObject({ status: 422, code: 'VALIDATION_FAILED' });
      expect(findings(error)).toEqual(['REQUIRED calendar']);
    }
  });

  test('a report is valid exactly when the same body would be saved', async () => {
    const good = document('REPORTED', { colour: 'red' });
    expect(await service.ok('POST', '/indices/validate', good)).toMatchObject({
      valid: true,
      findings: [{ severity: 'warning', code: 'UNKNOWN_FIELD', path: 'colour' }],
    });
    expect((await service.ask('PUT', '/indices/REPORTED', good)).status).toBe(200);
    const bad = document('REPORTED', { base_value: 0 });
    expect(await service.ok('POST', '/indices/validate', bad)).toMatchObject({
      valid: false,
      findings: [{ code: 'OUT_OF_RANGE', path: 'base_value' }],
    });
    expect((await service.ask('PUT', '/indices/REPORTED', bad)).status).toBe(422);
  });

  test('a number beyond a double is named in the report', async () => {
    const answer = await fetch(new URL('/indices/validate', service.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(document('BIG', { base_value: 7 })).replace('"base_value":7', '"base_value":1e999'),
    });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      valid: false,
      findings: [{ code: 'OUT_OF_RANGE', path: 'base_value' }],
    });
  });

  test('the listing is sorted, and can be read in pieces', async () => {
    const whole = await service.ok<IndexCollection>('GET', '/indices');
    const ids = whole.indices.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted());
    expect(whole).toMatchObject({ skipped: 0, skipped_causes: { unreadable: 0, invalid: 0, unsupported: 0 } });
    const { indices } = await service.ok<IndexCollection>('GET', `/indices?limit=2&after=${ids[0]}`);
    expect(indices.map(({ id }) => id)).toEqual(ids.slice(1, 3));
    expect(indices[0]).toMatchObject({ kind: 'rule', source_index_id: null, has_run: false, run_at: null });
  });

  test('deleting an index takes its optimised children with it, depth first', async () => {
    await service.ok('POST', '/indices', document('FAMILY'));
    for (const [id, source] of [
      ['SON-B', 'FAMILY'],
      ['SON-A', 'FAMILY'],
      ['GRAND', 'SON-A'],
    ] as const)
      await service.ok('POST', '/indices', child(id, source));
    expect(findings(await refused('PUT', '/indices/SON-A', child('SON-A', 'SON-B')))).toEqual([
      'IMMUTABLE_FIELD derivation.source_index_id',
    ]);
    const { deleted } = await service.ok<IndexDeletion>('DELETE', '/indices/FAMILY');
    expect(deleted.map(({ index_id, derived_from }) => [index_id, derived_from])).toEqual([
      ['FAMILY', null],
      ['SON-A', 'FAMILY'],
      ['GRAND', 'SON-A'],
      ['SON-B', 'FAMILY'],
    ]);
    expect((await service.ask('GET', '/indices/GRAND')).status).toBe(404);
    expect(await refused('DELETE', '/indices/FAMILY')).toMatchObject({ status: 404, code: 'INDEX_NOT_FOUND' });
  });

  test('a derived index keeps its source, also when rules are to take the place of the derivation', async () => {
    for (const id of ['FIRST', 'SECOND']) await service.ok('POST', '/indices', document(id));
    await service.ok('POST', '/indices', child('FOLLOWS', 'FIRST'));
    expect(findings(await refused('PUT', '/indices/FOLLOWS', document('FOLLOWS')))).toEqual([
      'IMMUTABLE_FIELD derivation.source_index_id',
    ]);
    expect(findings(await refused('PUT', '/indices/FOLLOWS', child('FOLLOWS', 'SECOND')))).toEqual([
      'IMMUTABLE_FIELD derivation.source_index_id',
    ]);
    expect((await service.ask('GET', '/indices/FOLLOWS')).body).toMatchObject({
      derivation: { source_index_id: 'FIRST' },
    });
    await service.ok('DELETE', '/indices/FOLLOWS');
    await service.ok('POST', '/indices', child('FOLLOWS', 'SECOND'));
  });

  test('an index without a universe is shown with every name, which a derived one is not', async () => {
    const saved = await service.ok<SavedIndex>('POST', '/indices', document('WHOLE'));
    expect(saved.index).toMatchObject({ universe: { kind: 'all' } });
    expect((await service.ask('GET', '/indices/WHOLE')).body).toMatchObject({ universe: { kind: 'all' } });
    const derived = await service.ok<SavedIndex>('POST', '/indices', child('PART', 'WHOLE'));
    expect(derived.index).not.toHaveProperty('universe');
    expect((await service.ask('GET', '/indices/PART')).body).not.toHaveProperty('universe');
  });

  test('the catalogue is served as one list for each of its halves', async () => {
    const { selection, weighting } = await service.ok<RuleTypes>('GET', '/indices/rule-types');
    expect([selection.length, weighting.length]).toEqual([22, 11]);
  });
});

describe('previews', () => {
  beforeAll(async () => {
    await service.ok('POST', '/data/import', golden);
  });
  const preview = (body: Record<string, unknown>, asOf?: string) =>
    service.ok<PreviewResponse>('POST', '/indices/preview', {
      document: body,
      ...(asOf === undefined ? {} : { as_of: asOf }),
    });

  test('stored and as sent agree, at the base date unless another is given', async () => {
    await service.ok('PUT', '/indices/GOLD', document('GOLD'));
    const stored = await service.ok<PreviewResponse>('POST', '/indices/GOLD/preview');
    expect(await preview(document('GOLD'))).toEqual(stored);
    expect(stored).toMatchObject({
      index_id: 'GOLD',
      as_of: '2024-01-02',
      resolved_date: '2024-01-02',
      cap: 0.4,
      solve: null,
    });
    expect(stored.weights['C']).toBeCloseTo(0.13333333333333333, 14);
    expect(stored.total_weight).toBeCloseTo(1, 12);
    expect(stored.cap_redistributed).toBeCloseTo(0.12631578947368416, 14);
    expect(stored.assets.map(({ identifier, capped }) => [identifier, capped])).toEqual([
      ['A', true],
      ['B', false],
      ['C', false],
      ['E', false],
    ]);
    expect(stored.assets[0]).toMatchObject({ uncapped_weight: 0.5263157894736842, excluded_by: null });
  });

  test('a weekend resolves back, a day after the store to its last, a day before it to nothing', async () => {
    expect(await preview(document('X'), '2024-01-06')).toMatchObject({
      as_of: '2024-01-06',
      resolved_date: '2024-01-05',
    });
    expect(await preview(document('X'), '2030-01-01')).toMatchObject({ resolved_date: '2024-01-10' });
    expect(await preview(document('X'), '2023-12-31')).toEqual(
      expect.objectContaining({
        resolved_date: null,
        assets: [],
        weights: {},
        total_weight: 0,
        steps: [],
        solve: null,
      }),
    );
  });

  test('the waterfall tells who left where, excluded names in the order of steps', async () => {
    const answer = await preview(
      document(
        'W',
        {},
        {
          selection: [
            { id: 'sector', type: 'CategoryFilter', params: { field: 'SECTOR', include: ['S1', 'S2'] } },
            { id: 'dear', type: 'PriceFilter', params: { minimum: 30 } },
            { id: 'two', type: 'TopN', params: { count: 2 } },
          ],
          weighting: { type: 'FixedWeight', params: { weights: { A: 1 } } },
        },
      ),
    );
    expect(answer.steps).toEqual([
      { position: 0, remaining: 4, excluded: [], rule_id: null, rule_type: null },
      { position: 1, remaining: 4, excluded: [], rule_id: 'sector', rule_type: 'CategoryFilter' },
      { position: 2, remaining: 3, excluded: ['E'], rule_id: 'dear', rule_type: 'PriceFilter' },
      { position: 3, remaining: 2, excluded: ['C'], rule_id: 'two', rule_type: 'TopN' },
    ]);
    expect(
      answer.assets.map(({ identifier, included, weight, excluded_by, excluded_at }) => [
        identifier,
        included,
        weight,
        excluded_by,
        excluded_at,
      ]),
    ).toEqual([
      ['A', true, 1, null, null],
      ['E', false, null, 'dear', 2],
      ['C', false, null, 'two', 3],
      ['B', false, null, null, 4],
    ]);
    expect(answer.findings).toEqual([expect.objectContaining({ severity: 'warning', code: 'NO_WEIGHT_DATA' })]);
  });

  test('rules that keep nothing are legal: every name is excluded', async () => {
    const answer = await preview(
      document('N', {}, { selection: [{ id: 'none', type: 'PriceFilter', params: { minimum: 1e6 } }] }),
    );
    expect(answer).toMatchObject({ weights: {}, total_weight: 0, cap: null });
    expect(answer.assets.every(({ included, excluded_by }) => !included && excluded_by === 'none')).toBe(true);
  });

  test('named universes are read point in time, lists keep what the store holds, an index gives its constituents', async () => {
    const names = async (universe: unknown, asOf: string) =>
      Object.keys((await preview(document('U', { universe }), asOf)).weights).join('');
    expect(await names({ kind: 'named', id: 'PAIR' }, '2024-01-05')).toBe('AC');
    expect(await names({ kind: 'named', id: 'PAIR' }, '2024-01-08')).toBe('AE');
    expect(await names({ kind: 'list', identifiers: ['E', 'B', 'ABSENT'] }, '2024-01-08')).toBe('BE');
    await service.ok(
      'PUT',
      '/indices/TWO',
      document(
        'TWO',
        { rebalance: { frequency: 'custom', dates: ['2024-01-08'] } },
        { selection: [{ id: 'cheap', type: 'TopN', params: { field: 'CLOSE', count: 2, ascending: true } }] },
      ),
    );
    expect(await names({ kind: 'index', id: 'TWO' }, '2024-01-10')).toBe('CE');
    expect(
      findings(
        await refused('POST', '/indices/preview', {
          document: document('U', { universe: { kind: 'named', id: 'NONE' } }),
        }),
      ),
    ).toEqual(['UNKNOWN_IDENTIFIER universe.id']);
  });

  test('group caps and floors are held, and impossible ones refused', async () => {
    const weighting = (rest: Record<string, unknown>) =>
      document('G', {}, { weighting: { type: 'MarketCapWeight', ...rest } });
    const { weights } = await preview(weighting({ group_caps: [{ field: 'SECTOR', cap: 0.6 }] }));
    expect(weights['A']! + weights['B']!).toBeCloseTo(0.6, 12);
    const floored = await preview(weighting({ floor: 0.1 }));
    expect(Math.min(...Object.values(floored.weights))).toBeCloseTo(0.1, 14);
    expect(
      findings(
        await refused('POST', '/indices/preview', {
          document: weighting({ group_caps: [{ field: 'SECTOR', cap: 0.3 }] }),
        }),
      ),
    ).toEqual(['CAP_INFEASIBLE pipeline.weighting.group_caps']);
  });

  test('what the store lacks is an error now, and was a warning at the save', async () => {
    const body = document('LACKS', {}, { weighting: { type: 'FieldWeight', params: { field: 'EARNINGS' } } });
    const saved = await service.ok<SavedIndex>('PUT', '/indices/LACKS', body);
    expect(saved.findings).toEqual([
      expect.objectContaining({
        severity: 'warning',
        code: 'UNKNOWN_FIELD_NAME',
        path: 'pipeline.weighting.params.field',
      }),
    ]);
    const error = await refused('POST', '/indices/LACKS/preview', {});
    expect([error.status, error.code, ...findings(error)]).toEqual([
      422,
      'VALIDATION_FAILED',
      'UNKNOWN_FIELD_NAME pipeline.weighting.params.field',
    ]);
  });

  test('an index of which no survivor has a weight is refused as empty', async () => {
    const body = document('EMPTY', {}, { weighting: { type: 'FixedWeight', params: { weights: { ZZ: 1 } } } });
    expect(await refused('POST', '/indices/preview', { document: body })).toMatchObject({
      status: 422,
      code: 'EMPTY_INDEX',
    });
  });

  test('bad requests are told where they are bad', async () => {
    expect(findings(await refused('POST', '/indices/preview', { as_of: '2024-01-02' }))).toEqual(['REQUIRED document']);
    expect(
      findings(await refused('POST', '/indices/preview', { document: document('X'), as_of: '2024-02-30' })),
    ).toEqual(['BAD_DATE as_of']);
    expect(findings(await refused('POST', '/indices/preview', { document: document('X'), when: 1 }))).toEqual([
      'UNKNOWN_FIELD when',
    ]);
    expect(findings(await refused('POST', '/indices/preview', { document: document('X', { base_value: 0 }) }))).toEqual(
      ['OUT_OF_RANGE base_value'],
    );
    expect(await refused('POST', '/indices/NOBODY/preview', {})).toMatchObject({
      status: 404,
      code: 'INDEX_NOT_FOUND',
    });
    expect(findings(await refused('POST', '/indices/GOLD/preview', { asof: '2024-01-02' }))).toEqual([
      'UNKNOWN_FIELD asof',
    ]);
  });
});

describe('explanations', () => {
  test('the parts replayed by hand give the applied weight', async () => {
    await service.ok(
      'PUT',
      '/indices/WHY',
      document('WHY', { rebalance: { frequency: 'custom', dates: ['2024-01-08'] } }),
    );
    for (const [name, weight] of [
      ['A', 0.4],
      ['B', 0.4],
      ['C', 0.1311475409836065],
      ['E', 0.06885245901639342],
    ] as const) {
      const told = await service.ok<IndexExplanation>('GET', `/indices/WHY/explain/${name}?as_of=2024-01-09`);
      expect(told).toMatchObject({
        requested_as_of: '2024-01-09',
        as_of: '2024-01-09',
        rebalance_date: '2024-01-08',
        decision_date: '2024-01-08',
        in_universe: true,
        included: true,
        excluded_by: null,
      });
      const { raw, raw_total, uncapped_weight } = told.weighting!;
      const { cap, floor, scale, rounds } = told.capping!;
      expect(raw).toBe(CLOSES[name]![4]! * SHARES[name]!(4));
      expect(raw / raw_total).toBe(uncapped_weight);
      expect(Math.abs(Math.min(cap!, Math.max(floor, scale * uncapped_weight)) - told.weight!)).toBeLessThan(1e-12);
      expect(told.weight).toBeCloseTo(weight, 14);
      const joined = rounds.findIndex(({ capped }) => capped.includes(name));
      expect(joined >= 0).toBe(told.capping!.capped);
      expect(told.datapoints).toContainEqual({
        path: 'pipeline.selection[0].params.field',
        field: 'MARKET_CAP',
        value: raw,
        from: '2024-01-08',
        to: '2024-01-08',
        observations: 1,
      });
      const growth = CLOSES[name]![5]! / CLOSES[name]![4]!;
      const total = ['A', 'B', 'C', 'E'].reduce(
        (sum, other) =>
          sum +
          ({ A: 0.4, B: 0.4, C: 0.1311475409836065, E: 0.06885245901639342 } as Record<string, number>)[other]! *
            (CLOSES[other]![5]! / CLOSES[other]![4]!),
        0,
      );
      expect(told.drift!.held_weight).toBeCloseTo((weight * growth) / total, 12);
    }
  });

  test('an excluded name is told its rank, the cut-off and how far it was away', async () => {
    await service.ok(
      'PUT',
      '/indices/WHY-NOT',
      document('WHY-NOT', {}, { selection: [{ id: 'two', type: 'TopN', params: { field: 'CLOSE', count: 2 } }] }),
    );
    const told = await service.ok<IndexExplanation>('GET', '/indices/WHY-NOT/explain/C?as_of=2024-01-02');
    expect(told).toMatchObject({
      included: false,
      excluded_by: 'two',
      weight: null,
      weighting: null,
      capping: null,
      drift: null,
    });
    expect(told.rules).toEqual([
      expect.objectContaining({
        rule_id: 'two',
        kept: false,
        value: 50,
        rank: 3,
        cutoff: 2,
        threshold: 100,
        distance: 50,
      }),
    ]);
  });

  test('dates before the index, and names the store does not hold, are refused', async () => {
    expect(await refused('GET', '/indices/WHY/explain/A?as_of=2023-12-01')).toMatchObject({ status: 422 });
    expect(await refused('GET', '/indices/WHY/explain/NOBODY')).toMatchObject({
      status: 404,
      code: 'IDENTIFIER_NOT_FOUND',
    });
    expect(await refused('GET', '/indices/NONE/explain/A')).toMatchObject({ status: 404, code: 'INDEX_NOT_FOUND' });
  });
});

describe('what if', () => {
  test('a patch of a stored index tells names added, removed and changed, and stores nothing', async () => {
    await service.ok(
      'PUT',
      '/indices/BASE',
      document(
        'BASE',
        {},
        {
          selection: [{ id: 'two', type: 'TopN', params: { field: 'CLOSE', count: 2 } }],
          weighting: { type: 'EqualWeight' },
        },
      ),
    );
    const before = await service.ask('GET', '/indices/BASE');
    const told = await service.ok<WhatIfResponse>('POST', '/indices/whatif', {
      index_id: 'BASE',
      as_of: '2024-01-02',
      patch: {
        pipeline: { selection: [{ id: 'three', type: 'TopN', params: { field: 'CLOSE', count: 3, ascending: true } }] },
      },
    });
    expect(told).toMatchObject({
      as_of: '2024-01-02',
      resolved_date: '2024-01-02',
      before: { constituents: 2, largest: 0.5, effective_assets: 2 },
      after: { constituents: 3 },
    });
    expect(told.added.map(({ identifier }) => identifier)).toEqual(['C', 'E']);
    expect(told.removed).toEqual([{ identifier: 'B', before: 0.5, after: 0, change: -0.5 }]);
    expect(told.changed.map(({ identifier }) => identifier)).toEqual(['A']);
    expect(told.turnover).toBeCloseTo(2 / 3, 14);
    expect((await service.ask('GET', '/indices/BASE')).headers.get('etag')).toBe(before.headers.get('etag'));
  });

  test('two documents as sent are compared on the last day of the store', async () => {
    const told = await service.ok<WhatIfResponse>('POST', '/indices/whatif', {
      document: document('P'),
      changed: document('Q', {}, { weighting: { type: 'MarketCapWeight', cap: 0.3 } }),
    });
    expect(told).toMatchObject({
      as_of: '2024-01-10',
      before: { index_id: 'P', cap: 0.4 },
      after: { index_id: 'Q', cap: 0.3 },
      added: [],
      removed: [],
    });
    expect(told.turnover).toBeCloseTo(told.changed.reduce((sum, { change }) => sum + Math.abs(change), 0) / 2, 14);
  });

  test('exactly one base and one change are needed, and the changed document must be valid', async () => {
    expect(findings(await refused('POST', '/indices/whatif', { index_id: 'BASE' }))).toEqual(['REQUIRED patch']);
    expect(
      findings(await refused('POST', '/indices/whatif', { index_id: 'BASE', document: document('X'), patch: {} })),
    ).toEqual(['REQUIRED index_id']);
    expect(
      findings(
        await refused('POST', '/indices/whatif', { index_id: 'BASE', patch: { pipeline: { weighting: { cap: 7 } } } }),
      ),
    ).toEqual(['OUT_OF_RANGE pipeline.weighting.cap']);
    expect(await refused('POST', '/indices/whatif', { index_id: 'NONE', patch: {} })).toMatchObject({
      status: 404,
      code: 'INDEX_NOT_FOUND',
    });
  });
});

describe('the methodology', () => {
  test('numbered sentences hold every parameter of the definition', async () => {
    await service.ok(
      'PUT',
      '/indices/TOLD',
      document(
        'TOLD',
        {
          rebalance: {
            frequency: 'semi_annual',
            anchor: 'nth_weekday',
            nth: 3,
            weekday: 4,
            months: [5, 11],
            roll: 'preceding',
            effective_lag: 2,
          },
          base_value: 1234,
          universe: { kind: 'named', id: 'PAIR' },
        },
        {
          selection: [
            {
              id: 'liquid',
              type: 'LiquidityFilter',
              params: { minimum: 777, window: 33, statistic: 'mean', incumbent_minimum: 555 },
            },
          ],
          treatment: { dividends: 'net', withholding_tax: 0.15 },
          weighting: {
            type: 'FieldWeight',
            params: { field: 'CLOSE', power: 0.5 },
            cap: 0.35,
            floor: 0.01,
            group_caps: [{ field: 'SECTOR', cap: 0.7, groups: ['S1'] }],
          },
        },
      ),
    );
    const { sentences } = await service.ok<Methodology>('GET', '/indices/TOLD/methodology');
    expect(sentences.map(({ number }) => number)).toEqual(sentences.map((_, i) => i + 1));
    const text = sentences.map((sentence) => sentence.text).join(' ');
    for (const part of [
      '1234',
      'PAIR',
      'Rule liquid',
      '777',
      '33 sessions',
      'mean',
      '555',
      'third Friday',
      'May, November',
      '2 sessions before',
      '0.15',
      '0.5',
      '0.35',
      '0.01',
      'S1',
      '0.7',
    ])
      expect(text).toContain(part);
  });
});
