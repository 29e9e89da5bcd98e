import { computeAnnualReturns, computeDrawdown, computeReturns } from '#domain/analytics/returns.js';
import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { linkContributions } from '#domain/analytics/attribution.js';
import type { Run } from '#domain/backtest/run.js';
import { type RunColumns } from '#domain/backtest/run-file/columns.js';
import { TRANSFER_WIDTH } from '#domain/backtest/run-file/blocks.js';
import { createRunRecord } from '#domain/backtest/record.js';
import { formatDay, toCivilDate } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { computeGrowth } from '#domain/market/growth.js';
import { createGrowthTerms } from '#domain/market/action-effects.js';
import { createAttributionView, createGroupsView } from '#views/attribution.js';
import { createReconcileView } from '#views/reconcile.js';
import { encodeRecord } from '#views/json/record.js';
import { createWeightsView, readPositiveWeights } from '#views/weights.js';
import { CONSTITUENT } from './event-case.js';
import { buildMarket } from './market-builder.js';
import { randomMarket } from './random-market.js';
import { CALENDARS, createHolding, simulateSigned, WEEK } from './signed-case.js';
import { createColumns, randomDecider, randomDocument, randomRequest, runOn, tryRun } from './random-run.js';
import { runRecordJson, runResultJson } from './run-texts.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 15);
const STAMP = { runAt: '2026-01-01T00:00:00+00:00', runHash: 'h', storeContentHash: 's', engineVersion: '0' };

/** Random definitions in which all payments of a security are reinvested in this security. */
const reinvestingDocument = randomDocument.map((document) => {
  const { treatment, weighting } = document.pipeline!;
  const type = weighting.type === 'PriceWeight' ? 'EqualWeight' : weighting.type;
  const isIgnored = treatment.special_dividends === 'ignore';
  return IndexDocument.parse({
    ...document,
    pipeline: {
      treatment: { ...treatment, ...CONSTITUENT, ...(isIgnored ? { special_dividends: 'ignore' } : {}) },
      weighting: { ...weighting, type },
    },
  });
});

function checkOnRuns(law: (run: Run, pick: number) => void, documents = randomDocument): void {
  fc.assert(
    fc.property(
      randomMarket,
      documents,
      randomRequest,
      randomDecider,
      fc.nat(1_000_000),
      ({ market }, document, request, createDecider, pick) => {
        const result = tryRun(market, document, { ...request, createDecider });
        if (result) law(result, pick);
      },
    ),
    { numRuns: RUNS },
  );
}

function expectClose(actual: number, expected: number, scale = 1, tolerance = 1e-10): void {
  expect(Math.abs(actual - expected)).toBeLessThanOrEqual(tolerance * Math.max(scale, Math.abs(expected)));
}

/** Returns true if adjusted closes changed weights, on which the return of a group then is not based. */
function hasMovedWeights(columns: RunColumns): boolean {
  const rows = columns.has('transfers') ? columns.f64('transfers') : [];
  return rows.some((value, i) => i % TRANSFER_WIDTH === TRANSFER_WIDTH - 1 && value !== 0);
}

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);

