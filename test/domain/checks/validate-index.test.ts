import { describe, expect, test } from 'vitest';
import type { CalendarOption } from '#domain/calendars/calendar.js';
import { type IndexContext, IndexDocument } from '#domain/definition/index-document.js';
import { readIndex, validateIndex } from '#domain/definition/index-validation.js';
import { buildMarket } from '../backtest/market-builder.js';
import badDocuments from './bad-documents.json' with { type: 'json' };

/**
 * An invalid variant of a valid document, with all findings that are expected. A finding is written `CODE path` for an
 * error and `warning CODE path` for a warning.
 */
interface BadDocument {
  readonly says: string;
  readonly base: string;
  readonly set?: Readonly<Record<string, unknown>>;
  readonly delete?: readonly string[];
  readonly expect: readonly string[];
}

const rules = {
  id: 'GOOD',
  name: 'Good',
  calendar: 'XNYS',
  base_date: '2020-01-02',
  pipeline: { selection: [{ id: 'size', type: 'TopN', params: { count: 10 } }], weighting: { type: 'EqualWeight' } },
};
const { pipeline: _, ...fieldsWithoutPipeline } = rules;
const derivedDocument = {
  ...fieldsWithoutPipeline,
  id: 'CHILD',
  derivation: {
    source_index_id: 'PARENT',
    constraints: [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.1 } }],
  },
};

const STORED_INDICES = new Map(
  [
    { ...rules, id: 'PARENT' },
    { ...rules, id: 'GOOD-2' },
    { ...rules, id: 'LOOP-A', universe: { kind: 'index', id: 'GOOD' } },
    { ...derivedDocument, id: 'LOOP-C', derivation: { source_index_id: 'LOOP-B' } },
    { ...derivedDocument, id: 'STORED-CHILD' },
  ].map((body) => [body.id, IndexDocument.parse(body)]),
);

const calendars = ['XLON', 'XNYS'].map((code) => ({ code }) as CalendarOption); // the check reads only the codes

function createContextFor(body: Readonly<Record<string, unknown>>): IndexContext {
  return { calendars, indexOf: (id) => STORED_INDICES.get(id), replaces: STORED_INDICES.get(String(body['id'])) };
}

/** Sets or deletes the member at a path like `pipeline.selection[0].params`. */
function change(body: Record<string, unknown>, path: string, value?: unknown): void {
  const keys = path.match(/[^.[\]]+/g)!;
  const holder = keys
    .slice(0, -1)
    .reduce<Record<string, unknown>>((inner, key) => inner[key] as Record<string, unknown>, body);
  if (value === undefined) delete holder[keys.at(-1)!];
  else holder[keys.at(-1)!] = value;
}

describe('all errors of a bad document are reported', () => {
  test('the corpus has a hundred of them', () => expect(badDocuments.length).toBeGreaterThanOrEqual(100));

  test.each((badDocuments as BadDocument[]).map((badDocument) => [badDocument.says, badDocument] as const))(
    '%s',
    (_says, badDocument) => {
      const body: Record<string, unknown> = structuredClone(badDocument.base === 'derived' ? derivedDocument : rules);
      for (const path of badDocument.delete ?? []) change(body, path);
      for (const [path, value] of Object.entries(badDocument.set ?? {})) change(body, path, value);
      const { document, findings } = validateIndex(body, createContextFor(body));
      expect(
        findings.map(({ severity, code, path }) => `${severity === 'error' ? '' : `${severity} `}${code} ${path}`),
      ).toEqual(badDocument.expect);
      expect(document).toBeUndefined();
      for (const { message } of findings) expect(message).toMatch(/^\S.*[.?]$/s);
    },
  );
});

