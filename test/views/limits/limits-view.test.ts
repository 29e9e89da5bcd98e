import { expect, test } from 'vitest';
import { createRunColumns } from '#domain/backtest/run-file/columns.js';
import { LIMIT_RULE_NAMES, LIMIT_RULES, type LimitRuleName } from '#domain/definition/compliance.js';
import { formatDay } from '#domain/base/time.js';
import { createFigures, type DatedFigures, type FigureCache } from '#views/dated-figures.js';
import { createLimitsView } from '#views/limits.js';
import { fc } from '../../fast-check.js';
import { openExtended } from '../../domain/backtest/extend/extended.js';
import { randomMarket } from '../../domain/backtest/random-market.js';
import { randomDocument, tryRun } from '../../domain/backtest/random-run.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 8);

/** Functions that return the headroom of each limit of a rule. They are written from the wording of the rule. */
const LIMITS_BY_DEFINITION: Record<LimitRuleName, (weights: readonly number[]) => number[]> = {
  UCITS_5_10_40: (weights) => [0.1 - findLargest(weights), 0.4 - sumAbove(weights, 0.05)],
  UCITS_20_35: (weights) => [0.35 - findLargest(weights), 0.2 - (weights.toSorted((a, b) => b - a)[1] ?? 0)],
  RIC_25_5_50: (weights) => [0.25 - findLargest(weights), 0.5 - sumAbove(weights, 0.05)],
  SEC_75_5_10: (weights) => [sum(weights.filter((weight) => weight <= 0.05)) - 0.75],
};
const sum = (weights: readonly number[]): number => weights.reduce((total, weight) => total + weight, 0);
const findLargest = (weights: readonly number[]): number => Math.max(0, ...weights);
const sumAbove = (weights: readonly number[], trigger: number): number =>
  sum(weights.filter((weight) => weight > trigger));

/** Returns periods of consecutive closes beyond a bound. */
function listBreachPeriods(isBeyond: readonly boolean[]): [number, number | null][] {
  const results: [number, number | null][] = [];
  isBeyond.forEach((is, t) => {
    if (is && isBeyond[t - 1] !== true) results.push([t, null]);
    if (!is && isBeyond[t - 1] === true) results.at(-1)![1] = t - 1;
  });
  return results;
}

function sumByIssuer(weights: readonly number[], issuers: readonly string[]): number[] {
  const sums = new Map<string, number>();
  weights.forEach((weight, i) => sums.set(issuers[i]!, (sums.get(issuers[i]!) ?? 0) + weight));
  return [...sums.values()];
}

/** Returns the weights after the price of one security has changed. */
function movePrice(weights: readonly number[], name: number, move: number): number[] {
  const after = weights.map((weight, i) => (i === name ? weight * (1 + move) : weight));
  return after.map((weight) => weight / (1 + weights[name]! * move));
}

/**
 * Issuers by day. In one case each security has its own issuer. In the other, several securities of an issuer change it
 * in the middle of the run.
 */
const ISSUERS = {
  IDENTIFIER: () => null,
  ISSUER: (days: Int32Array) => (day: number, i: number) => `I${i % (day < days[days.length >> 1]! ? 5 : 7)}`,
};