describe('on random markets with every kind of corporate action', () => {
  test('returns compound to the level, annual returns to the total, and the drawdown recomputes', () => {
    checkOnRuns(({ level, metrics, days }) => {
      const [returns, drawdown] = [computeReturns(level), computeDrawdown(level)];
      const byYear = computeAnnualReturns(days, level);
      // There are no returns after a total loss.
      returns.forEach((r, t) => expect(Number.isNaN(r)).toBe(level[t] === 0));
      expectClose(
        returns.reduce((product, r, t) => (level[t] === 0 ? 0 : product * (1 + r)), 1) - 1,
        metrics.total_return,
      );
      expectClose(level.at(-1)! / 100 - 1, metrics.total_return);
      expectClose(byYear.reduce((product, [, r]) => product * (1 + r), 1) - 1, metrics.total_return, 1, 1e-12);
      expect(byYear.map(([year]) => year)).toEqual([
        ...new Set([...days].slice(1).map((day) => toCivilDate(day).year)),
      ]);
      let peak = 0;
      level.forEach((value, t) => expectClose(value / (peak = Math.max(peak, value)) - 1, drawdown[t]!));
      expect(metrics.max_drawdown).toBe(Math.min(...drawdown));
    });
  });

  test('a snapshot and its cash sum to 1, it keeps its cap and states the redistributed weight', () => {
    checkOnRuns(({ rebalances, index: { book } }) => {
      for (const [
        r,
        { weights, uncapped, cap, capped, columns, redistributed, session, targets },
      ] of rebalances.entries()) {
        const isReplaced = rebalances[r + 1]?.session === session;
        const isWaiting = book.unfilled.some(({ at }) => at === session - book.from);
        if (!isReplaced && !isWaiting) expectClose(sum(weights) + book.cash[session - book.from]!, 1, 1, 1e-12);
        expectClose(sum(uncapped), sum(weights), 1, 1e-12);
        // The cap limited the weights when they became shares. This was at an earlier close.
        if (targets) continue;
        if (cap !== null) expect(Math.max(...weights)).toBeLessThanOrEqual(cap + 1e-12);
        expectClose(redistributed, sum(uncapped.map((u, k) => Math.max(0, u - weights[k]!))));
        for (const column of capped) expectClose(weights[columns.indexOf(column)]!, cap!);
      }
    });
  });

  test('weights of a quiet session are those of the session before, drifted by the growth of 3.2', () => {
    checkOnRuns(({ index: { book, compositions } }) => {
      const { sm, columns, weights, cash, events } = book;
      const { treatment, document } = compositions;
      const growth = computeGrowth(sm, createGrowthTerms(treatment, document.currency));
      // If a short position pays dividends, no tax is withheld from them.
      const shortGrowth = computeGrowth(
        sm,
        createGrowthTerms(treatment, document.currency, treatment.dividends === 'net' ? 'total' : treatment.dividends),
      );
      const eventRows = new Set(events.map(({ at }) => at));
      const H = columns.length;
      for (let t = 1; t < book.length; t++) {
        const row = weights.subarray(t * H, (t + 1) * H);
        expectClose(sum(row) + cash[t]!, 1);
        const hasSpinOff = sm.actions.all.some(
          ({ session, action }) => action.type === 'SPIN_OFF' && Math.abs(session - book.from - t) <= 5,
        );
        if (eventRows.has(t) || hasSpinOff) continue;
        const grownWeights = [...columns].map((column, slot) => {
          const before = weights[(t - 1) * H + slot]!;
          return before === 0
            ? 0
            : before * (before < 0 ? shortGrowth : growth)[(book.from + t) * sm.securityCount + column]!;
        });
        const total = sum(grownWeights) + cash[t - 1]!;
        grownWeights.forEach((value, slot) => expectClose(row[slot]!, value / total));
        expectClose(book.value[t]!, book.value[t - 1]! * total, book.value[t]!);
      }
    }, reinvestingDocument);
  });

  test('contributions add up to the return of any window', () => {
    checkOnRuns((found, pick) => {
      const columns = createColumns(found);
      const n = found.days.length;
      for (let window = 0; window < 5; window++) {
        const from = (pick * (window + 3)) % (n - 1);
        const to = from + 1 + ((pick * (window + 7)) % (n - 1 - from));
        if (found.level.at(to) === 0) continue;
        const view = createAttributionView(columns, {
          start: formatDay(found.days[from]!),
          end: formatDay(found.days[to]!),
        });
        const total = found.level[to]! / found.level[from]! - 1;
        expectClose(view.total_return, total);
        expectClose(sum(view.contributions.map(({ contribution }) => contribution)), total);
        expect([view.reconciles, view.periods]).toEqual([true, to - from]);
        expect(view.cost_drag === null).toBe(found.plan.request.transaction_cost_bps === 0);
        expect(view.cap_drag === null).toBe(found.document.pipeline!.weighting.cap === null);
        if (view.cost_drag !== null) expect(view.cost_drag).toBeLessThanOrEqual(0);
      }
    });
  });

  test('a group of one security has the return of the security', () => {
    checkOnRuns((found) => {
      if (found.plan.request.transaction_cost_bps > 0 || found.level.at(-1) === 0) return;
      const columns = createColumns(found);
      if (hasMovedWeights(columns)) return;
      const window = { start: null, end: null };
      const { contributions } = createAttributionView(columns, window);
      const { groups } = createGroupsView(columns, { window, by: 'X', findGroup: (name) => name, benchmark: null });
      const returns = new Map(groups.map(({ group, total_return: value }) => [group, value]));
      for (const { asset_id: name, average_weight: weight, total_return: value } of contributions)
        if (weight !== 0) expectClose(returns.get(name)!, value);
    });
  });

  test('drift and active weights balance', () => {
    checkOnRuns((found, pick) => {
      const columns = createColumns(found);
      const day = found.days[pick % found.days.length]!;
      const weights = readPositiveWeights(columns, formatDay(day));
      const view = createWeightsView({
        runId: 'X',
        requestedAsOf: null,
        weights,
        benchmark: null,
        findShares: () => null,
        risk: null,
        activeRisk: null,
      });
      const { portfolio } = found;
      const investedWeight = sum(view.weights.map(({ weight }) => weight));
      if (!columns.has('indexWeights')) expectClose(investedWeight, 1 - portfolio.cash[weights.at]!);
      if (view.drift) {
        expectClose(view.drift.turnover, view.drift.total_absolute / 2);
        expectClose(
          sum(view.weights.map(({ delta_since_rebalance: delta }) => delta!)) -
            sum(weights.target.filter((_, i) => weights.held[i] === 0)),
          investedWeight - sum(weights.target),
        );
      }
      const shorts = view.weights.filter(({ weight }) => weight < 0);
      expect(view.exposure === undefined).toBe(shorts.length === 0);
      if (!view.exposure) return;
      const { long, short, gross, net } = view.exposure;
      expectClose(short, sum(shorts.map(({ weight }) => weight)));
      expectClose(long + short, investedWeight);
      expectClose(net, investedWeight);
      expectClose(gross, sum(view.weights.map(({ weight }) => Math.abs(weight))));
    });
  });

  test('value is cash and positions, costs are those of the transactions', () => {
    checkOnRuns((found) => {
      const record = JSON.parse(new TextDecoder().decode(runRecordJson(found, STAMP)));
      const { nav, cash, positions, transactions, initial_capital: capital } = record.portfolio;
      expect([nav.data[0], cash.data[0]]).toEqual([capital, capital]);
      const valueByDate = new Map<string, number>();
      for (const [date, , units, price, value] of positions.data) {
        expectClose(units * price, value, value);
        valueByDate.set(date, (valueByDate.get(date) ?? 0) + value);
      }
      nav.index
        .slice(1)
        .forEach((date: string, t: number) =>
          expectClose(cash.data[t + 1] + (valueByDate.get(date) ?? 0), nav.data[t + 1], capital),
        );
      expectClose(sum(transactions.data.map((row: number[]) => row[6]!)), found.totalCosts, capital * 1e-3);
      for (const [, , , units, price, notional, cost] of transactions.data) {
        expect(units > 0 && notional > 0 && cost >= 0).toBe(true);
        expectClose(units * price, notional, notional);
      }
    });
  });

  test('without costs the portfolio is the index', () => {
    checkOnRuns(({ plan, portfolio, level, indexLevel, metrics }) => {
      if (plan.request.transaction_cost_bps > 0 || portfolio.unfilled.length > 0) return;
      level.forEach((value, t) => expectClose(value, indexLevel[t]!, 1, 1e-12));
      expect(metrics.tracking_error!).toBeLessThan(1e-12);
    });
  });

  test('the divisor starts at 1 and changes only when money enters or leaves without a price move', () => {
    checkOnRuns(({ index: { book, compositions } }) => {
      const { sm, divisor, from } = book;
      expect(divisor[0]).toBe(1);
      const movingRows = new Set(
        book.events.filter(({ conversions, exits }) => conversions.length + exits.length > 0).map(({ at }) => at),
      );
      const cashTypes = new Set(['DIVIDEND', 'SPECIAL_DIVIDEND', 'RETURN_OF_CAPITAL', 'RIGHTS_ISSUE']);
      // The index holds one share of each constituent, so a split changes the divisor.
      if (compositions.document.pipeline?.weighting.type === 'PriceWeight')
        for (const type of ['SPLIT', 'STOCK_DIVIDEND', 'BONUS_ISSUE']) cashTypes.add(type);
      for (const { session, action } of sm.actions.all) if (cashTypes.has(action.type)) movingRows.add(session - from);
      for (let t = 1; t < book.length; t++) if (!movingRows.has(t)) expect(divisor[t]).toBe(divisor[t - 1]);
    });
  });

  test('a stored run reconciles', () => {
    checkOnRuns((found) => {
      // If a run loses everything, it stores no columns.
      if ([found.level, found.indexLevel].some((values) => values.subarray(0, -1).includes(0))) return;
      const { checks } = createReconcileView(createColumns(found), () => []);
      expect(checks.filter(({ holds }) => !holds)).toEqual([]);
    });
  });

  test('the record read from columns has the text of the record of the run', () => {
    checkOnRuns((found) =>
      expect(Buffer.compare(runRecordJson(found, STAMP), encodeRecord(createRunRecord(found), STAMP))).toBe(0),
    );
  });

  test('JSON written by hand is the JSON of the same object', () => {
    checkOnRuns((found) => {
      // Returns end with a total loss, so there is no result.
      if ([found.level, found.indexLevel].some((values) => values.subarray(0, -1).includes(0))) {
        expect(() => runResultJson(found, STAMP)).toThrow(
          expect.objectContaining({
            code: 'NUMERIC_FAILURE',
            message: expect.stringContaining('worth nothing from') as string,
          }),
        );
        return;
      }
      for (const bytes of [runResultJson(found, STAMP), runRecordJson(found, STAMP)]) {
        const text = new TextDecoder().decode(bytes);
        expect(JSON.stringify(JSON.parse(text))).toBe(text);
      }
    });
  });
});

