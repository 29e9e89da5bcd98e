import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TemplateCollection, TemplateDetail, TemplateLevel } from '#contract/indices/definitions.js';
import { runHere } from '../cli/process.js';
import { openLiveService, type LiveService } from '../real/live.js';
import type { PlainRun } from './index-run.js';
import { createMarket, type Market } from './market.js';
import { runCryptoCapped, OVERLAY_RULEBOOKS } from './overlays.js';
import { runBondsOneYear, runCommodityUnits, runDailyRoll } from './carry-rules.js';
import { drawBonds, drawCoins, drawContracts, addGiants } from './other-stores.js';
import { CAPPED, runCommodityRoll, RULEBOOKS } from './rulebooks.js';
import { writeEvidence, type Evidence } from './evidence.js';
import type { Rulebook } from './parents.js';
import { drawStore, writeStore } from './store.js';
import { createFrame } from '../table-frame.js';

const BASE_DATE = '2015-04-01';
/** Maximum absolute difference of a weight, and maximum relative difference of a level. */
const TOLERANCE = 1e-9;
/** Minimum number of reviews that are compared. A second constant is the minimum number of sessions, three years. */
const REVIEWS_MIN = 3;
const SESSIONS_MIN = 750;

/** Numbers of securities in the text of each template, and the numbers for a store of 250 securities. */
const SCALED_TEXTS: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  'style-pair': [['"count":1000', '"count":150']],
  'size-segments': [['"count":3000', '"count":200']],
  'paris-aligned': [
    ['"count":150', '"count":100'],
    ['"upper":0.02', '"upper":0.06'],
    ['"lower":-0.05,"upper":0.05', '"lower":-0.15,"upper":0.15'],
  ],
  'minimum-volatility': [
    ['"count":150', '"count":60'],
    ['"upper":0.015', '"upper":0.05'],
  ],
  'supersector-leaders-50': [
    ['COVERED < 0.6', 'COVERED < 0.97'],
    ['"rank":74', '"rank":54'],
  ],
  'multiple-factors': [['"count":150', '"count":60']],
  'fundamental-weights': [['"count":1000', '"count":100']],
  'fixed-count-600': [['"count":600,"enter_rank":550,"exit_rank":750', '"count":120,"enter_rank":110,"exit_rank":150']],
  'float-bands': [['"count":300,"enter_rank":240,"exit_rank":360', '"count":60,"enter_rank":48,"exit_rank":72']],
};
const PARENT: readonly [string, string] = ['"count":500', '"count":150'];

interface Levels {
  readonly levels: { readonly index: readonly string[]; readonly data: readonly number[] };
}

interface BacktestResult {
  readonly rebalances: readonly {
    readonly date: string;
    readonly cause: string;
    readonly weights: Readonly<Record<string, number>>;
  }[];
}

const store = drawStore();
/** Stores by id, with the rulebooks compared on each. */
const MARKETS = {
  drawn: { market: createMarket(store), rulebooks: { ...RULEBOOKS, ...OVERLAY_RULEBOOKS } },
  coins: { market: createMarket(drawCoins()), rulebooks: { 'crypto-capped': runCryptoCapped } },
  giants: { market: createMarket(addGiants(store)), rulebooks: CAPPED },
  contracts: {
    market: createMarket(drawContracts(store.dates)),
    rulebooks: {
      'commodity-roll': runCommodityRoll,
      'commodity-units': runCommodityUnits,
      'daily-roll': runDailyRoll,
    },
  },
  bonds: { market: createMarket(drawBonds(store.dates)), rulebooks: { 'bonds-one-year': runBondsOneYear } },
} satisfies Record<string, { readonly market: Market; readonly rulebooks: Readonly<Record<string, Rulebook>> }>;
type StoreId = keyof typeof MARKETS;
/** Results of this test. If EVIDENCE=1, they are written to the table of the guide. */
const results: Evidence[] = [];
/** Causes of rebalances, by index. */
const causes = new Map<string, Set<string>>();
let service: LiveService;

beforeAll(async () => {
  service = await openLiveService();
  await activate('drawn');
});
afterAll(async () => {
  console.log(results.map((one) => Object.values(one).join(' | ')).join('\n'));
  if (process.env['EVIDENCE'] === '1') writeEvidence(results);
  await service?.close();
});

async function activate(id: StoreId): Promise<void> {
  const location = join(service.folder, id);
  await writeStore(MARKETS[id].market.store, location);
  const body = { name: id, store_id: id, kind: 'folder', location, adjustment: 'none', currency: 'USD' };
  await service.ok('POST', '/data/stores', body);
  expect((await service.job(`/data/stores/${id}/activate`)).error).toBeNull();
}

