import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { toCanonicalJson } from '#domain/base/json.js';
import type { RunDocument } from '#domain/definition/runs.js';
import { Refusal } from '#domain/base/refusals.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import type { ServedMarket } from '#market/serve/served-markets.js';
import { createRunStates } from '#services/runs/plans.js';
import type { ArtifactRef, DocumentKind, DocumentStore } from '#store/port.js';
import { createTestContext } from '../context.js';
import { createEqualIndex } from '../../equal-index.js';

const INDEX = createEqualIndex('X', { base_date: '2020-01-02' });
/** The document with its defaults. Versions that had no default universe stored it in this form. */
const STORED_INDEX = {
  ...INDEX,
  description: null,
  base_value: 100,
  currency: 'USD',
  derivation: null,
  tags: [],
  rebalance: {
    frequency: 'quarterly',
    anchor: 'last_session',
    months: null,
    weekday: null,
    nth: null,
    day: null,
    roll: 'following',
    effective_lag: 0,
    dates: [],
  },
  pipeline: { selection: [], weighting: { type: 'EqualWeight', params: {}, cap: null, floor: null, group_caps: [] } },
};
const REQUEST = { benchmark: null, start: null, end: null, initial_capital: 1_000_000, transaction_cost_bps: 0 };
const PLAN = { runId: 'X', name: 'X', indexId: 'X', documents: { X: STORED_INDEX }, request: REQUEST };

const CALENDARS = { base: openCalendars() };

const createStoreDocument = (datasetId: string, contentHash: string, active = false) => ({
  store_id: datasetId,
  name: datasetId,
  kind: 'imported',
  managed: true,
  active,
  writing: false,
  location: null,
  source: null,
  tables: {},
  adjustment: 'none',
  created_at: '',
  last_loaded_at: null,
  last_refreshed_at: null,
  identifiers: null,
  start: null,
  end: null,
  size_bytes: null,
  content_hash: contentHash,
  rows: null,
  files: [],
  error: null,
  findings: [],
  synthetic: null,
});

interface World {
  readonly run?: Partial<RunDocument>;
  readonly plan?: object | null;
  readonly stores?: readonly object[];
  readonly served?: {
    readonly datasetId: string;
    readonly contentHash: string;
    readonly adjustment?: string;
    readonly currency?: string;
  } | null;
  readonly engine?: string;
  /** Ids of stores that can be read in addition to the served store. */
  readonly others?: readonly string[];
}

/** Creates a stored run of the index in the form of an earlier version. It does not contain the name of its store. */
function createWorld({
  run: rest = {},
  plan = PLAN,
  stores = [],
  served = { datasetId: 'desk', contentHash: 'h' },
  engine = '0.1.0',
  others = [],
}: World) {
  const bodies = new Map<string, object>([
    ['index X', INDEX],
    ...stores.map((body): [string, object] => [`store ${(body as { store_id: string }).store_id}`, body]),
  ]);
  let revision = 0;
  let reads = 0;
  const documents = {
    async get(kind: DocumentKind, id: string) {
      reads++;
      const body = bodies.get(`${kind} ${id}`);
      return body && { id, body, etag: toCanonicalJson(body), updatedAt: '' };
    },
    revision: async () => revision,
    list: async (kind: DocumentKind, read: (body: unknown, id: string) => unknown) => ({
      documents: [...bodies].flatMap(([key, body]) => (key.startsWith(`${kind} `) ? (read(body, '') ?? []) : [])),
    }),
  } as unknown as DocumentStore;
  const text = toCanonicalJson(plan ?? {});
  const createRef = (name: string): ArtifactRef => ({
    name,
    bytes: text.length,
    sha256: createHash('sha256').update(text).digest('hex'),
  });
  const run: RunDocument = {
    run_id: 'X',
    index_id: 'X',
    name: 'X',
    run_at: 't',
    start: '',
    end: '',
    run_hash: 'r',
    store_content_hash: 'h',
    extended_from: null,
    full_run_reason: null,
    engine_version: '0.1.0',
    request: REQUEST,
    artifacts: {
      result: createRef('result'),
      overview: createRef('overview'),
      columns: createRef('columns'),
      ...(plan === null ? {} : { plan: createRef('plan') }),
    },
    ...rest,
  };
  const createMarket = (content: object): ServedMarket =>
    ({ handle: { adjustment: 'none', ...content }, identity: content }) as unknown as ServedMarket;
  const market = served === null ? undefined : createMarket(served);
  const markets = new Map(others.map((other) => [other, createMarket({ datasetId: other, contentHash: 'o' })]));
  const context = createTestContext({
    documents,
    calendars: CALENDARS,
    engineVersion: engine,
    artifacts: { read: async () => new TextEncoder().encode(text) },
    markets: { served: () => market, require: () => market! },
    stores: { of: async (id) => markets.get(id) ?? Promise.reject(new Refusal('STORE_NOT_FOUND', 'It is gone.')) },
  });
  const states = createRunStates(context);
  return {
    run,
    states,
    reads: () => reads,
    changeAnother: () => void revision++,
    change(body: object) {
      bodies.set('index X', body);
      revision++;
    },
  };
}