test('the contributions of securities include what the rounding of the divisor adds to cash', () => {
  // The special dividend reduces the market value by 0.3 x 10 %, and the divisor from 1.23 to 1.1931, rounded to 1.19.
  const run = simulateSigned({
    close: { AA: [100, 100, 90, 90, 90, 90], BB: WEEK.map(() => 50) },
    actions: [{ name: 'AA', type: 'SPECIAL_DIVIDEND', value: 10, ex: WEEK[2]! }],
    weights: { AA: 0.3, BB: 0.2 },
    document: { base_market_value: 123, rounding: { divisor: 2 } },
  });
  const rounding = 1.1931 / 1.19 - 1;
  expectClose(run.level[2]! / run.level[1]! - 1, rounding);
  const columns = createColumns(run);
  const { contributions, reconciles } = createAttributionView(columns, { start: WEEK[1]!, end: WEEK[2]! });
  // After the dividend the weights are 0.27, 0.2 and 0.5 of 0.97. The part of cash is divided 3 to 2.
  const expected = new Map([
    ['AA', ((0.27 + 0.3) / 0.97) * rounding],
    ['BB', ((0.2 + 0.2) / 0.97) * rounding],
  ]);
  expect(contributions.map(({ asset_id: name }) => name).toSorted()).toEqual(['AA', 'BB']);
  for (const { asset_id: name, contribution } of contributions)
    expectClose(contribution, expected.get(name)!, 1, 1e-14);
  expect(reconciles).toBe(true);
  expectClose(sum(expected.values()), rounding, 1, 1e-14);
});

