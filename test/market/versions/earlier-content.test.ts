import { expect, test } from 'vitest';
import type { CorporateAction } from '#domain/market/market-data.js';
import { computeContentHash } from '#market/content/content-hash.js';
import type { MarketContent } from '#market/content/market-content.js';
import { changeCounts, computeDifference } from '#market/content/changes.js';
import { decodeChange, decodeContent, encodeChange } from '#market/content/content-copy.js';
import { computeContentChange, restoreContent } from '#market/content/versions.js';
import { seeded } from '../../seeded.js';
import { createCopy } from './copy-of.js';

/** Market as plain values: bars by field, day and security. */
interface PlainMarket {
  readonly days: readonly number[];
  readonly names: readonly string[];
  readonly fields: ReadonlyMap<string, ReadonlyMap<string, number>>;
  readonly actions: readonly CorporateAction[];
  readonly sectors: ReadonlyMap<string, string>;
  readonly series: readonly (readonly [number, number])[];
}

const formatKey = (day: number, name: string): string => `${day} ${name}`;

function createContent({ days, names, fields, actions, sectors, series }: PlainMarket): MarketContent {
  const panels = [...fields].map(([field, values]) => {
    const panel = new Float64Array(new SharedArrayBuffer(8 * days.length * names.length));
    days.forEach((day, t) =>
      names.forEach((name, n) => (panel[t * names.length + n] = values.get(formatKey(day, name)) ?? Number.NaN)),
    );
    return [field, panel] as const;
  });
  const [identifier, name, currency] = ['RATE', null, 'EUR'] as const;
  const points = { days: Int32Array.from(series, ([d]) => d), closes: Float64Array.from(series, ([, value]) => value) };
  return {
    identifiers: names,
    dates: Int32Array.from(days),
    fields: new Map(panels),
    reference: {
      columns: ['SECTOR'],
      rows: new Map([...sectors].map(([of, sector]) => [of, [{ validFrom: null, values: [sector] }]])),
    },
    actions,
    universes: [{ universe: 'ALL', identifier: names[0]!, start: null, end: null }],
    ...(series.length === 0 ? {} : { series: new Map([[identifier, { identifier, name, currency, ...points }]]) }),
  };
}

const createDividend = (identifier: string, exDay: number, value: number): CorporateAction => ({
  identifier,
  type: 'DIVIDEND',
  value,
  exDay,
  payDay: null,
  status: null,
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
});

/**
 * Returns the market after one change. It can be an appended day, a correction, a listing, a delisting, a dividend or a
 * column.
 */
function changeMarket(market: PlainMarket, random: () => number): PlainMarket {
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!;
  const draw = random();
  const addCell = (field: string, cell: string, value: number | undefined): PlainMarket['fields'] => {
    const values = new Map(market.fields.get(field) ?? []);
    if (value === undefined) values.delete(cell);
    else values.set(cell, value);
    return new Map([...market.fields, [field, values]]);
  };
  if (draw < 0.35) {
    const day = market.days.at(-1)! + 1;
    let fields = market.fields;
    for (const name of market.names)
      fields = new Map([...fields, ['CLOSE', new Map([...fields.get('CLOSE')!, [formatKey(day, name), random()]])]]);
    return { ...market, days: [...market.days, day], fields, series: [...market.series, [day, random()]] };
  }
  if (draw < 0.6)
    return { ...market, fields: addCell('CLOSE', formatKey(pick(market.days), pick(market.names)), random() - 0.1) };
  if (draw < 0.65) return { ...market, fields: addCell('CLOSE', formatKey(pick(market.days), pick(market.names)), -0) };
  if (draw < 0.7) return { ...market, days: market.days.filter((day) => day !== pick(market.days.slice(1))) };
  if (draw < 0.78) return { ...market, names: [...market.names, `N${Math.floor(random() * 1e6)}`].toSorted() };
  if (draw < 0.83 && market.names.length > 2) return { ...market, names: market.names.slice(1) };
  if (draw < 0.88)
    return { ...market, fields: addCell('VOLUME', formatKey(pick(market.days), pick(market.names)), random()) };
  if (draw < 0.92) return { ...market, fields: new Map([['CLOSE', market.fields.get('CLOSE')!]]) };
  if (draw < 0.96)
    return { ...market, actions: [...market.actions, createDividend(pick(market.names), pick(market.days), random())] };
  return { ...market, sectors: new Map([...market.sectors, [pick(market.names), `S${Math.floor(random() * 3)}`]]) };
}

const FIRST: PlainMarket = {
  days: [100, 101, 102],
  names: ['A', 'B', 'C'],
  fields: new Map([
    ['CLOSE', new Map([100, 101, 102].flatMap((d) => ['A', 'B', 'C'].map((n) => [formatKey(d, n), d])))],
  ]),
  actions: [createDividend('A', 101, 0.5)],
  sectors: new Map([['A', 'S0']]),
  series: [],
};