const getStale = async (world: World) => {
  const { run, states } = createWorld(world);
  return states.findStaleState(run);
};

describe('a stored run', () => {
  test('is current if its plan lacks only the defaults of later fields', async () => {
    expect(await getStale({})).toBeNull();
  });

  test('is compared with the documents once, until one of them changes', async () => {
    const { run, states, reads, change } = createWorld({});
    await states.findStaleState(run);
    const firstReads = reads();
    for (let i = 0; i < 5; i++) expect(await states.findStaleState(run)).toBeNull();
    expect(reads()).toBe(firstReads);
    change({ ...INDEX, currency: 'EUR' });
    expect(await states.findStaleState(run)).toEqual({
      definition: true,
      data: false,
      engine: false,
      reasons: ['The index X changed since this run: currency.'],
      store_id: null,
    });
    change(INDEX);
    expect(await states.findStaleState(run)).toBeNull();
  });

  test('is not compared again when other documents change', async () => {
    const { run, states, reads, changeAnother } = createWorld({});
    await states.findStaleState(run);
    const firstReads = reads();
    changeAnother();
    await states.findStaleState(run);
    const secondReads = reads() - firstReads;
    expect(secondReads).toBe(firstReads); // each document was read once, for its ETag
    await states.findStaleState(run);
    expect(reads() - firstReads).toBe(secondReads);
  });

  test('without its definition is not reported as current', async () => {
    expect(await getStale({ plan: null })).toMatchObject({
      definition: true,
      reasons: ['The run was stored without its definition: a change of the definition cannot be detected.'],
    });
  });

  test('is stale by every cause at once', async () => {
    const { run, states, change } = createWorld({
      run: { store_id: 'desk', engine_version: '0.0.9' },
      served: { datasetId: 'desk', contentHash: 'later' },
    });
    change({ ...INDEX, base_value: 7 });
    expect(await states.findStaleState(run)).toEqual({
      definition: true,
      data: true,
      engine: true,
      reasons: [
        'The index X changed since this run: base value.',
        'The store desk holds other content than the run was made on.',
        'The run was made by engine 0.0.9; engine 0.1.0 may compute slightly different values.',
      ],
      store_id: null,
    });
  });

  test('is stale when its store declares another price basis', async () => {
    const run = { store_id: 'desk', adjustment: 'none' } as const;
    expect(await getStale({ run, served: { datasetId: 'desk', contentHash: 'h', adjustment: 'total' } })).toMatchObject(
      {
        data: true,
        reasons: ['The store desk declares the adjustment total; the run was made on none.'],
      },
    );
  });

  test('is stale when its store declares another currency, or removes it', async () => {
    const run = { store_id: 'desk', declared_currency: 'USD' };
    expect(await getStale({ run, served: { datasetId: 'desk', contentHash: 'h', currency: 'USD' } })).toBeNull();
    expect(await getStale({ run, served: { datasetId: 'desk', contentHash: 'h', currency: 'EUR' } })).toMatchObject({
      data: true,
      reasons: ['The store desk declares the currency EUR; the run was made on USD.'],
    });
    expect(await getStale({ run, served: { datasetId: 'desk', contentHash: 'h' } })).toMatchObject({
      data: true,
      reasons: ['The store desk declares no currency; the run was made on USD.'],
    });
  });

  test('is compared with the last content of the active store while none is served', async () => {
    const createStores = (hash: string) => [createStoreDocument('desk', hash, true), createStoreDocument('other', 'o')];
    expect(await getStale({ served: null, run: { store_id: 'desk' }, stores: createStores('h') })).toBeNull();
    expect(await getStale({ served: null, run: { store_id: 'desk' }, stores: createStores('later') })).toMatchObject({
      data: true,
    });
    expect(await getStale({ served: null, run: { store_id: 'desk' } })).toBeNull();
  });
});