test('a security that is received in a merger and sold at the same close contributes its costs', () => {
  // A holding of 0.5 becomes 0.5 x 137 / 20 = 3.425, whose sale costs 0.1 %.
  const run = simulateSigned({
    close: { AA: WEEK.map(() => 20), BB: WEEK.map(() => 33), NEW: [null, null, 137, null, null, null] },
    actions: [{ name: 'AA', type: 'MERGER', value: 1, ex: WEEK[2]!, related: 'NEW' }],
    weights: {},
    rebalance: { frequency: 'daily' },
    request: {
      transaction_cost_bps: 10,
      createDecider: createHolding((session) => (session < 2 ? { AA: 0.5, BB: 0.5 } : { BB: 1 })),
    },
  });
  const { contributions, total_return: total } = createAttributionView(createColumns(run), {
    start: WEEK[1]!,
    end: WEEK[2]!,
  });
  const byName = new Map(contributions.map(({ asset_id: name, contribution }) => [name, contribution]));
  const bought = (3.925 - 0.003425 + 0.0005) / 1.001 - 0.5;
  expectClose(byName.get('AA')!, 3.425 - 0.5, 1, 1e-12);
  expectClose(byName.get('BB')!, -0.001 * bought, 1, 1e-12);
  expectClose(byName.get('NEW')!, -0.003425, 1, 1e-12);
  expectClose(sum(byName.values()), total, 1, 1e-12);
});

