import { describe, expect, test } from 'vitest';
import { RiskModelRequest, RiskValidationRequest } from '#domain/risk/risk-models.js';
import { JOB_KIND_CATALOGUE, JOB_KINDS, type JobKindName, type JobPayload } from '#domain/outputs/jobs.js';
import { BacktestFields } from '#domain/definition/runs.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { OptimisationRequest } from '#domain/definition/optimisation-requests.js';

const indices = { CORE: { id: 'CORE', rules: [{ anything: [1, null, 'x'] }] } };
const plan = { runId: 'S1', name: 'S', indexId: 'CORE', documents: indices, request: BacktestFields.parse({}) };
const refresh = { store_id: 'm', until: '2024-01-31', full: false, dry_run: true, fail_on: ['PARTIAL_DATE'] };

/**
 * Payload of a job of each kind. The id is `S1` or the id of the store. Documents are not checked, so they may be
 * incomplete.
 */
const PAYLOADS = {
  backtest: { plan, asked: { start: '2020-01-02' }, engine_version: '1' },
  optimise: {
    run_id: 'S1',
    documents: indices,
    constraints: [{ id: 'c' }],
    request: OptimisationRequest.parse({ index_id: 'CORE', constraint_set_id: 'set' }),
  },
  render: { render_id: 'S1', template: { blocks: [] }, index_id: null },
  risk: { model_id: 'S1', request: RiskModelRequest.parse({}), identifiers: ['A', 'B'], run: null },
  validate: {
    model_id: 'S1',
    request: RiskValidationRequest.parse({}),
    model: { asset_ids: ['A', 'B'], request: RiskModelRequest.parse({}) },
    terms: null,
    index_id: null,
  },
  sync: refresh,
  load: { store_id: 'm' },
  refresh,
  generate: {
    store_id: 'm',
    name: 'M',
    created_at: '2024-01-02T00:00:00.000Z',
    request: { seed: 1, end: '2023-12-31' },
  },
  sweep: {
    sweep_id: 'S1',
    base: { document: { id: 'CORE' }, request: {}, strategy: null },
    stored_id: 'CORE',
    patches: [{ '/request/start': '2020-01-02' }, {}],
    grid: null,
    is_unchecked: false,
    documents: {},
    rank_by: 'total_return',
    partitions: 16,
    folds: null,
    engine_version: '1',
  },
  rerun: { rerun_id: 'S1', ids: ['CORE'], reach: { prefixes: ['C'], shared: [] }, engine_version: '1' },
  study: {
    study_id: 'S1',
    documents: indices,
    models: {},
    sets: { core: [] },
    requests: [],
    content_hash: 'c',
    engine_version: '1',
  },
  batch: {
    batch_id: 'S1',
    terms: {},
    documents: indices,
    models: {},
    accounts: {
      file: { name: 'a', bytes: 20, sha256: 'ab' },
      parts: [{ accounts: 1, bytes: 20, sha256: 'ab', line: null }],
    },
    engine_version: '1',
  },
  account: {
    backtest_id: 'S1',
    index_id: 'CORE',
    request: {},
    documents: indices,
    models: {},
    engine_version: '1',
  },
  simulate: { run_id: 'S1', request: { method: 'block_bootstrap' }, calendar: 'XNYS', dates: ['2024-01-02'] },
  replay: { run_id: 'S1', run_hash: 'h', engine_version: '1' },
  differences: {
    run_id: 'S1',
    request: { variant: null, currency: null, decimals: null, start: null, end: null, causes_max: 12, known: [] },
    engine_version: '1',
  },
  diff: { run_id: 'S1', from: 'a', to: 'b', engine_version: '1' },
} as unknown as { readonly [K in JobKindName]: JobPayload<K> };

const decodePayload = <K extends JobKindName>(kind: K, storedPayload: unknown): unknown =>
  JOB_KIND_CATALOGUE[kind].payload.safeParse(storedPayload).data;
const computeKey = (kind: JobKindName): string => JOB_KIND_CATALOGUE[kind].key(PAYLOADS[kind] as never);

