import { describe, expect, test } from 'vitest';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { formatDay } from '#domain/base/time.js';
import type { Adjustment, CorporateAction } from '#domain/market/market-data.js';
import { applyRepairs, auditMarket, changesContent } from '#market/judge/audit.js';
import type { DataWarning, Repair } from '#market/judge/security-histories.js';
import type { MarketContent } from '#market/content/market-content.js';
import { allocateEmptyPanel } from '#market/panels/panels.js';
import { NO_TABLES } from '../../domain/backtest/market-builder.js';

const SESSIONS = 200;
const FIRST = 19_000;
/** Position of the bar with the event. */
const BAR = 100;
const DATE = formatDay(FIRST + BAR);

interface PriceStory {
  readonly names?: number;
  readonly growth?: (bar: number, ordinary: number) => number;
  /** Replaces the ordinary traded shares of A, about 1000, on a bar. */
  readonly volume?: (bar: number, ordinary: number) => number;
  /** Growth of all securities on the bar of the event. */
  readonly market?: number;
  readonly actions?: readonly CorporateAction[];
}

/** Returns a market of securities with daily moves of up to 1.5 % and nearly equal volumes. A has the event. */
function createMarket({ names = 1, growth, volume, market = 1, actions = [] }: PriceStory): MarketContent {
  const random = createCounterRandom({ seed: 3, stream: 0 });
  const identifiers = Array.from({ length: names }, (_, n) => String.fromCharCode(65 + n));
  const [close, shares] = [allocateEmptyPanel(SESSIONS * names), allocateEmptyPanel(SESSIONS * names)];
  const price = identifiers.map(() => 100);
  for (let t = 0; t < SESSIONS; t++) {
    for (let n = 0; n < names; n++) {
      const ordinary = (1 + 0.03 * (random.uniform() - 0.5)) * (t === BAR ? market : 1);
      price[n]! *= n === 0 && growth !== undefined ? growth(t, ordinary) : ordinary;
      close[t * names + n] = price[n]!;
      const tradedVolume = 800 + 400 * random.uniform();
      shares[t * names + n] = n === 0 && volume !== undefined ? volume(t, tradedVolume) : tradedVolume;
    }
  }
  return {
    identifiers,
    dates: Int32Array.from({ length: SESSIONS }, (_, t) => FIRST + t),
    fields: new Map([
      ['CLOSE', close],
      ['VOLUME', shares],
    ]),
    ...NO_TABLES,
    actions,
  };
}

const listMissedSplits = (content: MarketContent, adjustment: Adjustment): readonly DataWarning[] =>
  auditMarket(content, adjustment, () => {}).doubts;
const split = (t: number, ordinary: number) => (t === BAR ? ordinary / 2 : ordinary);
const createAction = (type: CorporateAction['type'], value: number, bar = BAR): CorporateAction => ({
  identifier: 'A',
  type,
  value,
  exDay: FIRST + bar,
  payDay: null,
  status: null,
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
});

describe('a price that halves', () => {
  test('on ordinary volume with quiet days after it is a split without an action', () => {
    const content = createMarket({ growth: split });
    expect(listMissedSplits(content, 'none')).toMatchObject([
      {
        kind: 'missed_split',
        identifier: 'A',
        date: DATE,
        evidence: { ratio: 2 },
        repair: { kind: 'insert_action', action: { type: 'SPLIT', value: 2, ex_date: DATE } },
      },
    ]);
  });

  test('on eight times the volume, before days of unrest, is a fall', () => {
    const content = createMarket({
      growth: (t, ordinary) =>
        t === BAR ? 0.49 : t > BAR && t <= BAR + 5 ? 1 + (t % 2 === 0 ? 0.06 : -0.05) : ordinary,
      volume: (t, ordinary) => (t >= BAR && t <= BAR + 5 ? 8 * ordinary : ordinary),
    });
    for (const adjustment of ['none', 'splits', 'total'] as const) {
      expect(
        listMissedSplits(content, adjustment).filter(({ repair, kind }) => repair !== null || kind === 'missed_split'),
        adjustment,
      ).toEqual([]);
    }
  });

  test('while the market falls by a quarter is a split only if the remaining move is one', () => {
    const halvedMarket = createMarket({ names: 15, growth: split, market: 0.75 });
    expect(listMissedSplits(halvedMarket, 'none').filter(({ identifier }) => identifier === 'A')).toMatchObject([
      { kind: 'missed_split', evidence: { ratio: 2 } },
    ]);
  });
});