test('an overlay has the same parts as its index, multiplied by the exposure', () => {
  // The index is that of the test above.
  const base = { name: 'X', calendar: 'MAIN', base_date: WEEK[0] };
  const source = IndexDocument.parse({
    ...base,
    id: 'X',
    rebalance: { frequency: 'none' },
    pipeline: { weighting: { type: 'EqualWeight' } },
    base_market_value: 123,
    rounding: { divisor: 2 },
  });
  const overlay = { type: 'leverage', factor: 2 };
  const doubled = IndexDocument.parse({ ...base, id: 'O', kind: 'overlay', source_index_id: 'X', overlay });
  const market = buildMarket({
    dates: WEEK,
    close: { AA: [100, 100, 90, 90, 90, 90], BB: WEEK.map(() => 50) },
    actions: [{ name: 'AA', type: 'SPECIAL_DIVIDEND', value: 10, ex: WEEK[2]! }],
  });
  const createDecider = createHolding(() => ({ AA: 0.3, BB: 0.2 }));
  const columns = createColumns(runOn(CALENDARS, market, doubled, { documents: { X: source }, createDecider }));
  const rounding = 1.1931 / 1.19 - 1;
  const { contributions, reconciles } = createAttributionView(columns, { start: WEEK[1]!, end: WEEK[2]! });
  const byName = new Map(contributions.map(({ asset_id: name, contribution }) => [name, contribution]));
  expectClose(byName.get('AA')!, 2 * ((0.27 + 0.3) / 0.97) * rounding, 1, 1e-14);
  expectClose(byName.get('BB')!, 2 * ((0.2 + 0.2) / 0.97) * rounding, 1, 1e-14);
  expect(reconciles).toBe(true);
});

test('linking needs every period to keep something', () => {
  const input = {
    securityCount: 1,
    weightsBefore: () => Float64Array.of(1),
    contributionsOf: () => Float64Array.of(-1),
    costOf: () => 0,
    hasCosts: false,
  };
  expect(() => linkContributions({ ...input, returns: Float64Array.of(-1), days: [19_724] })).toThrow(
    expect.objectContaining({ code: 'TOTAL_LOSS', message: expect.stringContaining('2024-01-02 is -1') as string }),
  );
});
