import { describe, expect, test } from 'vitest';
import { parseValidDay } from '#domain/base/time.js';
import { computeContentHash } from '#market/content/content-hash.js';
import { refreshContent } from '#market/judge/refresh.js';
import { seeded } from '../../seeded.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { readFolderContent, writeFiles } from '../store-folder.js';

const createFolder = openTemporaryFolders();

interface Bar {
  readonly date: string;
  readonly open: number | string;
  readonly close: number | string;
  readonly volume: number | string;
}

const formatActionRows = (rows: readonly string[]) => `identifier,type,value,ex_date\n${rows.join('\n')}\n`;

async function readContent(bars: Readonly<Record<string, readonly Bar[]>>, actions: readonly string[] = []) {
  const folder = await createFolder();
  const rows = Object.entries(bars).flatMap(([identifier, list]) =>
    list.map(({ date, open, close, volume }) => `${identifier},${date},${open},${close},${volume}`),
  );
  await writeFiles(folder, {
    'market.csv': `identifier,date,OPEN,CLOSE,VOLUME\n${rows.join('\n')}\n`,
    ...(actions.length === 0 ? {} : { 'corporate_actions.csv': formatActionRows(actions) }),
  });
  return readFolderContent(folder);
}

const DAYS = ['2020-08-24', '2020-08-25', '2020-08-26', '2020-08-27', '2020-08-28', '2020-08-31'];

/**
 * Returns the data of a security that splits on the last day. A vendor delivers it once before the split and once after
 * it.
 */
function splitSecurity(ratio: number, decimals: number, { seed = 1, price = 500 } = {}) {
  const random = seeded(seed);
  const prices = DAYS.map(() => price * (0.95 + 0.1 * random()));
  const volumes = DAYS.map(() => Math.round(1e6 * (1 + random())));
  const createBar = (date: string, t: number, factor: number): Bar => ({
    date,
    open: (Number((prices[t]! * 1.01).toFixed(decimals)) * factor).toFixed(decimals),
    close: (Number(prices[t]!.toFixed(decimals)) * factor).toFixed(decimals),
    volume: Math.round(volumes[t]! / factor),
  });
  const tradedBars = DAYS.slice(0, -1).map((date, t) => createBar(date, t, 1));
  const restatedBars = [
    ...DAYS.slice(0, -1).map((date, t) => createBar(date, t, 1 / ratio)),
    {
      date: DAYS.at(-1)!,
      open: (prices.at(-1)! / ratio).toFixed(decimals),
      close: (prices.at(-1)! / ratio).toFixed(decimals),
      volume: Math.round(volumes.at(-1)! * ratio),
    },
  ];
  return { asTraded: tradedBars, restated: restatedBars };
}

const OTHER_BARS = DAYS.map((date, t): Bar => ({ date, open: 20 + t, close: 20 + t, volume: 1000 + t }));
const OPTIONS = { until: null, full: false, isWhole: true, adjustment: 'splits' } as const;