test('every earlier content of random edits comes back with its hash, through the bytes that are kept', async () => {
  const random = seeded(7);
  let market = FIRST;
  const contents = [createContent(market)];
  for (let i = 0; i < 60; i++) contents.push(createContent((market = changeMarket(market, random))));
  const changes = contents
    .slice(1)
    .map((after, i) => decodeChange(encodeChange(computeContentChange(contents[i]!, after))));
  const last = contents.at(-1)!;
  for (const [i, content] of contents.entries()) {
    const restoredContent = restoreContent(last, changes.slice(i).toReversed());
    expect(await computeContentHash(restoredContent), `content ${i}`).toBe(await computeContentHash(content));
    expect(restoredContent.actions).toEqual(content.actions);
  }
});

test('a copy has the content that it was made of, and with the changes since each that came later', async () => {
  const random = seeded(11);
  let market = FIRST;
  const contents = [createContent(market)];
  for (let i = 0; i < 20; i++) contents.push(createContent((market = changeMarket(market, random))));
  const copiedContent = decodeContent(createCopy(contents[0]!));
  expect(copiedContent).toEqual(contents[0]);
  const changes = contents
    .slice(1)
    .map((after, i) => decodeChange(encodeChange(computeContentChange(after, contents[i]!))));
  for (const [i, content] of contents.entries())
    expect(await computeContentHash(restoreContent(copiedContent, changes.slice(0, i))), `content ${i}`).toBe(
      await computeContentHash(content),
    );
});

test('an appended day is removed without a copy; a correction copies only its own column', () => {
  const [before, after] = [createContent(FIRST), createContent({ ...FIRST, days: [100, 101, 102, 103] })];
  const appendedContent = restoreContent(after, [computeContentChange(before, after)]);
  expect(appendedContent.fields.get('CLOSE')!.buffer).toBe(after.fields.get('CLOSE')!.buffer);
  expect(appendedContent.fields.get('CLOSE')).toHaveLength(9);
  const volume = new Map([['VOLUME', new Map([[formatKey(100, 'A'), 5]])]]);
  const bothContent = createContent({ ...FIRST, fields: new Map([...FIRST.fields, ...volume]) });
  const closes = new Map([...FIRST.fields.get('CLOSE')!, [formatKey(101, 'B'), 7]]);
  const correctedContent = createContent({ ...FIRST, fields: new Map([['CLOSE', closes], ...volume]) });
  const undone = restoreContent(correctedContent, [computeContentChange(bothContent, correctedContent)]);
  expect(undone.fields.get('CLOSE')![4]).toBe(101);
  expect(undone.fields.get('VOLUME')!.buffer).toBe(correctedContent.fields.get('VOLUME')!.buffer);
});

test('the cost of a change is the changed data: a day, or the cell of a correction', () => {
  const names = Array.from({ length: 200 }, (_, n) => `N${String(n).padStart(3, '0')}`);
  const random = seeded(3);
  const days = Array.from({ length: 300 }, (_, t) => t);
  const closes = new Map(days.flatMap((day) => names.map((name) => [formatKey(day, name), random()] as const)));
  const market: PlainMarket = { ...FIRST, days, names, fields: new Map([['CLOSE', closes]]) };
  const before = createContent(market);
  const cell = new Map([...closes, [formatKey(150, 'N100'), 1]]);
  const measureChange = (after: PlainMarket): number =>
    encodeChange(computeContentChange(before, createContent(after))).length;
  expect(measureChange({ ...market, days: [...days, 300] })).toBeLessThan(400);
  expect(measureChange({ ...market, fields: new Map([['CLOSE', cell]]) })).toBeLessThan(400);
});

test('late values are reported: a bar that was missing, a dividend of a past day; values of later days are appended', () => {
  const missing = new Map([...FIRST.fields.get('CLOSE')!].filter(([key]) => key !== formatKey(101, 'B')));
  const before = createContent({ ...FIRST, fields: new Map([['CLOSE', missing]]), actions: [] });
  const after = createContent({ ...FIRST, actions: [createDividend('A', 101, 0.6), createDividend('A', 500, 9)] });
  const lateDifference = computeDifference(before, after, { limit: 9, isAppendedListed: false });
  expect(lateDifference.rows).toEqual({ added: 3, changed: 0, removed: 0 });
  const isLate = { date: '1970-04-12', before: null };
  expect(lateDifference.changes).toEqual(
    expect.arrayContaining([
      {
        ...isLate,
        table: 'market',
        identifier: 'B',
        field: 'CLOSE',
        after: FIRST.fields.get('CLOSE')!.get(formatKey(101, 'B')),
      },
      { ...isLate, table: 'corporate_actions', identifier: 'A', field: 'DIVIDEND.value', after: 0.6 },
    ]),
  );
  expect(lateDifference.changes.every(({ date }) => date === isLate.date)).toBe(true);
  // In the opposite direction these values are removed. The values of the added day are removed as well.
  const goneDifference = computeDifference(after, before, { limit: 99, isAppendedListed: false }).changes;
  const turnedCells = lateDifference.changes.map((cell) => ({ ...cell, before: cell.after, after: null }));
  expect(goneDifference.filter(({ date }) => date === isLate.date)).toEqual(turnedCells);
});