describe('a price that halves next to an action', () => {
  const halved = createMarket({ names: 2, growth: split });
  const readClose = (bar: number, n: number) => halved.fields.get('CLOSE')![bar * 2 + n]!;
  const listOfA = (actions: readonly CorporateAction[]) =>
    listMissedSplits({ ...halved, actions }, 'none').filter(({ identifier }) => identifier === 'A');

  test('is no certain split if a hundred times the dividend of the day explains the fall as well', () => {
    const paid = readClose(BAR - 1, 0) - readClose(BAR, 0);
    const dividend = (amount: number) => createAction('DIVIDEND', Number(amount.toFixed(4)));
    expect(listOfA([dividend(paid / 100)])).toMatchObject([
      {
        kind: 'missed_split',
        confidence: 0.6,
        message: expect.stringContaining(`A DIVIDEND of ${dividend(paid).value.toFixed(2)}`),
      },
    ]);
    expect(listOfA([dividend(paid / 70)])).toMatchObject([{ kind: 'missed_split', confidence: 0.99 }]);
  });

  test('has no split that would correct a spin-off of the day with a wrong ratio', () => {
    // The value of the shares of B is 4.5 times the price before, so that the whole grows fivefold.
    const ratio = (4.5 * readClose(BAR - 1, 0)) / readClose(BAR, 1);
    expect(listOfA([{ ...createAction('SPIN_OFF', ratio), related: 'B' }])).toMatchObject([
      { kind: 'unexplained_jump', repair: null },
    ]);
  });
});

describe('a split that split-adjusted prices lack', () => {
  test('is undone by dividing the prices before it, and by multiplying the volume where that is as traded too', () => {
    const tradedMarket = createMarket({ growth: split, volume: (t, ordinary) => (t < BAR ? ordinary / 2 : ordinary) });
    const wholeMarket = createMarket({});
    const [warning] = listMissedSplits(tradedMarket, 'splits');
    expect(warning!.repair).toEqual({
      kind: 'scale',
      identifier: 'A',
      from: formatDay(FIRST),
      to: formatDay(FIRST + BAR - 1),
      columns: ['CLOSE'],
      factor: 0.5,
      inverse_columns: ['VOLUME'],
    });
    const repairedMarket = applyRepairs(tradedMarket, [warning!.repair!]);
    expect(listMissedSplits(repairedMarket, 'splits')).toEqual([]);
    const [volume, expected] = [repairedMarket.fields.get('VOLUME')!, wholeMarket.fields.get('VOLUME')!];
    volume.forEach((shares, t) => expect(shares / expected[t]!).toBeCloseTo(1, 9));
  });

  test('leaves volume alone that is on the later basis already', () => {
    expect(listMissedSplits(createMarket({ growth: split }), 'splits')[0]!.repair).not.toHaveProperty(
      'inverse_columns',
    );
  });

  test('stays flagged when its action is added, for that changes no price', () => {
    const content = createMarket({ growth: split });
    const insert: Repair = {
      kind: 'insert_action',
      action: { identifier: 'A', type: 'SPLIT', value: 2, ex_date: DATE },
    };
    expect(changesContent(content, 'splits', insert)).toBe(false);
    expect(
      listMissedSplits(applyRepairs(content, [insert]), 'splits').map(({ id, repair }) => [id, repair?.kind]),
    ).toEqual([[`missed_split A ${DATE}`, 'scale']]);
    expect(listMissedSplits(applyRepairs(content, [insert]), 'none')).toEqual([]);
  });
});

describe('an action on the day of a jump', () => {
  test('that does not explain it leaves the warning', () => {
    const content = createMarket({ growth: split, actions: [createAction('DIVIDEND', 0.2)] });
    expect(listMissedSplits(content, 'none').map(({ kind }) => kind)).toEqual(['missed_split']);
    const grownMarket = createMarket({
      growth: (t, ordinary) => (t === BAR ? 1.8 : ordinary),
      actions: [createAction('DIVIDEND', 0.2)],
    });
    expect(listMissedSplits(grownMarket, 'splits').map(({ kind }) => kind)).toEqual(['unexplained_jump']);
  });

  test('that pays what the price falls by explains it', () => {
    const before = createMarket({}).fields.get('CLOSE')![BAR - 1]!;
    const content = createMarket({ growth: split, actions: [createAction('SPECIAL_DIVIDEND', before / 2)] });
    expect(listMissedSplits(content, 'none')).toEqual([]);
  });

  test('that splits by another ratio than the price did is corrected, or removed when the price did not split', () => {
    const halvedMarket = createMarket({ growth: split, actions: [createAction('SPLIT', 10)] });
    const unsplit = createMarket({ actions: [createAction('SPLIT', 4)] });
    const repairs = [halvedMarket, unsplit].map((content) =>
      listMissedSplits(content, 'none').map(({ repair }) => repair),
    );
    expect(repairs).toMatchObject([
      [{ kind: 'replace_action', action: { value: 10 }, value: 2 }],
      [{ kind: 'remove_action', action: { value: 4 } }],
    ]);
    expect(listMissedSplits(applyRepairs(halvedMarket, [repairs[0]![0]!]), 'none')).toEqual([]);
    expect(listMissedSplits(applyRepairs(unsplit, [repairs[1]![0]!]), 'none')).toEqual([]);
  });
});