test.each(['IDENTIFIER', 'ISSUER'] as const)(
  'headroom, breaches and distances of every rule on random markets agree with its definition, close by close, by %s',
  (by) => {
    let breaches = 0;
    let distances = 0;
    fc.assert(
      fc.property(randomMarket, randomDocument, ({ market }, document) => {
        const run = tryRun(market, document);
        if (run === undefined) return;
        const columns = openExtended(createRunColumns(run, { contentHash: 's' }));
        const { names } = columns.header;
        const days = columns.i32('days');
        const dates = Array.from(days, formatDay);
        const holdings = columns.f64(columns.header.has_index_weights ? 'indexWeights' : 'weights');
        const closes = dates.map((_, t) => [...holdings.subarray(t * names.length, (t + 1) * names.length)]);
        const getIssuer = ISSUERS[by](days);
        const listIssuersOn = (day: number) => names.map((name, i) => getIssuer?.(day, i) ?? name);
        for (const rule of LIMIT_RULE_NAMES) {
          const { rows } = LIMIT_RULES[rule];
          const createView = (start: string | null, end: string | null, keep?: FigureCache) =>
            createLimitsView(columns, {
              window: { start, end },
              limits: { rule },
              by,
              openIssuers: getIssuer && (() => listIssuersOn),
              findings: [],
              keep,
            });
          const view = createView(null, null);
          const keep = createFigureCache();
          const middleDate = dates[dates.length >> 1]!;
          expect(createView(middleDate, middleDate, keep)).toEqual(createView(middleDate, middleDate));
          for (let twice = 0; twice < 2; twice++) expect(createView(null, null, keep)).toEqual(view);
          const computeHeadroom = (weights: readonly number[], t: number) =>
            LIMITS_BY_DEFINITION[rule](sumByIssuer(weights, listIssuersOn(days[t]!)));
          const expected = closes.map(computeHeadroom);
          view.state.headroom.forEach((headroom, t) => expect(headroom).toBeCloseTo(Math.min(...expected[t]!), 12));
          const lastSums = sumByIssuer(closes.at(-1)!, listIssuersOn(days.at(-1)!));
          for (const { row, issuers, latest } of view.rows) {
            if (issuers === undefined) continue;
            const weights = issuers.map(({ weight }) => weight);
            expect(sum(weights)).toBeCloseTo(latest.value, 12);
            expect(weights).toEqual(weights.toSorted((a, b) => b - a));
            expect(new Set(issuers.map(({ issuer }) => issuer)).size).toBe(issuers.length);
            if (row.includes('above 5%'))
              expect(weights).toHaveLength(lastSums.filter((weight) => Math.abs(weight) > 0.05).length);
          }
          for (const { issuers, worst } of view.breaches) {
            if (issuers === undefined) continue;
            const sums = sumByIssuer(
              closes[dates.indexOf(worst.date)]!,
              listIssuersOn(days[dates.indexOf(worst.date)]!),
            );
            expect(sum(issuers.map(({ weight }) => weight))).toBeCloseTo(worst.value, 12);
            for (const { weight } of issuers)
              expect(sums.some((each) => Math.abs(Math.abs(each) - weight) < 1e-12)).toBe(true);
          }
          rows.forEach(({ row }, r) => {
            const breachPeriods = listBreachPeriods(expected.map((of) => of[r]! < -1e-12));
            const reports = view.breaches.filter((breach) => breach.row === row);
            expect(reports.map(({ begin, end }) => [begin, end])).toEqual(
              breachPeriods.map(([begin, end]) => [dates[begin], end === null ? null : dates[end]]),
            );
            breaches += breachPeriods.length;
          });
          for (let t = 0; t < dates.length; t += 7) {
            const [move, name] = [view.state.move[t]!, names.indexOf(view.state.nearest[t]!)];
            if (Math.min(...expected[t]!) < -1e-12) expect([move, name]).toEqual([null, -1]);
            if (name < 0) continue;
            const isBeyond = (i: number, by: number, tolerance: number) =>
              Math.min(...computeHeadroom(movePrice(closes[t]!, i, by), t)) < -tolerance;
            const ways = move === 0 ? [1, -1] : [Math.sign(move)]; // at a bound, either a rise or a fall may exceed it
            expect(ways.some((way) => isBeyond(name, move * (1 + 1e-6) + way * 1e-7, 0))).toBe(true);
            distances++;
            closes[t]!.forEach((weight, i) => {
              for (const part of [-0.999, -0.5, 0.5, 0.999])
                if (weight !== 0 && part * Math.abs(move) > -1)
                  expect(isBeyond(i, part * Math.abs(move), 1e-9)).toBe(false);
            });
          }
        }
      }),
      { numRuns: RUNS },
    );
    expect(breaches).toBeGreaterThan(RUNS);
    expect(distances).toBeGreaterThan(0);
  },
);

function createFigureCache(): FigureCache {
  const keptFigures = new Map<string, DatedFigures>();
  return (what, size) => {
    const key = JSON.stringify(what);
    const figures = keptFigures.get(key) ?? createFigures(size);
    keptFigures.set(key, figures);
    return figures;
  };
}