test('every template that ships has rules written down in plain code, and runs on this store', async () => {
  const { templates } = await service.ok<TemplateCollection>('GET', '/indices/templates');
  const all = new Set(Object.values(MARKETS).flatMap(({ rulebooks }) => Object.keys(rulebooks)));
  expect(templates.map(({ id }) => id)).toEqual([...all].toSorted());
  // Templates with limits for more securities than the market has run only with scaled limits.
  const drawnIds = Object.keys(MARKETS.drawn.rulebooks).filter((id) => SCALED_TEXTS[id] === undefined);
  expect(templates.filter(({ id, can_run: canRun }) => drawnIds.includes(id) && canRun !== true)).toEqual([]);
});

test.each(Object.keys(MARKETS.drawn.rulebooks))('%s: members, weights and levels are those of its rules', (id) =>
  compareTemplate('drawn', id),
);

async function compareTemplate(storeId: StoreId, id: string): Promise<void> {
  const { market } = MARKETS[storeId];
  const rulebooks: Readonly<Record<string, Rulebook>> = MARKETS[storeId].rulebooks;
  const runs = rulebooks[id]!(market, BASE_DATE);
  const stem = id.toUpperCase();
  const { documents } = await service.ok<TemplateDetail>('GET', `/indices/templates/${id}?base_date=${BASE_DATE}`);
  expect(documents.map((document) => String(document['id']).slice(stem.length)).toSorted()).toEqual(
    Object.keys(runs).toSorted(),
  );
  let [weightDifference, levelDifference, serviceMs] = [0, 0, 0];
  for (const document of documents) {
    const indexId = String(document['id']);
    const scaledText = [PARENT, ...(SCALED_TEXTS[id] ?? [])].reduce(
      (text, [a, b]) => text.replaceAll(a, b),
      JSON.stringify(document),
    );
    await service.ok('PUT', `/indices/${indexId}`, scaledText);
    const start = process.cpuUsage();
    const job = await service.job<BacktestResult>(`/analytics/${indexId}/backtest`);
    const { user, system } = process.cpuUsage(start);
    serviceMs += (user + system) / 1000;
    expect(job.error).toBeNull();
    causes.set(indexId, new Set(job.result.rebalances.map(({ cause }) => cause)));
    const plainRun = runs[indexId.slice(stem.length)]!;
    weightDifference = Math.max(
      weightDifference,
      compareWeights(indexId, job.result, { plainRun, ids: market.store.ids }),
    );
    levelDifference = Math.max(
      levelDifference,
      compareLevels(await service.ok<Levels>('GET', `/analytics/${indexId}/levels`), {
        plainRun,
        dates: market.store.dates,
      }),
    );
  }
  results.push({
    template: id,
    store: storeId,
    documents: documents.length,
    weights: Number(weightDifference.toExponential(1)),
    level: Number(levelDifference.toExponential(1)),
    ms: Math.round(serviceMs),
  });
  expect(weightDifference).toBeLessThanOrEqual(TOLERANCE);
  expect(levelDifference).toBeLessThanOrEqual(TOLERANCE);
}

test('constituents of the drawn store change between reviews by every rule of two methodologies', () => {
  const changes = ['fast_entry', 'fast_exit', 'replacement', 'schedule'];
  expect([...causes.get('SUPERSECTOR-LEADERS-50')!].toSorted()).toEqual(changes);
  expect([...causes.get('LARGEST-100')!].toSorted()).toEqual(['replacement', 'schedule']);
});

test('a template becomes an index under another id by one command, which replaces nothing', async () => {
  const words = ['index', 'new', '--from', 'low-volatility', '--id', 'CALM', '--url', service.url];
  expect((await runHere(words)).status).toBe(0);
  const { universe } = await service.ok<{ universe: { of: unknown[] } }>('GET', '/indices/CALM');
  expect(universe.of[0]).toMatchObject({ kind: 'index', id: 'CALM-PARENT' });
  const repeatedOutcome = await runHere(words);
  expect([repeatedOutcome.status, repeatedOutcome.err]).toEqual([
    64,
    expect.stringContaining('already stored: CALM-PARENT, CALM'),
  ]);
  const unknownAnswer = await service.ask<{ error: { code: string } }>('GET', '/indices/templates/nothing-of-it');
  expect([unknownAnswer.status, unknownAnswer.body.error.code]).toEqual([404, 'TEMPLATE_NOT_FOUND']);
});

