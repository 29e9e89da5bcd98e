import { describe, expect, test } from 'vitest';
import { limitJumps } from '#domain/backtest/findings.js';
import type { Run } from '#domain/backtest/run.js';
import type { Finding } from '#domain/base/findings.js';
import { createDefinition, repeatPrice, simulate, WEEK } from './event-case.js';
import { buildMarket, createWeekdayCalendars } from './market-builder.js';
import { runOn } from './random-run.js';

const listJumps = ({ findings }: Run) =>
  findings.filter(({ code }) => code === 'PRICE_JUMP').map(({ path, message }) => ({ path, message }));

describe('a run reports the close of a held security', () => {
  test('that falls by 70 % next to a dividend of 0.01', () => {
    const run = simulate({
      close: { A: [100, 100, 30, 30, 30, 30], B: repeatPrice(50) },
      actions: [{ name: 'A', type: 'DIVIDEND', value: 0.01, ex: '2024-03-06' }],
    });
    expect(listJumps(run)).toEqual([
      {
        path: 'market[A 2024-03-06].CLOSE',
        message:
          'A is held, and its CLOSE went from 100.00 on 2024-03-05 to 30.00 on 2024-03-06 with DIVIDEND of 0.01 on 2024-03-06, which implies 99.99.',
      },
    ]);
  });

  test('that halves although its split of 0.5 doubles it', () => {
    const run = simulate({
      close: { A: [100, 100, 50, 50, 50, 50] },
      actions: [{ name: 'A', type: 'SPLIT', value: 0.5, ex: '2024-03-06' }],
    });
    expect(listJumps(run)).toEqual([
      {
        path: 'market[A 2024-03-06].CLOSE',
        message:
          'A is held, and its CLOSE went from 100.00 on 2024-03-05 to 50.00 on 2024-03-06 with SPLIT of 0.5 on 2024-03-06, which implies 200.00. A ratio of 2 explains the move.',
      },
    ]);
  });

  test('that does not move although its split of 2 halves it, so that the level doubles', () => {
    const run = simulate({
      close: { A: [100, 100, 50, 50, 50, 50] },
      actions: [{ name: 'A', type: 'SPLIT', value: 2, ex: '2024-03-07' }],
    });
    expect(listJumps(run)).toEqual([
      {
        path: 'market[A 2024-03-07].CLOSE',
        message:
          'A is held, and its CLOSE went from 50.00 on 2024-03-06 to 50.00 on 2024-03-07 with SPLIT of 2 on 2024-03-07, which implies 25.00.',
      },
    ]);
  });

  test('that falls by 70 % while it is held without a bar for a session', () => {
    const run = simulate({ close: { A: [100, 100, null, 30, 30, 30], B: repeatPrice(50) } });
    expect(listJumps(run).map(({ path }) => path)).toEqual(['market[A 2024-03-07].CLOSE']);
  });
});

describe('a run reports the first close of a new code', () => {
  const change = { name: 'A', type: 'TICKER_CHANGE', value: 0, related: 'KID', ex: '2024-03-06' } as const;
  const describeJump = (before: string, after: string) =>
    `A is held, and its CLOSE went from 90.00 on ${before} to 27.00 of KID on ${after} with TICKER_CHANGE to KID on 2024-03-06, which does not explain it.`;

  test.each([
    ['that is 70 % below the old code', [null, null, 27, 27, 27, 27], '2024-03-06'],
    ['that has earlier bars', [26, 26, 27, 27, 27, 27], '2024-03-06'],
    ['that begins later', [null, null, null, 27, 27, 27], '2024-03-07'],
  ])('%s', (_, KID, day) => {
    const run = simulate({
      close: { A: [90, 90, null, null, null, null], KID, B: repeatPrice(50) },
      actions: [change],
    });
    expect(listJumps(run)).toEqual([{ path: `market[KID ${day}].CLOSE`, message: describeJump('2024-03-05', day) }]);
  });

  test('unless a split of the day explains it, or the old code is not held', () => {
    const close = { A: [90, 90, null, null, null, null], KID: [null, null, 30, 30, 30, 30], B: repeatPrice(50) };
    const split = { name: 'A', type: 'SPLIT', value: 3, ex: '2024-03-06' } as const;
    expect(listJumps(simulate({ close, actions: [change, split] }))).toEqual([]);
    expect(
      listJumps(
        simulate({
          close: { KID: close.A, A: close.KID, B: close.B },
          actions: [{ ...change, name: 'KID', related: 'A' }],
        }),
      ),
    ).toEqual([]);
  });
});

