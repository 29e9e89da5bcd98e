import { expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import type { MarketData } from '#domain/market/market-data.js';
import {
  computeMarksWithoutLater,
  computePrefixMark,
  digestContent,
  type PrefixMark,
} from '#market/content/content-hash.js';
import { buildMarket } from '../../domain/backtest/market-builder.js';
import { seeded } from '../../seeded.js';

/** Number of days. They fill two blocks of days and a part of a third. */
const DAYS = 140;
const DATES = Array.from({ length: DAYS + 20 }, (_, i) => formatDay(19_000 + i));
const SECTORS = { SECTOR: 'X' };

interface GeneratedTerms {
  readonly count: number;
  readonly names: readonly string[];
  /** Number of days before the first bar of a security that is listed later. */
  readonly begins?: number;
  readonly change?: (close: Record<string, (number | null)[]>) => void;
}

/** Returns a market with constant values per security. N and Z are listed later. */
function createMarketFor({ count, names, begins = DAYS, change = () => {} }: GeneratedTerms): MarketData {
  const close = Object.fromEntries(
    names.map((name): [string, (number | null)[]] => {
      const random = seeded(name.charCodeAt(0));
      const values = Array.from({ length: count }, () => 10 + random());
      return [name, values.map((value, t) => ('NZ'.includes(name) && t < begins ? null : value))];
    }),
  );
  change(close);
  const dates = DATES.slice(0, count);
  const actions = [{ name: 'B', type: 'DIVIDEND' as const, value: 1, ex: DATES[70]! }];
  return buildMarket({ dates, close, actions, reference: Object.fromEntries(names.map((name) => [name, SECTORS])) });
}

const LAST = 19_000 + DAYS - 1;
const EARLIER_NAMES = ['A', 'B', 'C'];

async function createMark(market: MarketData): Promise<PrefixMark> {
  return computePrefixMark(market, (await digestContent(market)).digests, LAST);
}

test('without the securities that begin later a market has the mark of before they came, over whole blocks and their rest', async () => {
  const before = await createMark(createMarketFor({ count: DAYS, names: EARLIER_NAMES }));
  for (const names of [
    ['A', 'B', 'C', 'N'],
    ['A', 'B', 'C', 'N', 'Z'],
  ]) {
    const grownMarket = createMarketFor({ count: DAYS + 20, names });
    expect((await createMark(grownMarket)).axes).not.toBe(before.axes);
    expect(await computeMarksWithoutLater(grownMarket, LAST)).toContainEqual(before);
  }
  expect(await computeMarksWithoutLater(createMarketFor({ count: DAYS + 20, names: EARLIER_NAMES }), LAST)).toEqual([]);
});

test('reference data that was there before the bars of its name is no other history', async () => {
  const announcedMarket = createMarketFor({ count: DAYS, names: EARLIER_NAMES });
  const rows = new Map([...announcedMarket.reference.rows, ['N', [{ validFrom: null, values: ['X'] }]]] as const);
  const before = await createMark({ ...announcedMarket, reference: { ...announcedMarket.reference, rows } });
  expect(
    await computeMarksWithoutLater(createMarketFor({ count: DAYS + 20, names: [...EARLIER_NAMES, 'N'] }), LAST),
  ).toContainEqual(before);
});

test('a value that is another, in any block, or a security with a bar by then is another history', async () => {
  const before = await createMark(createMarketFor({ count: DAYS, names: EARLIER_NAMES }));
  for (const row of [3, 100, DAYS - 1]) {
    const change = (close: Record<string, (number | null)[]>) => void (close['B']![row]! += 1e-9);
    const changedMarket = createMarketFor({ count: DAYS + 20, names: [...EARLIER_NAMES, 'N'], change });
    expect(await computeMarksWithoutLater(changedMarket, LAST), `day ${row}`).not.toContainEqual(before);
  }
  const earlyMarket = createMarketFor({ count: DAYS + 20, names: [...EARLIER_NAMES, 'N'], begins: DAYS - 1 });
  expect(await computeMarksWithoutLater(earlyMarket, LAST)).not.toContainEqual(before);
});