describe('a history divided by the ratio of a split', () => {
  test.each([
    [4, 2],
    [7, 2],
    [1.5, 2],
    [20, 4],
    [0.1, 2],
    [0.05, 3],
  ])('of %d is accepted with the new bar, within the rounding of %d decimals', async (ratio, decimals) => {
    const { asTraded, restated } = splitSecurity(ratio, decimals, { price: ratio < 1 ? 3 : 500 });
    const heldContent = await readContent({ A: asTraded, B: OTHER_BARS.slice(0, -1) }, ['A,DIVIDEND,0.82,2020-08-25']);
    const freshContent = await readContent({ A: restated, B: OTHER_BARS }, [`A,DIVIDEND,${0.82 / ratio},2020-08-25`]);
    const { content: after, report } = refreshContent(heldContent, freshContent, OPTIONS);
    expect(await computeContentHash(after)).toBe(await computeContentHash(freshContent));
    expect(report).toMatchObject({
      dates_added: 1,
      datasets: { market: { added: 2, changed: 5, removed: 0 }, corporate_actions: { changed: 1 } },
      split_restatements: [{ identifier: 'A', ratio, date: '2020-08-31' }],
      rejected: [],
      left_out: null,
      findings: [{ severity: 'info', code: 'SPLIT_RESTATED', path: 'market.A', value: ratio }],
    });
  });

  test('is recognised after the day of the split was stored on the old basis', async () => {
    const { asTraded, restated } = splitSecurity(4, 2);
    const heldContent = await readContent({ A: [...asTraded, restated.at(-1)!] });
    const freshContent = await readContent({ A: restated });
    const { content: after, report } = refreshContent(heldContent, freshContent, OPTIONS);
    expect(await computeContentHash(after)).toBe(await computeContentHash(freshContent));
    expect(report.split_restatements).toEqual([{ identifier: 'A', ratio: 4, date: '2020-08-31' }]);
  });

  test('is accepted as a whole if later dates are not yet requested', async () => {
    const { asTraded, restated } = splitSecurity(4, 2);
    const freshContent = await readContent({ A: restated });
    const { content: after, report } = refreshContent(await readContent({ A: asTraded }), freshContent, {
      ...OPTIONS,
      until: parseValidDay('2020-08-25'),
    });
    expect(await computeContentHash(after)).toBe(
      await computeContentHash(await readContent({ A: restated.slice(0, -1) })),
    );
    expect(report).toMatchObject({ dates_added: 0, split_restatements: [{ ratio: 4 }] });
  });

  test('is named by the date of the split among the actions of the source', async () => {
    const { asTraded, restated } = splitSecurity(4, 2);
    const freshContent = await readContent({ A: restated.slice(0, -1) }, ['A,SPLIT,4,2020-08-31']);
    const { report } = refreshContent(await readContent({ A: asTraded }), freshContent, OPTIONS);
    expect(report.split_restatements).toEqual([{ identifier: 'A', ratio: 4, date: '2020-08-31' }]);
  });
});

/** Changes of prices that no split explains. */
const OTHER_CHANGES: readonly (readonly [
  string,
  (bars: readonly Bar[]) => readonly Bar[],
  { readonly actions?: readonly string[]; readonly adjustment?: 'none' },
])[] = [
  ['one close', (bars) => bars.map((bar, t) => (t === 2 ? { ...bar, close: Number(bar.close) * 2 } : bar)), {}],
  ['the first close, by a ratio', (bars) => [{ ...bars[0]!, close: Number(bars[0]!.close) / 2 }, ...bars.slice(1)], {}],
  ['volumes that are as they were', (bars) => bars.map((bar) => ({ ...bar, volume: 1_000_000 })), {}],
  ['one price that is not divided', (bars) => [{ ...bars[0]!, open: 505 }, ...bars.slice(1)], {}],
  ['a bar that is missing', (bars) => bars.slice(1), {}],
  ['dividends that are not divided', (bars) => bars, { actions: ['A,DIVIDEND,0.82,2020-08-25'] }],
  [
    'a split that a store as traded also has as an action',
    (bars) => bars,
    { actions: ['A,SPLIT,4,2020-08-31'], adjustment: 'none' },
  ],
  [
    'a factor of no split',
    (bars) => bars.map((bar) => ({ ...bar, close: (Number(bar.close) * 1.003).toFixed(2) })),
    {},
  ],
];

test.each(OTHER_CHANGES)(
  'a restatement with %s is rejected, and nothing of the security changes',
  async (what, change, terms) => {
    const { asTraded, restated } = splitSecurity(4, 2);
    const isSplit = !what.includes('close');
    const source = isSplit ? restated : [...asTraded, { ...restated.at(-1)!, close: asTraded.at(-1)!.close }];
    const dividend = 'A,DIVIDEND,0.82,2020-08-25';
    const heldContent = await readContent(
      { A: asTraded, B: OTHER_BARS.slice(0, -1) },
      terms.actions === undefined ? [] : [dividend],
    );
    const actions =
      terms.adjustment === 'none' ? ['A,DIVIDEND,0.205,2020-08-25', ...terms.actions!] : (terms.actions ?? []);
    const freshContent = await readContent({ A: change(source), B: OTHER_BARS }, actions);
    const { content: after, report } = refreshContent(heldContent, freshContent, {
      ...OPTIONS,
      adjustment: terms.adjustment ?? 'splits',
    });
    expect(report).toMatchObject({
      split_restatements: [],
      rejected: [{ identifier: 'A', held_back: 1 }],
      dates_added: 1,
    });
    const wantedContent = await readContent(
      { A: asTraded, B: OTHER_BARS },
      terms.actions === undefined ? [] : [dividend],
    );
    expect(await computeContentHash(after)).toBe(await computeContentHash(wantedContent));
  },
);