describe('the store of a run', () => {
  const getId = (market: ServedMarket | undefined) => market?.identity.datasetId;

  test('is the recorded store, whatever store is served', async () => {
    const { run, states } = createWorld({ run: { store_id: 'other' }, others: ['other'] });
    expect(getId(await states.requireMarket(run))).toBe('other');
    expect(getId(await states.servedMarket(run))).toBe('other');
    expect(await states.findStore(run)).toBe('other');
    const ownWorld = createWorld({ run: { store_id: 'desk' } });
    expect(getId(await ownWorld.states.requireMarket(ownWorld.run))).toBe('desk');
    expect(await ownWorld.states.findStore(ownWorld.run)).toBeUndefined();
  });

  test('is refused with its reason if it cannot be read', async () => {
    const { run, states } = createWorld({ run: { store_id: 'other' } });
    const refusal = {
      code: 'STORE_MISMATCH',
      message: 'The run of X was made on the store other, which cannot be read: It is gone.',
      detail: { store_id: 'other', served_store_id: 'desk' },
    };
    await expect(states.requireMarket(run)).rejects.toMatchObject(refusal);
    await expect(states.servedMarket(run)).rejects.toMatchObject(refusal);
    expect(await states.findMarket(run)).toBeUndefined();
  });

  test('is the store with its content if none was recorded, and the served one if no store has it', async () => {
    const desk = { datasetId: 'desk', contentHash: 'later' };
    const findServedMarket = async (world: World) => {
      const { run, states } = createWorld({ others: ['archive'], ...world });
      return getId(await states.findMarket(run));
    };
    expect(await findServedMarket({ served: desk, stores: [createStoreDocument('archive', 'h')] })).toBe('archive');
    expect(await findServedMarket({ served: desk, stores: [createStoreDocument('archive', 'x')] })).toBe('desk');
    expect(await findServedMarket({ stores: [createStoreDocument('archive', 'h')] })).toBe('desk');
  });
});

describe('a run of an index that belongs to a store', () => {
  const onOther = { ...INDEX, store_id: 'other' };
  const stores = [createStoreDocument('desk', 'h', true), createStoreDocument('other', 'o')];

  test('is current whatever store is active, and stale after a change of its content', async () => {
    const madeWorld = { run: { store_id: 'other', store_content_hash: 'o' }, stores };
    const { run, states, change } = createWorld(madeWorld);
    change(onOther);
    expect(await states.findStaleState(run)).toBeNull();
    const laterWorld = createWorld({ ...madeWorld, run: { store_id: 'other', store_content_hash: 'before' } });
    laterWorld.change(onOther);
    expect(await laterWorld.states.findStaleState(laterWorld.run)).toMatchObject({
      definition: false,
      data: true,
      reasons: ['The store other holds other content than the run was made on.'],
      store_id: null,
    });
  });

  test('is stale if it was made on another store, or its store was deleted', async () => {
    const movedWorld = createWorld({ run: { store_id: 'desk' }, stores });
    movedWorld.change(onOther);
    expect(await movedWorld.states.findStaleState(movedWorld.run)).toMatchObject({
      data: true,
      reasons: ['The run was made on the store desk; the index belongs to other.'],
      store_id: 'desk',
    });
    const goneWorld = createWorld({ run: { store_id: 'other' } });
    goneWorld.change(onOther);
    expect(await goneWorld.states.findStaleState(goneWorld.run)).toMatchObject({
      data: true,
      reasons: ['The store other of the index is not registered.'],
    });
  });
});
