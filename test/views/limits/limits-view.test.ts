import { expect, test } from 'vitest';
import { runToColumns } from '#domain/backtest/run-file/write.js';
import { LIMIT_RULE_NAMES, LIMIT_RULES, type LimitRuleName } from '#domain/compliance/rules.js';
import { formatDay } from '#domain/days.js';
import { limitsView } from '#views/limits/limits-view.js';
import { fc } from '../../fast-check.js';
import { opened } from '../../domain/backtest/extend/extended.js';
import { randomMarket } from '../../domain/backtest/random-market.js';
import { randomDocument, tryRun } from '../../domain/backtest/random-run.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 8);

/** Headroom of the sentences of a rule, each as it reads. */
const BY_WORDS: Record<LimitRuleName, (weights: readonly number[]) => number[]> = {
  UCITS_5_10_40: (weights) => [0.1 - largest(weights), 0.4 - above(weights, 0.05)],
  UCITS_20_35: (weights) => [0.35 - largest(weights), 0.2 - (weights.toSorted((a, b) => b - a)[1] ?? 0)],
  RIC_25_5_50: (weights) => [0.25 - largest(weights), 0.5 - above(weights, 0.05)],
  SEC_75_5_10: (weights) => [sum(weights.filter((weight) => weight <= 0.05)) - 0.75],
};
const sum = (weights: readonly number[]): number => weights.reduce((total, weight) => total + weight, 0);
const largest = (weights: readonly number[]): number => Math.max(0, ...weights);
const above = (weights: readonly number[], trigger: number): number =>
  sum(weights.filter((weight) => weight > trigger));

/** Spells of consecutive closes beyond a bound. */
function spells(isBeyond: readonly boolean[]): [number, number | null][] {
  const found: [number, number | null][] = [];
  isBeyond.forEach((is, t) => {
    if (is && isBeyond[t - 1] !== true) found.push([t, null]);
    if (!is && isBeyond[t - 1] === true) found.at(-1)![1] = t - 1;
  });
  return found;
}

test('headroom and breaches of every rule on random markets are those of its words, close by close', () => {
  let breaches = 0;
  fc.assert(
    fc.property(randomMarket, randomDocument, ({ market }, document) => {
      const run = tryRun(market, document);
      if (run === undefined) return;
      const columns = opened(runToColumns(run, { contentHash: 's' }));
      const H = columns.header.names.length;
      const dates = Array.from(columns.i32('days'), formatDay);
      const held = columns.f64(columns.header.has_index_weights ? 'indexWeights' : 'weights');
      const closes = dates.map((_, t) => [...held.subarray(t * H, (t + 1) * H)]);
      for (const rule of LIMIT_RULE_NAMES) {
        const { rows } = LIMIT_RULES[rule];
        const view = limitsView(columns, {
          window: { start: null, end: null },
          rule,
          by: 'IDENTIFIER',
          issuersOn: null,
          rowsOn: () => rows,
          findings: [],
        });
        const expected = closes.map(BY_WORDS[rule]);
        view.state.headroom.forEach((headroom, t) => expect(headroom).toBeCloseTo(Math.min(...expected[t]!), 12));
        rows.forEach(({ row }, r) => {
          const own = spells(expected.map((of) => of[r]! < -1e-12));
          const told = view.breaches.filter((breach) => breach.row === row);
          expect(told.map(({ begin, end }) => [begin, end])).toEqual(
            own.map(([begin, end]) => [dates[begin], end === null ? null : dates[end]]),
          );
          breaches += own.length;
        });
      }
    }),
    { numRuns: RUNS },
  );
  expect(breaches).toBeGreaterThan(RUNS);
});
