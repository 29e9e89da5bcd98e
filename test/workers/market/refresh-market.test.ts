import { fc } from '../../fast-check.js';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type MarketData, type MarketHandle, openMarket } from '#domain/market/market-data.js';
import { digestContent } from '#market/content/content-hash.js';
import type { MarketContent } from '#market/content/market-content.js';
import { allocateEmptyPanel, removeEmptyLines } from '#market/panels/panels.js';
import { handOverContent } from '../../market/process/handed-over.js';
import { refreshMarket } from '#workers/market/markets.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';

const createFolder = openTemporaryFolders();
const control = { report: () => {} };
const NAMES = ['A', 'B', 'C', 'D'];

/** Returns the content of a range of days. Each security has bars from its first day on, with some gaps. */
function createContent(
  from: number,
  to: number,
  options: { readonly dividends: readonly number[]; readonly dueDay?: number },
): MarketContent {
  const names = NAMES.filter((_, n) => findFirstDay(n, options.dueDay) < to);
  const close = allocateEmptyPanel((to - from) * names.length);
  const volume = allocateEmptyPanel((to - from) * names.length);
  for (let t = from; t < to; t++) {
    for (let n = 0; n < names.length; n++) {
      const cell = (t - from) * names.length + n;
      if (t < findFirstDay(n, options.dueDay) || (t * 7 + n) % 11 === 3) continue;
      close[cell] = 1 / (t + 2) + n;
      if ((t + n) % 5 !== 0) volume[cell] = t * 100 + n;
    }
  }
  // A source contains no security without a bar. Its reader leaves such securities out.
  const panels = removeEmptyLines({
    identifiers: names,
    dates: Int32Array.from({ length: to - from }, (_, i) => 10_000 + from + i),
    fields: new Map([
      ['CLOSE', close],
      ['VOLUME', volume],
    ]),
  });
  return {
    ...panels,
    reference: { columns: [], rows: new Map() },
    universes: [],
    actions: options.dividends.map((exDay) => ({
      identifier: 'A',
      type: 'DIVIDEND' as const,
      value: 0.1,
      exDay: 10_000 + exDay,
      payDay: null,
      status: null,
      announcedDay: null,
      related: null,
      subscriptionPrice: null,
    })),
  };
}

/** Returns the first day of a security. The fourth security is listed on the due day, the others from the start. */
const findFirstDay = (n: number, dueDay = 0) => (n === 3 ? dueDay : 0);

/** Returns a content in the form in which the process that read it passes it on. */
async function transferContent(content: MarketContent): Promise<MarketHandle> {
  const { hash, digests } = await digestContent(content);
  const path = join(await createFolder(), 'market');
  return {
    datasetId: 's',
    contentHash: hash,
    adjustment: 'none',
    digests,
    ...(await handOverContent([path], content)),
  };
}

const formatMarketBits = ({ identifiers, dates, fields, actions }: MarketData) =>
  JSON.stringify([
    identifiers,
    [...dates],
    [...fields]
      .toSorted()
      .map(([name, panel]) => [name, Buffer.from(panel.buffer, panel.byteOffset, panel.byteLength).toString('base64')]),
    actions,
  ]);
const formatBits = (handle: MarketHandle) => formatMarketBits(openMarket(handle));
const add = (
  heldMarket: MarketHandle,
  freshMarket: MarketHandle,
  unchangedTables: readonly ('corporate_actions' | 'reference' | 'universes')[] = [],
) =>
  refreshMarket(
    {
      held: heldMarket,
      fresh: freshMarket,
      options: { until: null, full: false, isWhole: false, unchangedTables },
      calendars: { codes: [] },
    },
    control,
  );
/** Returns true if two handles share memory. Then a write through one handle is visible through the other. */
function isMemoryShared(one: MarketHandle, other: MarketHandle): boolean {
  const [a, b] = [one, other].map(({ fields }) => new Uint8Array(fields[0]!.values)) as [Uint8Array, Uint8Array];
  const before = a[0]!;
  a[0] = before ^ 1;
  const isShared = b[0] === a[0];
  a[0] = before;
  return isShared;
}

test('a growing store equals at every step, bit for bit and by its hash, a store read as a whole, and every earlier version is unchanged', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ days: fc.integer({ min: 1, max: 90 }), isActed: fc.boolean() }), {
        minLength: 1,
        maxLength: 5,
      }),
      fc.integer({ min: 1, max: 80 }),
      fc.integer({ min: 0, max: 200 }),
      async (steps, first, dueDay) => {
        const versions: { readonly handle: MarketHandle; readonly bits: string }[] = [];
        let day = first;
        let dividends: readonly number[] = [0];
        let heldMarket = await transferContent(createContent(0, day, { dividends, dueDay }));
        for (const { days, isActed } of steps) {
          versions.push({ handle: heldMarket, bits: formatBits(heldMarket) });
          if (isActed) dividends = [...dividends, day];
          const freshMarket = await transferContent(createContent(day, day + days, { dividends, dueDay }));
          day += days;
          heldMarket = (
            await add(
              heldMarket,
              freshMarket,
              isActed ? ['reference', 'universes'] : ['corporate_actions', 'reference', 'universes'],
            )
          ).handle;
          const wholeMarket = await transferContent(createContent(0, day, { dividends, dueDay }));
          expect([heldMarket.contentHash, heldMarket.digests]).toEqual([wholeMarket.contentHash, wholeMarket.digests]);
          expect(formatBits(heldMarket)).toBe(formatBits(wholeMarket));
        }
        for (const version of versions) expect(formatBits(version.handle)).toBe(version.bits);
      },
    ),
    { numRuns: 40 },
  ));

test('days are added after the stored days without copying them, until the spare capacity is used', async () => {
  let heldMarket = await transferContent(createContent(0, 10, { dividends: [0] }));
  const addNextRows = async (from: number, to: number) =>
    (await add(heldMarket, await transferContent(createContent(from, to, { dividends: [0] })))).handle;
  const grownMarket = await addNextRows(10, 11);
  expect(isMemoryShared(grownMarket, heldMarket)).toBe(true);
  heldMarket = grownMarket;
  const full = await addNextRows(11, 500);
  expect(isMemoryShared(full, heldMarket)).toBe(false);
  heldMarket = full;
  expect(isMemoryShared(await addNextRows(500, 501), heldMarket)).toBe(true);
});

test('of two versions derived from one, as after a cancelled refresh, neither writes where the other did', async () => {
  const heldMarket = await transferContent(createContent(0, 10, { dividends: [0] }));
  const lostMarket = (await add(heldMarket, await transferContent(createContent(10, 12, { dividends: [0] })))).handle;
  const before = formatBits(lostMarket);
  const freshContent = createContent(10, 13, { dividends: [0] });
  freshContent.fields.get('CLOSE')!.fill(77);
  const { handle } = await add(heldMarket, await transferContent(freshContent));
  expect(formatBits(lostMarket)).toBe(before);
  expect(openMarket(handle).fields.get('CLOSE')!.subarray(-NAMES.length)).toEqual(Float64Array.of(77, 77, 77, 77));
});

test('tables that were read again and are unchanged are not sent again', async () => {
  const heldMarket = await transferContent(createContent(0, 10, { dividends: [0, 1, 2] }));
  const freshMarket = await transferContent(createContent(10, 11, { dividends: [0, 1, 2] }));
  expect((await add(heldMarket, freshMarket)).isSameTables).toBe(true);
  expect(
    (await add(heldMarket, await transferContent(createContent(10, 11, { dividends: [0, 1, 2, 10] })))).isSameTables,
  ).toBe(false);
});