describe.each(JOB_KINDS)('a payload of %s', (kind) => {
  test('is unchanged after a round trip through a database', () => {
    expect(decodePayload(kind, JSON.parse(JSON.stringify(PAYLOADS[kind])))).toEqual(PAYLOADS[kind]);
  });

  test('names its job', () => {
    expect(computeKey(kind)).toBe('store_id' in PAYLOADS[kind] ? 'm' : 'S1');
  });

  test('is none where a member is missing', () => {
    const [first] = Object.keys(PAYLOADS[kind]);
    expect(decodePayload(kind, { ...PAYLOADS[kind], [first!]: undefined })).toBeUndefined();
    expect(decodePayload(kind, null)).toBeUndefined();
  });
});

describe('a payload that an earlier version stored', () => {
  /**
   * An index that accepts securities without a price on up to twelve sessions. It is in two forms: as 0.3.0 stored it,
   * and as it is stored today.
   */
  const today = IndexDocument.parse({
    id: 'CORE',
    name: 'Core',
    base_date: '2024-01-02',
    calendar: 'XNYS',
    universe: { kind: 'all' },
    pipeline: {
      weighting: { type: 'EqualWeight' },
      treatment: { max_stale_sessions: 12, entry_stale_sessions: 12 },
    },
    rebalance: { frequency: 'monthly', weights_as: 'shares' },
  });
  const { entry_stale_sessions: _, ...treatment } = today.pipeline!.treatment;
  const of030 = { ...today, pipeline: { ...today.pipeline!, treatment } };

  test('has the longest gap of that version for entries as well', () => {
    const backtest = { ...PAYLOADS.backtest, plan: { ...plan, documents: { CORE: of030 } } };
    expect(decodePayload('backtest', backtest)).toMatchObject({ plan: { documents: { CORE: today } } });
    const optimisation = { ...PAYLOADS.optimise, documents: { CORE: of030 } };
    expect(decodePayload('optimise', optimisation)).toMatchObject({ documents: { CORE: today } });
    const base = { ...PAYLOADS.sweep.base, document: of030 };
    const sweep = { ...PAYLOADS.sweep, base, documents: { CORE: of030 } };
    expect(decodePayload('sweep', sweep)).toMatchObject({ base: { document: today }, documents: { CORE: today } });
    const run = { run_id: 'S1', calendar: 'XNYS', currency: 'USD', treatment };
    expect(decodePayload('risk', { ...PAYLOADS.risk, run })).toMatchObject({
      run: { treatment: today.pipeline!.treatment },
    });
    const terms = { calendar: 'XNYS', currency: 'USD', treatment };
    expect(decodePayload('validate', { ...PAYLOADS.validate, terms })).toMatchObject({
      terms: { treatment: today.pipeline!.treatment },
    });
  });

  test('of this version is read as it is, with a gap by the store', () => {
    const { max_stale_sessions: __, ...byStore } = today.pipeline!.treatment;
    const document = { ...today, pipeline: { ...today.pipeline!, treatment: byStore } };
    const payload = { ...PAYLOADS.backtest, plan: { ...plan, documents: { CORE: document } } };
    expect(decodePayload('backtest', payload)).toEqual(payload);
    const run = { run_id: 'S1', calendar: 'XNYS', currency: 'USD', treatment: byStore };
    expect(decodePayload('risk', { ...PAYLOADS.risk, run })).toEqual({ ...PAYLOADS.risk, run });
  });

  test('of an optimisation has the fields of today with their defaults', () => {
    const request = { index_id: 'CORE', constraint_set_id: 'set' };
    expect(decodePayload('optimise', { ...PAYLOADS.optimise, request })).toEqual(PAYLOADS.optimise);
  });

  test('of a sweep depends on no stored index, and tests no choice', () => {
    const { stored_id: _, folds: none, ...storedPayload } = PAYLOADS.sweep;
    expect(decodePayload('sweep', storedPayload)).toMatchObject({ stored_id: null, folds: none });
  });
});