describe('a good document', () => {
  const check = (body: Readonly<Record<string, unknown>>) => validateIndex(body, createContextFor(body));

  test('it comes back with its defaults, and is then a fixed point', () => {
    const { document, findings } = check(rules);
    expect(findings).toEqual([]);
    expect(document).toMatchObject({
      base_value: 100,
      currency: 'USD',
      tags: [],
      rebalance: { frequency: 'quarterly', anchor: 'last_session', roll: 'following', effective_lag: 0 },
    });
    expect(check(document!)).toEqual({ document, findings: [] });
    expect(readIndex(JSON.parse(JSON.stringify(document)))).toEqual(document);
  });

  test('unknown fields are dropped with a warning at their path', () => {
    const { document, findings } = check({ ...rules, colour: 'red', rebalance: { frequency: 'monthly', note: 'x' } });
    expect(findings.map(({ severity, code, path }) => [severity, code, path])).toEqual([
      ['warning', 'UNKNOWN_FIELD', 'colour'],
      ['warning', 'UNKNOWN_FIELD', 'rebalance.note'],
    ]);
    expect(document).not.toHaveProperty('colour');
    expect(document!.rebalance).not.toHaveProperty('note');
  });

  test('a misspelt field or parameter is reported with the one it is meant for', () => {
    const { findings } = check({
      ...rules,
      univers: { kind: 'all' },
      rebalance: { frequncy: 'monthly' },
      pipeline: {
        selection: [
          { id: 'm', type: 'MomentumFilter', params: { windw: 20 } },
          { id: 't', type: 'TopN', params: { count: 1, field: { name: 'MOMENTUM', windw: 20 } } },
        ],
        weighting: { type: 'EqualWeight', capp: 0.1 },
      },
    });
    const suggestions = findings.map(({ path, message }) => [path, /Did you mean (.*)\?$/.exec(message)?.[1]]);
    expect(Object.fromEntries(suggestions)).toEqual({
      univers: 'universe',
      'rebalance.frequncy': 'frequency',
      'pipeline.selection[0].params.windw': 'window',
      'pipeline.selection[1].params.field.windw': 'window',
      'pipeline.weighting.capp': 'cap',
    });
  });

  test('findings of a row carry its id, and closed sets their accepted values', () => {
    const { findings } = check({
      ...rules,
      pipeline: { ...rules.pipeline, selection: [{ id: 'mine', type: 'TopN', params: { count: 1, missing: 'x' } }] },
    });
    expect(findings).toEqual([
      expect.objectContaining({ row_id: 'mine', accepted: ['exclude', 'include'], value: 'x' }),
    ]);
    expect(check({ ...rules, calendar: 'XX' }).findings[0]!.accepted).toEqual(['XLON', 'XNYS']);
  });

  test('a derived index stored with the name of another objective is read with an object, which is accepted', () => {
    const { document } = check(derivedDocument);
    const stored = { ...document!, derivation: { ...document!.derivation!, objective: 'min_variance' } };
    const read = readIndex(structuredClone(stored));
    expect(read?.derivation?.objective).toEqual({ type: 'min_variance' });
    expect(check({ ...read! })).toEqual({ document: read, findings: [] });
    expect(readIndex(structuredClone(document!))?.derivation?.objective).toBe('min_tracking_error');
  });

  test('a derived index that no longer agrees with its parent is reported, field by field', () => {
    expect(check(derivedDocument).findings).toEqual([]);
    const { document, findings } = check({ ...derivedDocument, base_value: 1000, rebalance: { frequency: 'monthly' } });
    expect(document).toBeDefined();
    expect(findings.map(({ severity, code, path }) => [severity, code, path])).toEqual([
      ['warning', 'PARENT_CHANGED', 'base_value'],
      ['warning', 'PARENT_CHANGED', 'rebalance'],
    ]);
  });

  test('a number beyond the range of a double is named', () => {
    const { findings } = check(
      JSON.parse(
        '{"id":"X","name":"x","calendar":"XNYS","base_date":"2020-01-02","base_value":1e999,"pipeline":{"weighting":{"type":"EqualWeight"}}}',
      ) as Record<string, unknown>,
    );
    expect(findings.map(({ code, path }) => [code, path])).toEqual([['OUT_OF_RANGE', 'base_value']]);
  });

  test('a base date without prices in the served market is a warning that names its dates', () => {
    const market = buildMarket({ dates: ['2020-01-02', '2020-01-03'], close: { A: [1, 2] } });
    const listMessages = (base_date: string) =>
      validateIndex({ ...rules, base_date }, { ...createContextFor(rules), market })
        .findings.filter(({ path }) => path === 'base_date')
        .map(({ severity, message }) => `${severity}: ${message}`);
    const coverageText = 'the prices in the data, 2020-01-02 to 2020-01-03';
    expect(['2020-01-01', '2020-01-02', '2020-01-03', '2020-01-04'].map(listMessages)).toEqual([
      [`warning: The base date 2020-01-01 is before ${coverageText}. Runs begin at the first price.`],
      [],
      [],
      [`warning: The base date 2020-01-04 is after ${coverageText}. Runs have no sessions.`],
    ]);
  });

  test('data that the served market lacks is a warning at the field that names it', () => {
    const market = {
      datasetId: 's',
      contentHash: 'h',
      adjustment: 'none' as const,
      identifiers: ['A', 'B'],
      dates: Int32Array.of(1),
      fields: new Map([['CLOSE', Float64Array.of(1, 2)]]),
      reference: {
        columns: ['SECTOR', 'CURRENCY'],
        rows: new Map([['A', [{ validFrom: null, values: ['x', 'EUR'] }]]]),
      },
      actions: [],
      universes: [],
    };
    const body = {
      ...rules,
      universe: { kind: 'list', identifiers: ['A', 'C'] },
      pipeline: {
        selection: [
          { id: 'a', type: 'TopN', params: { count: 3 } },
          { id: 'b', type: 'RangeFilter', params: { field: 'SECTOR', minimum: 1 } },
        ],
        weighting: { type: 'FieldWeight', params: { field: 'EARNINGS' }, group_caps: [{ field: 'COUNTRY', cap: 0.5 }] },
      },
    };
    const { document, findings } = validateIndex(body, { ...createContextFor(body), market });
    expect(document).toBeDefined();
    expect(findings.map(({ severity, code, path }) => `${severity} ${code} ${path}`)).toEqual([
      'warning OUT_OF_RANGE base_date',
      'warning FX_MISSING currency',
      'warning UNKNOWN_FIELD_NAME pipeline.selection[0].params.field',
      'warning VALUE_TYPE_MISMATCH pipeline.selection[1].params.field',
      'warning UNKNOWN_FIELD_NAME pipeline.weighting.group_caps[0].field',
      'warning UNKNOWN_FIELD_NAME pipeline.weighting.params.field',
      'warning UNKNOWN_IDENTIFIER universe.identifiers[1]',
    ]);
  });
});
