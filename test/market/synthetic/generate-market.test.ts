import { describe, expect, test } from 'vitest';
import { openCalendars } from '#market/serve/calendar-files.js';
import { comparePrefixes, computeContentHash, createPrefix, digestContent } from '#market/content/content-hash.js';
import type { MarketContent } from '#market/content/market-content.js';
import { warnOfMarket } from '#market/judge/market-warnings.js';
import { createProblems } from '#market/tables/problems.js';
import { generateMarket } from '#market/synthetic/generate-market.js';
import { formatTicker, TICKERS_MAX } from '#market/synthetic/names.js';
import type { SyntheticSpec } from '#market/synthetic/factors.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import { parseValidDay } from '#domain/base/time.js';
import { createSpec } from '../../synthetic-market.js';

const { sessions: all } = openCalendars().get('XNYS')!;
const SESSIONS = all.slice(
  findFirstAtLeast(all, parseValidDay('2005-01-01')),
  findLastAtMost(all, parseValidDay('2014-12-31')) + 1,
);

const SPEC: SyntheticSpec = createSpec({
  seed: 42,
  assets: 60,
  sessions: SESSIONS,
  sectors: 8,
  dividend_yield: 0.02,
  splits_per_year: 0.1,
  delistings_per_year: 0.03,
  listings_per_year: 0.05,
});

const make = (changes: Partial<SyntheticSpec> = {}) => generateMarket({ ...SPEC, ...changes }, () => {});
const market = make();

const createPanel = ({ fields }: MarketContent, name: string) => fields.get(name)!;

/** Yields bars with their positions, in panel order. */
function* listBars(content: MarketContent) {
  const close = createPanel(content, 'CLOSE');
  const names = content.identifiers.length;
  for (let cell = 0; cell < close.length; cell++)
    if (!Number.isNaN(close[cell])) yield { cell, t: Math.floor(cell / names), n: cell % names, close: close[cell]! };
}

const listTypes = ({ actions }: MarketContent) => new Set(actions.map(({ type }) => type));

