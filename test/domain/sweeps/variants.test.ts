import { describe, expect, test } from 'vitest';
import { IndexDocument } from '#domain/definition/index-document.js';
import { readIndex, validateIndex } from '#domain/definition/index-validation.js';
import {
  applyPatch,
  checkVariantCount,
  countVariants,
  type DocumentCheck,
  listPatches,
  parsePointer,
  type Patch,
  setMember,
  SweepRequest,
} from '#domain/studies/sweep.js';
import { CALENDARS } from '../rules/rule-market.js';

describe('JSON pointers', () => {
  /** Examples of RFC 6901, section 5. */
  test.each([
    ['', []],
    ['/foo', ['foo']],
    ['/foo/0', ['foo', '0']],
    ['/', ['']],
    ['/a~1b', ['a/b']],
    ['/c%d', ['c%d']],
    ['/m~0n', ['m~n']],
    ['/~01', ['~1']],
  ])('%s is read', (text, tokens) => {
    expect(parsePointer(text)).toEqual(tokens);
  });

  test.each(['foo', '/a~2', '/a~'])('%s is none', (text) => {
    expect(parsePointer(text)).toBeUndefined();
  });

  test('members and elements are replaced or added, but missing parents are not created', () => {
    const target = { a: { b: 1 }, list: [1, 2] };
    for (const [pointer, value] of [
      ['/a/b', 2],
      ['/a/c', 3],
      ['/list/0', 9],
      ['/list/2', 8],
      ['/list/-', 7],
    ] as const)
      expect(setMember(target, parsePointer(pointer)!, value)).toBeUndefined();
    expect(target).toEqual({ a: { b: 2, c: 3 }, list: [9, 2, 8, 7] });
    expect(setMember(target, parsePointer('/x/y')!, 1)).toEqual({ at: '/x' });
    expect(setMember(target, parsePointer('/list/9')!, 1)).toEqual({ at: '/list/9' });
    expect(setMember(target, parsePointer('/list/01')!, 1)).toEqual({ at: '/list/01' });
    expect(setMember(target, parsePointer('/a/b/c')!, 1)).toEqual({ at: '/a/b' });
    expect(setMember(target, parsePointer('/__proto__/polluted')!, 1)).toEqual({ at: '/__proto__' });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

const document = IndexDocument.parse({
  id: 'X',
  name: 'X',
  calendar: 'XNYS',
  base_date: '2020-01-02',
  universe: { kind: 'all' },
  pipeline: { weighting: { type: 'EqualWeight' } },
});
const base = {
  document,
  request: { start: null, end: null, initial_capital: 1_000_000, transaction_cost_bps: 0 },
  strategy: null,
};

describe('variants', () => {
  const check = (body: unknown) => ({ document: readIndex(body), findings: [] });
  const apply = (patch: Patch) => applyPatch(base, patch, { path: 'patches[0]', check });

  test('a grid is every combination, its last pointer varying fastest', () => {
    const grid = { '/request/transaction_cost_bps': [0, 5], '/document/base_value': [100, 1000, 10] };
    expect(listPatches({ grid, patches: null }).map((patch) => Object.values(patch))).toEqual([
      [0, 100],
      [0, 1000],
      [0, 10],
      [5, 100],
      [5, 1000],
      [5, 10],
    ]);
    expect(countVariants({ grid, patches: null })).toBe(6);
  });

  test('a grid that is too large is refused before it is created', () => {
    const values = Array.from({ length: 2000 }, (_, i) => i);
    const grid = Object.fromEntries(['/a', '/b', '/c', '/d'].map((pointer) => [pointer, values]));
    expect(checkVariantCount({ grid, patches: null })).toMatchObject([
      { code: 'OUT_OF_RANGE', path: 'grid', message: 'The sweep has 16000000000000 variants; the maximum is 100000.' },
    ]);
  });

  test('a patch changes the referenced value and leaves the base unchanged', () => {
    const before = structuredClone(base);
    const { variant, findings } = apply({
      '/document/pipeline/weighting/cap': 0.2,
      '/request/transaction_cost_bps': 7,
      '/strategy/exposure': 0.5,
    });
    expect(findings).toEqual([]);
    expect(variant!.document).toEqual({
      ...document,
      pipeline: { ...document.pipeline, weighting: { ...document.pipeline!.weighting, cap: 0.2 } },
    });
    expect(variant!.request).toEqual({ ...base.request, benchmark: null, transaction_cost_bps: 7 });
    expect(variant!.strategy).toEqual({ rebalance: null, drift_tolerance: null, exposure: 0.5 });
    expect(base).toEqual(before);
  });

  test('without a pointer into the strategy the index itself is held', () => {
    expect(apply({ '/document/base_value': 50 }).variant!.strategy).toBeNull();
  });

  test.each<[string, Patch, string, string]>([
    ['a pointer outside', { '/index/name': 'Y' }, 'UNKNOWN_FIELD_NAME', 'patches[0]/index/name'],
    ['no pointer', { name: 'Y' }, 'UNKNOWN_FIELD_NAME', 'patches[0]'],
    ['an empty pointer', { '': 'Y' }, 'UNKNOWN_FIELD_NAME', 'patches[0]'],
    [
      'a range turned round',
      { '/request/start': '2021-02-01', '/request/end': '2021-01-04' },
      'INVALID_RANGE',
      'patches[0]/request.start',
    ],
    ['a pointer to the whole', { '/document': {} }, 'UNKNOWN_FIELD_NAME', 'patches[0]/document'],
    [
      'a pointer that leads nowhere',
      { '/document/derivation/objective': 'x' },
      'UNKNOWN_FIELD_NAME',
      'patches[0]/document/derivation/objective',
    ],
    ['another id', { '/document/id': 'Y' }, 'IMMUTABLE_FIELD', 'patches[0]/document.id'],
    [
      'a value out of range',
      { '/request/transaction_cost_bps': -1 },
      'OUT_OF_RANGE',
      'patches[0]/request.transaction_cost_bps',
    ],
    ['a field that requests do not have', { '/request/costs': 1 }, 'UNKNOWN_FIELD', 'patches[0]/request.costs'],
    ['an exposure above 1', { '/strategy/exposure': 2 }, 'OUT_OF_RANGE', 'patches[0]/strategy.exposure'],
  ])('%s is refused at its place', (_, patch, code, path) => {
    const { variant, findings } = apply(patch);
    expect(variant).toBeUndefined();
    expect(findings).toMatchObject([{ severity: 'error', code, path }]);
  });

  test('all errors of a patch are reported at once', () => {
    const { findings } = apply({
      name: 'Y',
      '/document/x/y': 1,
      '/document/id': 'Y',
      '/request/transaction_cost_bps': -1,
      '/strategy/exposure': 2,
    });
    expect(findings.map(({ path }) => path)).toEqual([
      'patches[0]',
      'patches[0]/document/x/y',
      'patches[0]/request.transaction_cost_bps',
      'patches[0]/strategy.exposure',
      'patches[0]/document.id',
    ]);
  });

  test('a field that documents do not have is an error, because the variant would be the base', () => {
    const warnedPatch = applyPatch(
      base,
      { '/document/pipeline/weighting/capp': 0.2 },
      {
        path: 'grid',
        check: () => ({
          document,
          findings: [{ severity: 'warning', code: 'UNKNOWN_FIELD', message: '', path: 'pipeline.weighting.capp' }],
        }),
      },
    );
    expect(warnedPatch.findings).toMatchObject([
      {
        severity: 'error',
        path: 'grid/document.pipeline.weighting.capp',
        message: 'Unknown field pipeline.weighting.capp: the variant would equal its base.',
      },
    ]);
  });

  test('a request has one base and one kind of variation', () => {
    const listIssues = (body: unknown) =>
      SweepRequest.safeParse(body).error?.issues.map(({ path }) => path.join('.')) ?? [];
    expect(listIssues({ index_id: 'X', patches: [{}] })).toEqual([]);
    expect(listIssues({ index_id: 'X', document: {}, patches: [{}] })).toEqual(['index_id']);
    expect(listIssues({ patches: [{}], grid: {} })).toEqual(['index_id', 'grid']);
    expect(listIssues({ index_id: 'X', patches: [{}], partitions: 7 })).toEqual(['partitions']);
  });
});

test('an overlay has the currency of its changed terms, unless the currency is changed itself', () => {
  const overlay = IndexDocument.parse({
    id: 'O',
    name: 'O',
    calendar: 'TEST',
    base_date: '2020-01-02',
    currency: 'EUR',
    kind: 'overlay',
    source_index_id: 'X',
    overlay: { type: 'currency', to: 'EUR' },
  });
  const overlays = { ...base, document: overlay };
  const toSent: DocumentCheck = (body) => validateIndex(body, { calendars: CALENDARS.list(), indexOf: () => document });
  const readCurrency = (patch: Patch) => applyPatch(overlays, patch, { path: '', check: toSent });
  const convertInto = (to: string) => readCurrency({ '/document/overlay/to': to });
  for (const to of ['GBP', 'EUR', 'JPY'])
    expect(convertInto(to)).toMatchObject({ findings: [], variant: { document: { currency: to, overlay: { to } } } });
  expect(readCurrency({ '/document/overlay/to': 'GBP', '/document/currency': 'EUR' }).findings).toContainEqual(
    expect.objectContaining({ code: 'NOT_IN_CHOICES', path: '/document.currency' }),
  );
});