test('rows are counted as added, changed and removed, and cells are reported with both values', () => {
  const before = createContent(FIRST);
  const closes = new Map([
    ...[...FIRST.fields.get('CLOSE')!].filter(([key]) => key !== formatKey(102, 'C')),
    [formatKey(100, 'A'), 99] as const,
    [formatKey(103, 'A'), 1] as const,
    [formatKey(103, 'B'), 1] as const,
  ]);
  const after = createContent({
    ...FIRST,
    days: [100, 101, 102, 103],
    fields: new Map([['CLOSE', closes]]),
    actions: [createDividend('A', 101, 0.6)],
  });
  const counts = { added: 2, changed: 2, removed: 1 }; // two bars added, a bar and the dividend changed, a bar removed
  const bars = { added: 2, changed: 1, removed: 1 };
  expect(changeCounts(before, after)).toEqual({ ...counts, bars });
  const { cells, rows, changes, appended, isCut } = computeDifference(before, after, {
    limit: 2,
    isAppendedListed: false,
  });
  expect(isCut).toBe(true);
  for (const [limit, isAppendedListed, isShort] of [
    [3, false, false],
    [3, true, true],
    [4, true, true],
    [5, true, false],
  ] as const)
    expect(computeDifference(before, after, { limit, isAppendedListed }).isCut).toBe(isShort);
  expect(rows).toEqual(counts);
  expect(cells).toBe(3);
  expect(appended).toEqual({ sessions: 1, rows: 2, start: '1970-04-14', end: '1970-04-14' });
  const list = computeDifference(before, after, { limit: 9, isAppendedListed: true }).changes;
  const came = { table: 'market', date: '1970-04-14', field: 'CLOSE', before: null, after: 1 };
  expect(list.slice(-2)).toEqual([
    { ...came, identifier: 'A' },
    { ...came, identifier: 'B' },
  ]);
  expect(computeDifference(before, before, { limit: 9, isAppendedListed: true }).appended).toBeNull();
  expect(changes).toEqual([
    { table: 'market', identifier: 'A', date: '1970-04-11', field: 'CLOSE', before: 100, after: 99 },
    { table: 'market', identifier: 'C', date: '1970-04-13', field: 'CLOSE', before: 102, after: null },
  ]);
});

test('a column that came changes the bars that have a value in it, in the list of versions as in their difference', () => {
  const before = createContent(FIRST);
  const volume = new Map([
    [formatKey(100, 'A'), 5],
    [formatKey(102, 'C'), 6],
    [formatKey(103, 'B'), 7], // a bar of the added day, without a close
  ]);
  const days = [...FIRST.days, 103];
  const after = createContent({ ...FIRST, days, fields: new Map([...FIRST.fields, ['VOLUME', volume]]) });
  const bars = { added: 1, changed: 2, removed: 0 };
  expect(changeCounts(before, after)).toEqual({ ...bars, bars });
  expect(computeDifference(before, after, { limit: 9, isAppendedListed: false })).toMatchObject({
    cells: 2,
    rows: bars,
  });
  const goneCounts = { added: 0, changed: 2, removed: 1 };
  expect(changeCounts(after, before)).toEqual({ ...goneCounts, bars: goneCounts });
});

test('content with shared memory counts the same as other content', () => {
  const before = createContent(FIRST);
  const close = new Float64Array([...before.fields.get('CLOSE')!, 1, Number.NaN, 2]);
  const grownContent = { ...before, dates: Int32Array.of(100, 101, 102, 103), fields: new Map([['CLOSE', close]]) };
  const sharedContent = { ...before, fields: new Map([['CLOSE', close.subarray(0, 9)]]) };
  const bars = { added: 2, changed: 0, removed: 0 };
  for (const heldContent of [before, sharedContent])
    expect(changeCounts(heldContent, grownContent)).toEqual({ ...bars, bars });
  expect(changeCounts(sharedContent, { ...grownContent, dates: Int32Array.of(100, 101, 103, 104) }).bars).toEqual({
    added: 5,
    changed: 0,
    removed: 3,
  });
});