test('the level of a template is that of the index it becomes, over the last three years', async () => {
  const { level, problem } = await service.ok<TemplateLevel>('GET', '/indices/templates/largest-100/level');
  if (level === null) throw new Error(String(problem));
  const [first = ''] = level.index;
  expect([level.index.length <= 80, level.index.at(-1)]).toEqual([true, store.dates.at(-1)]);
  expect(Date.parse(store.dates.at(-1)!) - Date.parse(first)).toBeGreaterThan(3 * 365 * 86_400_000 - 5 * 86_400_000);
  const query = `index_id=SKETCH&base_date=${first}`;
  const { documents } = await service.ok<TemplateDetail>('GET', `/indices/templates/largest-100?${query}`);
  await service.ok('PUT', '/indices/SKETCH', documents[0]);
  expect((await service.job('/analytics/SKETCH/backtest')).error).toBeNull();
  const { levels } = await service.ok<Levels>('GET', '/analytics/SKETCH/levels');
  const levelOn = new Map(levels.index.map((date, k) => [date.slice(0, 10), levels.data[k]!]));
  expect(level.data).toEqual(level.index.map((date) => levelOn.get(date)));
});

test('the caps of three methodologies hold weights on the store of giants', () => {
  const caps = { 'fixed-count-600': 0.2, 'mid-cap-50': 0.1, 'select-dividend': 0.15, 'twenty-capped': 0.18 };
  for (const [id, rulebook] of Object.entries(CAPPED)) {
    const { compositions } = rulebook(MARKETS.giants.market, BASE_DATE)['']!;
    const largestWeights = compositions.map(({ weights }) => Math.max(...weights.values()));
    expect(
      largestWeights.filter((weight) => Math.abs(weight - caps[id as keyof typeof caps]) < 1e-12).length,
      id,
    ).toBeGreaterThan(2);
  }
});

test.each(['coins', 'contracts', 'bonds', 'giants'] as const)(
  'templates on the store %s are those of their rules',
  async (storeId) => {
    await activate(storeId);
    for (const id of Object.keys(MARKETS[storeId].rulebooks)) {
      const { can_run: canRun } = await service.ok<TemplateDetail>('GET', `/indices/templates/${id}`);
      expect(canRun).toBe(true);
      await compareTemplate(storeId, id);
    }
    if (storeId === 'giants') expect(causes.get('TWENTY-CAPPED')).toContain('breach');
  },
);

test('a store without shares, sectors and series cannot run the templates that read them, and lists what it lacks', async () => {
  const data = ['2024-01-02', '2024-01-03'].map((date) => ['A', date, 100]);
  const market = { index: [0, 1], columns: ['identifier', 'date', 'CLOSE'], data };
  await service.ok('POST', '/data/import', { name: 'Bare', store_id: 'bare', activate: true, tables: { market } });
  const { templates } = await service.ok<TemplateCollection>('GET', '/indices/templates');
  const runnableIds = templates.filter(({ can_run: canRun }) => canRun === true).map(({ id }) => id);
  expect(runnableIds).toEqual(['simple-equal-weight']); // the others need a year of prices
  const listMissing = (id: string) =>
    templates
      .find((template) => template.id === id)!
      .needs.filter(({ missing }) => missing)
      .map(({ name }) => name);
  expect(listMissing('industry-quotas')).toEqual(['SECTOR', 'SHARES_OUTSTANDING']);
  expect(listMissing('leveraged-and-short')).toEqual(['SHARES_OUTSTANDING', 'CASH']);
  expect(listMissing('price-average')).toEqual(['AVERAGE']);
  const refusal = await service.ask<{ error: { code: string } }>('GET', '/indices/templates/industry-quotas/level');
  expect([refusal.status, refusal.body.error.code]).toEqual([422, 'VALIDATION_FAILED']);
});

/** Creates the prices of securities on weekdays from 2018 to 2021. With a country, adds volumes and reference data. */
function createPriceTables(count: number, country: string | null) {
  const days = Array.from({ length: 4 * 365 }, (_, k) => new Date(Date.UTC(2018, 0, 2 + k))).filter(
    (day) => day.getUTCDay() % 6 !== 0,
  );
  const rows = Array.from({ length: count }, (_, i) =>
    days.map((day, t) => {
      const close = 100 + i + 10 * Math.sin((t * (i + 2)) / 7 + i);
      return [`S${i}`, day.toISOString().slice(0, 10), close, ...(country === null ? [] : [1e6])];
    }),
  ).flat();
  const reference = createFrame(
    ['identifier', 'COUNTRY', 'ISSUER', 'SHARES_OUTSTANDING'],
    Array.from({ length: count }, (_, i) => [`S${i}`, country, `Issuer ${i}`, 1e9]),
  );
  const market = createFrame(['identifier', 'date', 'CLOSE', ...(country === null ? [] : ['VOLUME'])], rows);
  return country === null ? { market } : { market, reference };
}