describe.each([-3, -1, 1, 3])('a split whose action is dated %i bars away', (bars) => {
  const market = createMarket({ growth: split, actions: [createAction('SPLIT', 2, BAR + bars)] });

  test('is flagged on the day of the price, and no price is', () => {
    expect(listMissedSplits(market, 'none')).toMatchObject([
      {
        kind: 'missed_split',
        date: DATE,
        evidence: { ratio: 2 },
        message: expect.stringContaining(`its action says ${formatDay(FIRST + BAR + bars)}`),
        repair: {
          kind: 'replace_action',
          action: { type: 'SPLIT', value: 2, ex_date: formatDay(FIRST + BAR + bars) },
          value: 2,
          ex_date: DATE,
        },
      },
    ]);
  });

  test('is repaired by moving the action', () => {
    const [{ repair } = { repair: null }] = listMissedSplits(market, 'none');
    expect(changesContent(market, 'none', repair!)).toBe(true);
    const movedMarket = applyRepairs(market, [repair!]);
    expect(movedMarket.actions).toEqual([createAction('SPLIT', 2)]);
    expect(changesContent(movedMarket, 'none', repair!)).toBe(false);
    expect(listMissedSplits(movedMarket, 'none')).toEqual([]);
  });

  test('is not flagged once the action has that day', () => {
    expect(listMissedSplits({ ...market, actions: [createAction('SPLIT', 2)] }, 'none')).toEqual([]);
  });
});

describe('a price that comes back', () => {
  const createPath = (steps: readonly number[]) =>
    createMarket({ growth: (t, ordinary) => steps[t - BAR] ?? ordinary });

  test('in one bar was a wrong print', () => {
    expect(listMissedSplits(createPath([0.6, 1 / 0.6]), 'splits')).toMatchObject([
      { kind: 'unexplained_jump', date: DATE, repair: { kind: 'remove_values', from: DATE, to: DATE } },
    ]);
  });

  test('across a split was a wrong print too', () => {
    const content = createMarket({
      growth: (t, ordinary) => (t === BAR ? 0.5 * 0.6 : t === BAR + 1 ? 1 / 0.6 : ordinary),
      actions: [createAction('SPLIT', 2)],
    });
    expect(listMissedSplits(content, 'none')).toMatchObject([
      { kind: 'unexplained_jump', date: DATE, repair: { kind: 'remove_values', from: DATE, to: DATE } },
    ]);
  });

  test('is settled by removing the print with its volume', () => {
    const content = createPath([0.6, 1 / 0.6]);
    const { repair } = listMissedSplits(content, 'splits')[0]!;
    expect(repair).toMatchObject({ kind: 'remove_values', columns: ['CLOSE', 'VOLUME'] });
    expect(listMissedSplits(applyRepairs(content, [repair!]), 'splits')).toEqual([]);
  });

  test('gradually was a fall, and nothing is removed', () => {
    expect(
      listMissedSplits(createPath([0.69, 0.76, 1.27, 1.24, 1.1]), 'splits').filter(({ repair }) => repair !== null),
    ).toEqual([]);
  });
});

test('a repair without an effect on the store is none', () => {
  const content = createMarket({ actions: [createAction('DIVIDEND', 1)] });
  const cells = { identifier: 'A', from: formatDay(FIRST), to: DATE, columns: ['CLOSE'] };
  const row = { identifier: 'A', type: 'DIVIDEND', value: 1, ex_date: DATE } as const;
  const repairsWithout: readonly Repair[] = [
    { kind: 'scale', ...cells, factor: 1 },
    { kind: 'scale', ...cells, columns: ['OPEN'], factor: 2 },
    { kind: 'remove_values', ...cells, from: '2100-01-01', to: '2100-01-02' },
    { kind: 'insert_action', action: row },
    { kind: 'insert_action', action: { ...row, type: 'SPLIT', value: 2 } },
    { kind: 'replace_action', action: row, value: 1 },
    { kind: 'remove_action', action: { ...row, value: 3 } },
  ];
  const withEffect: readonly Repair[] = [
    { kind: 'scale', ...cells, factor: 2 },
    { kind: 'remove_values', ...cells },
    { kind: 'insert_action', action: { ...row, value: 2 } },
    { kind: 'replace_action', action: row, value: 2 },
    { kind: 'remove_action', action: row },
  ];
  expect(repairsWithout.map((repair) => changesContent(content, 'total', repair))).toEqual(
    repairsWithout.map(() => false),
  );
  expect(withEffect.map((repair) => changesContent(content, 'total', repair))).toEqual(withEffect.map(() => true));
});