test('runs on one market report the jumps of what each of them holds, in any order', () => {
  const calendars = createWeekdayCalendars({ MAIN: { from: '2024-01-01', to: '2024-12-31' } });
  const close = { A: [100, 100, 30, 30, 30, 30], B: [50, 50, 50, 90, 90, 90], C: [10, 10, 10, 10, 40, 40] };
  const market = buildMarket({ dates: WEEK, close });
  const list = (identifiers: readonly (keyof typeof close)[], start = WEEK[0]!) => {
    const held = Object.fromEntries(identifiers.map((name) => [name, close[name]]));
    const request = { transaction_cost_bps: 0, start, end: null };
    return listJumps(runOn(calendars, market, createDefinition({ close: held }), request)).map(({ path }) => path);
  };
  const [a, b, c] = ['market[A 2024-03-06].CLOSE', 'market[B 2024-03-07].CLOSE', 'market[C 2024-03-08].CLOSE'];
  expect(list(['B'])).toEqual([b]);
  expect(list(['A', 'B', 'C'])).toEqual([a, b, c]);
  expect(list(['A', 'C'])).toEqual([a, c]);
  expect(list(['A', 'B', 'C'], '2024-03-06')).toEqual([b, c]);
});

describe('a run reports no close', () => {
  test('that falls by 40 % on the day of an action of another security', () => {
    const run = simulate({
      close: { A: [100, 100, 60, 60, 60, 60], B: repeatPrice(50) },
      actions: [{ name: 'B', type: 'DIVIDEND', value: 1, ex: '2024-03-06' }],
    });
    expect(listJumps(run)).toEqual([]);
  });

  test('whose actions of the day explain it: a split, or the value of a spun-off security', () => {
    const split = simulate({
      close: { A: [100, 100, 10, 10, 10, 10] },
      actions: [{ name: 'A', type: 'SPLIT', value: 10, ex: '2024-03-06' }],
    });
    const spinOff = simulate({
      close: { A: [100, 100, 30, 30, 30, 30], KID: [null, null, 70, 70, 70, 70] },
      actions: [{ name: 'A', type: 'SPIN_OFF', value: 1, related: 'KID', ex: '2024-03-06' }],
    });
    expect([split, spinOff].flatMap(listJumps)).toEqual([]);
  });

  test('of a security that the index does not hold', () => {
    expect(listJumps(simulate({ close: { A: repeatPrice(100), KID: [10, 10, 90, 90, 10, 10] } }))).toEqual([]);
  });

  test('before the first session of the run', () => {
    const jump = { close: { A: [100, 300, 300, 300, 300, 300] } };
    expect(listJumps(simulate(jump))).toHaveLength(1);
    expect(listJumps(simulate({ ...jump, start: '2024-03-05' }))).toEqual([]);
  });
});

test('jumps beyond the first 20 of a run are counted, in parts of a run as in the whole', () => {
  const findings = Array.from({ length: 50 }, (_, i): Finding => ({
    severity: 'warning',
    code: 'PRICE_JUMP',
    path: `market[${i}]`,
    message: `${i}`,
  }));
  const whole = limitJumps(findings);
  expect(whole.slice(0, 20)).toEqual(findings.slice(0, 20));
  expect(whole.slice(20)).toEqual([expect.objectContaining({ code: 'PRICE_JUMP', path: '', count: 30 })]);
  for (const cut of [0, 7, 21, 45]) {
    const parts = [limitJumps(findings.slice(0, cut)), limitJumps(findings.slice(cut))];
    expect(limitJumps(parts.flat())).toEqual(whole);
  }
});
