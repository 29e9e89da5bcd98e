import { describe, expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { buildMarket } from '../backtest/market-builder.js';
import { expectResumes, createTally } from '../backtest/extend/growing-run.js';
import { CALENDARS, expectNear, runIndexCase, listWeekdays, type IndexCase } from './index-case.js';
import { createDocument } from '../index-document.js';

const SESSIONS = 90;
const DAYS = listWeekdays(SESSIONS);
const repeatPrice = (price: number): number[] => Array.from({ length: SESSIONS }, () => price);
const cutAfter = (price: number, last: number): (number | null)[] =>
  repeatPrice(price).map((p, t) => (t <= last ? p : null));

/** Runs an index of A and B at 100. A has its last price on the third session. */
function runSuspension(members: Partial<IndexCase> = {}) {
  return runIndexCase({ close: { A: cutAfter(100, 2), B: repeatPrice(100) }, ...members });
}

function readWeight({ index: { book } }: ReturnType<typeof runSuspension>, row: number, name = 'A'): number {
  const slot = book.columns.indexOf(book.sm.columnOf(name));
  return slot < 0 ? 0 : book.weights[row * book.columns.length + slot]!;
}

/** Case with the delisting of Z, which the index does not hold. */
const ENDING_CASE = {
  close: { A: cutAfter(100, 2), B: repeatPrice(100), Z: cutAfter(1, 3) },
  universe: ['A', 'B'],
  actions: [{ name: 'Z', type: 'DELISTING' as const, value: 0, isUnpriced: true as const, ex: DAYS[4]! }],
};

describe('a suspended constituent', () => {
  test('leaves after the sessions that its document waits for, up to 10,000', () => {
    for (const wait of [5, 60, 61, 80]) {
      const run = runSuspension({ treatment: { max_stale_sessions: wait } });
      expectNear(readWeight(run, 2 + wait - 1), 0.5);
      expect(readWeight(run, 2 + wait)).toBe(0);
      expect(run.index.book.value.at(-1)).toBe(100);
    }
  });

  test('stays without an end if the document states null', () => {
    expectNear(readWeight(runSuspension({ treatment: { max_stale_sessions: null } }), SESSIONS - 1), 0.5);
  });

  test('is a gap on each session without a price, however long, before and after a review, a merger into it and a return', () => {
    const SECOND = 75;
    const backSessions = new Set([40, SECOND]);
    const close = {
      A: repeatPrice(100).map((price, t) => (t <= 2 || backSessions.has(t) ? price : null)),
      B: repeatPrice(100),
      C: cutAfter(100, 80),
      D: cutAfter(50, 3),
    };
    const run = runSuspension({
      close,
      universe: ['A', 'B', 'C'],
      actions: [{ name: 'C', type: 'MERGER', value: 1, related: 'D', ex: DAYS[81]! }],
      rebalance: { frequency: 'custom', dates: [DAYS[20]] },
      treatment: { max_stale_sessions: null },
    });
    const { book } = run.index;
    const width = book.columns.length;
    const expected = Array.from({ length: SESSIONS }, (_, t) => t).flatMap((t) =>
      Array.from(book.columns)
        .filter((column, slot) => {
          const isHeld = (row: number): boolean => row >= 0 && book.weights[row * width + slot]! > 0;
          const prices = close[book.sm.identifiers[column] as keyof typeof close];
          return (isHeld(t) || isHeld(t - 1)) && prices[t] === null;
        })
        .map((column) => [book.from + t, column]),
    );
    expect(expected.filter(([, column]) => column === book.sm.columnOf('A'))).toHaveLength(SESSIONS - 5);
    expect(book.gaps.map(({ session, column }) => [session, column])).toEqual(expected);
  });

  test('is a gap of each session of an extended run, as of a whole one', () => {
    const tally = createTally();
    expectResumes({
      market: buildMarket({ dates: DAYS, close: { A: cutAfter(100, 2), B: repeatPrice(100) } }),
      document: createDocument({
        base_date: DAYS[0],
        rebalance: { frequency: 'none' },
        pipeline: { weighting: { type: 'EqualWeight' }, treatment: { max_stale_sessions: null } },
      }),
      request: { createDecider: indexDecider },
      rows: 75,
      steps: [4, 1, 6],
      tally,
      calendars: CALENDARS,
    });
    expect(tally).toMatchObject({ extended: 3 });
  });

  test('leaves after 5 sessions on a store without endings, and stays on one that has an action of that kind', () => {
    const plainRun = runSuspension();
    expectNear(readWeight(plainRun, 6), 0.5);
    expect(readWeight(plainRun, 7)).toBe(0);
    expect(plainRun.findings.filter(({ code }) => code === 'DEFAULT_TAKEN')).toMatchObject([
      { severity: 'info', path: 'pipeline.treatment.max_stale_sessions', value: 5 },
    ]);
    const run = runSuspension(ENDING_CASE);
    expectNear(readWeight(run, SESSIONS - 1), 0.5);
    expect(run.findings.find(({ code }) => code === 'DEFAULT_TAKEN')).toMatchObject({
      path: 'pipeline.treatment.max_stale_sessions',
      value: null,
    });
    expect(readWeight(runSuspension({ ...ENDING_CASE, treatment: { max_stale_sessions: 5 } }), 7)).toBe(0);
  });

  test('stays through a review that selects it, and another without a price is not newly selected', () => {
    const review = { rebalance: { frequency: 'custom', dates: [DAYS[20]] }, treatment: { max_stale_sessions: null } };
    const run = runSuspension({
      close: { A: cutAfter(100, 2), B: [...repeatPrice(100).slice(0, 10), ...repeatPrice(50).slice(10)] },
      ...review,
    });
    // B has halved before the review, which restores equal weights.
    expectNear(readWeight(run, 19), 2 / 3);
    expectNear(readWeight(run, 20), 0.5);
    // C has a price before the index begins, but no price in the five sessions before the review.
    const close = {
      A: repeatPrice(100),
      B: repeatPrice(100),
      C: [
        null,
        null,
        100,
        ...repeatPrice(0)
          .slice(3)
          .map(() => null),
      ],
    };
    const other = runSuspension({ close, ...review });
    expect(readWeight(other, 20, 'C')).toBe(0);
    expectNear(readWeight(other, 20), 0.5);
  });

  test('leaves with a review that does not select it, at its last price or written off', () => {
    const selection = [{ id: 'top', type: 'TopN', params: { field: 'CLOSE', count: 2 } }];
    const simulateDrop = (suspension: string) =>
      runSuspension({
        close: { A: cutAfter(80, 2), B: repeatPrice(100), C: [70, ...repeatPrice(300).slice(1)] },
        selection,
        rebalance: { frequency: 'custom', dates: [DAYS[20]] },
        treatment: { max_stale_sessions: null, suspension },
      });
    expect(readWeight(simulateDrop('last_price'), 20)).toBe(0);
    expectNear(simulateDrop('last_price').index.book.value[20]!, 100);
    expectNear(simulateDrop('zero').index.book.value[19]!, 100);
    expectNear(simulateDrop('zero').index.book.value[20]!, 50);
    expect(readWeight(simulateDrop('zero'), 20)).toBe(0);
  });

  test('is written off after the sessions that its document waits for, if it has such a period', () => {
    const run = runSuspension({ treatment: { max_stale_sessions: 10, suspension: 'zero' } });
    expect(run.index.book.value[11]).toBe(100);
    expectNear(run.index.book.value[12]!, 50);
    expectNear(run.index.book.value.at(-1)!, 50);
    expect(readWeight(run, 12, 'B')).toBe(1);
    expectNear(runSuspension({ treatment: { max_stale_sessions: 10 } }).index.book.value[12]!, 100);
  });
});