test('five templates run on twelve securities with only prices, from a base date on which they have data', async () => {
  const tables = createPriceTables(12, null);
  await service.ok('POST', '/data/import', { name: 'Prices', store_id: 'prices', activate: true, tables });
  const { templates } = await service.ok<TemplateCollection>('GET', '/indices/templates');
  const ids = templates.filter(({ can_run: canRun }) => canRun === true).map(({ id }) => id);
  const kinds = ['equal-weight', 'inverse-volatility', 'low-volatility', 'momentum', 'risk-parity'];
  expect(ids).toEqual(kinds.map((kind) => `simple-${kind}`));
  for (const id of ids) {
    const name = `NEW-${id.toUpperCase()}`;
    const { status } = await runHere(['index', 'new', '--from', id, '--id', name, '--url', service.url]);
    expect([id, status, (await service.job(`/analytics/${name}/backtest`)).error]).toEqual([id, 0, null]);
  }
});

test('a template runs from its default base date, and cannot run without a security that its rules select', async () => {
  const tables = createPriceTables(12, 'FR');
  await service.ok('POST', '/data/import', { name: 'France', store_id: 'france', activate: true, tables });
  const { templates } = await service.ok<TemplateCollection>('GET', '/indices/templates');
  const canRun = Object.fromEntries(templates.map((template) => [template.id, template.can_run]));
  expect([canRun['ten-forty'], canRun['momentum-score'], canRun['rising-dividends']]).toEqual([false, true, false]);
  const german = await service.ok<TemplateDetail>('GET', '/indices/templates/ten-forty');
  expect(german.findings).toMatchObject([{ severity: 'error', code: 'NO_WEIGHT_DATA', path: 'base_date' }]);
  expect(german.findings[0]!.message).toContain('"country"');
  const { documents, findings } = await service.ok<TemplateDetail>('GET', '/indices/templates/momentum-score');
  expect(findings).toEqual([]);
  // 253 sessions to the end of the month before the base date: those of 2018 are fewer
  expect(documents.map(({ base_date: date }) => date)).toEqual(['2019-02-02', '2019-02-02']);
  for (const document of documents) {
    const id = String(document['id']);
    await service.ok('PUT', `/indices/${id}`, document);
    expect((await service.job(`/analytics/${id}/backtest`)).error).toBeNull();
  }
  const early = await service.ok<TemplateDetail>('GET', '/indices/templates/momentum-score?base_date=2018-06-01');
  expect(early.findings).toMatchObject([{ code: 'NO_WEIGHT_DATA', path: 'base_date' }]);
});

/** Returns the largest difference of a target weight over all reviews. The members must be equal in both. */
function compareWeights(
  indexId: string,
  { rebalances }: BacktestResult,
  { plainRun: { compositions }, ids }: { readonly plainRun: PlainRun; readonly ids: readonly string[] },
): number {
  if (compositions.length === 0) return 0;
  expect(compositions.length, indexId).toBeGreaterThanOrEqual(REVIEWS_MIN);
  expect(rebalances.map(({ date }) => date.slice(0, 10))).toEqual(compositions.map(({ date }) => date));
  const differences = rebalances.flatMap(({ date, weights }, k) => {
    const plainWeights = new Map([...compositions[k]!.weights].map(([i, weight]) => [ids[i]!, weight]));
    expect(Object.keys(weights).toSorted(), `${indexId} ${date}`).toEqual([...plainWeights.keys()].toSorted());
    return Object.entries(weights).map(([name, weight]) => Math.abs(weight - plainWeights.get(name)!));
  });
  return Math.max(...differences);
}

function compareLevels(
  { levels: { index, data } }: Levels,
  { plainRun, dates }: { readonly plainRun: PlainRun; readonly dates: readonly string[] },
): number {
  expect(index.map((date) => date.slice(0, 10))).toEqual(dates.slice(plainRun.base));
  expect(data.length).toBeGreaterThanOrEqual(SESSIONS_MIN);
  return Math.max(...data.map((level, k) => Math.abs(level / plainRun.levels[k]! - 1)));
}