describe('a synthetic market', () => {
  test('is the same bits for the same request and others for another seed', async () => {
    const hash = await computeContentHash(market);
    expect(await computeContentHash(make())).toBe(hash);
    expect(await computeContentHash(make({ seed: 43 }))).not.toBe(hash);
  });

  test('has bars whose high and low enclose open and close, on the price grid, with whole volumes', () => {
    const [opens, highs, lows, volumes] = ['OPEN', 'HIGH', 'LOW', 'VOLUME'].map((name) => createPanel(market, name));
    const brokenBars: object[] = [];
    for (const { cell, close } of listBars(market)) {
      const [open, high, low, volume] = [opens![cell]!, highs![cell]!, lows![cell]!, volumes![cell]!];
      const isEnclosed = high >= Math.max(open, close) && low <= Math.min(open, close) && low > 0;
      const grid = close >= 1 ? 100 : 10_000;
      if (!isEnclosed || Math.round(close * grid) / grid !== close || !Number.isInteger(volume))
        brokenBars.push({ cell, open, high, low, close, volume });
    }
    expect(brokenBars).toEqual([]);
  });

  test('knows listings, delistings, mergers, spin-offs, splits and dividends', () => {
    const manyTypes = listTypes(make({ delistings_per_year: 0.2, listings_per_year: 0.4, splits_per_year: 0.5 }));
    for (const type of [
      'DIVIDEND',
      'SPECIAL_DIVIDEND',
      'SPLIT',
      'STOCK_DIVIDEND',
      'BONUS_ISSUE',
      'DELISTING',
      'ACQUISITION',
      'MERGER',
      'SPIN_OFF',
    ] as const)
      expect(manyTypes).toContain(type);
  });

  test('without dividends, splits, listings or delistings has none of them', () => {
    const quietMarket = make({ dividend_yield: 0, splits_per_year: 0, delistings_per_year: 0, listings_per_year: 0 });
    expect([...listTypes(quietMarket)].filter((type) => type !== 'SPLIT')).toEqual([]);
    expect(quietMarket.identifiers).toHaveLength(SPEC.assets);
    expect(quietMarket.universes.every(({ end }) => end === null)).toBe(true);
  });

  test('with a session more has the prefix that runs are extended from', async () => {
    const settings = { assets: 20, listings_per_year: 0 };
    const first = SESSIONS.length - 130;
    const generateUpTo = (to: number) => ({
      ...make({ ...settings, sessions: SESSIONS.slice(first, to) }),
      adjustment: 'none' as const,
    });
    for (let to = SESSIONS.length - 12; to < SESSIONS.length; to++) {
      const [before, after] = [generateUpTo(to), generateUpTo(to + 1)];
      const day = SESSIONS[to - 1]!;
      const hashPrefix = async (content: typeof before) =>
        createPrefix({ ...content, datasetId: 'S', contentHash: '' }, (await digestContent(content)).digests, day);
      expect(comparePrefixes(await hashPrefix(before), await hashPrefix(after))).toBeNull();
    }
  });

  test('with a later end only adds to one with an earlier end', () => {
    const earlierMarket = make({ sessions: SESSIONS.slice(0, 1500) });
    const position = new Map(market.identifiers.map((identifier, n) => [identifier, n]));
    for (const name of market.fields.keys()) {
      const [before, after] = [createPanel(earlierMarket, name), createPanel(market, name)];
      earlierMarket.identifiers.forEach((identifier, n) => {
        const other = position.get(identifier)!;
        for (let t = 0; t < 1500; t++) {
          const [a, b] = [
            before[t * earlierMarket.identifiers.length + n]!,
            after[t * market.identifiers.length + other]!,
          ];
          if (!Object.is(a, b)) throw new Error(`${name} of ${identifier} on session ${t}: ${a} and ${b}`);
        }
      });
    }
    const lastDay = SESSIONS[1499]!;
    const listActions = (content: MarketContent) =>
      content.actions
        .filter(({ exDay }) => exDay <= lastDay)
        .map(({ identifier, type, value, exDay }) => ({ identifier, type, value, exDay }));
    expect(listActions(earlierMarket)).toEqual(listActions(market));
  });

  test('keeps its universe point in time: a member has bars from its start to before its end', () => {
    const close = createPanel(market, 'CLOSE');
    const names = market.identifiers.length;
    for (const { identifier, start, end } of market.universes) {
      const n = market.identifiers.indexOf(identifier);
      const from = market.dates.indexOf(start!);
      const to = end === null ? market.dates.length : market.dates.indexOf(end);
      expect(to).toBeGreaterThan(from);
      const otherDates = [...market.dates.keys()].filter(
        (t) => Number.isNaN(close[t * names + n]) !== (t < from || t >= to),
      );
      expect(otherDates, identifier).toEqual([]);
    }
  });

  test('states that a security is delisted only from that day on', () => {
    const column = market.reference.columns.indexOf('DELISTED');
    for (const rows of market.reference.rows.values()) expect(rows[0]!.values[column]).toBeNull();
    const leavers = new Map(
      market.universes.flatMap(({ identifier, end }) => (end === null ? [] : [[identifier, end] as const])),
    );
    expect(leavers.size).toBeGreaterThan(0);
    for (const [identifier, rows] of market.reference.rows) {
      const knownRows = rows.filter(({ values }) => values[column] !== null);
      expect(
        knownRows.map(({ validFrom }) => validFrom),
        identifier,
      ).toEqual(leavers.has(identifier) ? [leavers.get(identifier)] : []);
    }
  });

  test('loses the requested fraction of bars and changes nothing else', () => {
    const gappy = make({ missing_rate: 0.1 });
    const count = [...listBars(gappy)].length;
    const wholeCount = [...listBars(market)].length;
    expect(count / wholeCount).toBeGreaterThan(0.89);
    expect(count / wholeCount).toBeLessThan(0.91);
    expect(gappy.actions).toEqual(market.actions);
    const closes = createPanel(market, 'CLOSE');
    expect([...listBars(gappy)].filter(({ cell, close }) => closes[cell] !== close)).toEqual([]);
  });

  test('raises no warnings except sudden bankruptcies', () => {
    const problems = createProblems();
    warnOfMarket(market, 'none', problems);
    expect(problems.findings().filter(({ code }) => code !== 'PRICE_JUMP')).toEqual([]);
  });

  test('has one identifier a security', () => {
    expect(new Set(Array.from({ length: TICKERS_MAX }, (_, k) => formatTicker(k))).size).toBe(TICKERS_MAX);
  });
});
