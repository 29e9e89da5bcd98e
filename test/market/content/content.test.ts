import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { openMarket, openMarketGently, shareMarket } from '#domain/market/market-data.js';
import { computeContentHash, digestContent } from '#market/content/content-hash.js';
import type { MarketContent } from '#market/content/market-content.js';
import { allocateEmptyPanel } from '#market/panels/panels.js';

const IDENTIFIERS = ['A', 'B\n"', 'C'];

/**
 * Returns a content with the given number of days. The closes are all different, a seventh of them is missing, and
 * there is one corporate action per day.
 */
function createContent(days: number): MarketContent {
  const close = allocateEmptyPanel(days * IDENTIFIERS.length);
  for (let cell = 0; cell < close.length; cell++) close[cell] = cell % 7 === 3 ? Number.NaN : cell + 1;
  const volume = close.map((value) => 2 * value);
  const createDay = (i: number) => 10_000 + i;
  return {
    identifiers: IDENTIFIERS,
    dates: Int32Array.from({ length: days }, (_, i) => createDay(i)),
    fields: new Map<string, Float64Array>([
      ['VOLUME', volume],
      ['CLOSE', close],
    ]),
    reference: {
      columns: ['NAME'],
      rows: new Map(IDENTIFIERS.map((name) => [name, [{ validFrom: null, values: [`${name} of\nall`] }]])),
    },
    actions: Array.from({ length: 40 * days }, (_, i) => ({
      identifier: 'A',
      type: 'DIVIDEND' as const,
      value: i,
      exDay: createDay(i),
      payDay: null,
      status: null,
      announcedDay: null,
      related: null,
      subscriptionPrice: null,
    })),
    universes: [{ universe: 'ALL', identifier: 'A', start: null, end: null }],
  };
}

const changeCell = (content: MarketContent, cell: number, value: number): MarketContent => {
  const close = content.fields.get('CLOSE')!.slice();
  close[cell] = value;
  return {
    ...content,
    fields: new Map<string, Float64Array>([
      ['CLOSE', close],
      ['VOLUME', content.fields.get('VOLUME')!],
    ]),
  };
};

test('a content has the same hash whether it is hashed at once or grew from one that was, wherever its days were added', () =>
  fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 0, max: 200 }), async (heldDays, added) => {
      const { digests } = await digestContent(createContent(heldDays));
      const wholeContent = createContent(heldDays + added);
      const { tables } = (await digestContent(wholeContent)).digests;
      expect(
        await digestContent(wholeContent, { blocks: { digests: digests.blocks, days: heldDays }, tables }),
      ).toEqual(await digestContent(wholeContent));
    }),
    { numRuns: 30 },
  ));

test('a content has another hash as soon as any value of any day is another', () =>
  fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 130 * 3 - 1 }), async (cell) => {
      const content = createContent(130);
      expect(await computeContentHash(changeCell(content, cell, -1))).not.toBe(await computeContentHash(content));
    }),
    { numRuns: 30 },
  ));

test('a content has another hash when values are on other days, or end earlier', async () => {
  const content = createContent(64);
  const laterContent = { ...content, dates: content.dates.map((day) => day + 1) };
  const hashes = await Promise.all(
    [
      content,
      laterContent,
      { ...createContent(63), actions: content.actions },
      { ...content, actions: content.actions.slice(1) },
    ].map(computeContentHash),
  );
  expect(new Set(hashes).size).toBe(4);
});

test('a market that is opened in steps is the one that was shared, and others get their turn', async () => {
  const market = {
    ...createContent(200),
    datasetId: 's',
    contentHash: 'h',
    adjustment: 'none' as const,
    currency: null,
  };
  const handle = shareMarket(market);
  let turns = 0;
  const openedMarket = await openMarketGently(handle, async () => {
    turns += 1;
  });
  expect(openedMarket).toEqual(openMarket(handle));
  expect({
    ...openedMarket,
    fields: new Map([...openedMarket.fields].map(([name, panel]) => [name, [...panel]])),
  }).toEqual({
    ...market,
    fields: new Map([...market.fields].map(([name, panel]) => [name, [...panel]])),
  });
  expect(turns).toBeGreaterThanOrEqual((200 * 40) / 500);
});
