import { describe, expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { validateIndex } from '#domain/definition/index-validation.js';
import { computeValueOnPath } from '#domain/definition/constraint-class.js';
import { validateConstraints } from '#domain/definition/constraint-sets.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { createMethodology } from '#domain/definition/methodology.js';
import { parseValidDay } from '#domain/base/time.js';
import { buildMarket } from '../backtest/market-builder.js';
import { runOn } from '../backtest/random-run.js';
import { CALENDARS, WEEK } from '../backtest/signed-case.js';

const dates = ['2024-03-01', ...WEEK];
const commonFields = { calendar: 'MAIN', rebalance: { frequency: 'weekly' }, base_date: dates[0] };
const parent = IndexDocument.parse({
  ...commonFields,
  id: 'P',
  name: 'P',
  pipeline: { weighting: { type: 'EqualWeight' } },
});

function createDerivedBody(constraints: readonly object[], more: object = {}) {
  const derivation = { source_index_id: 'P', objective: 'min_tracking_error', constraints, ...more };
  return { ...commonFields, id: 'D', name: 'D', derivation };
}

const context = { calendars: CALENDARS.list(), indexOf: (id: string) => (id === 'P' ? parent : undefined) };

function validateDerived(constraints: readonly object[], more: object = {}): IndexDocument {
  const { document, findings } = validateIndex(createDerivedBody(constraints, more), context);
  if (document === undefined) throw new Error(JSON.stringify(findings));
  return document;
}

const listErrors = (constraints: readonly object[], more: object = {}) =>
  validateIndex(createDerivedBody(constraints, more), context)
    .findings.filter(({ severity }) => severity === 'error')
    .map(({ code, path }) => `${code} ${path}`);

function runOf(close: Record<string, number[]>, constraints: readonly object[], more: object = {}) {
  const market = buildMarket({ dates, close });
  return runOn(CALENDARS, market, validateDerived(constraints, more), {
    documents: { P: parent },
    createDecider: indexDecider,
  });
}

describe('rows that are relaxed step by step', () => {
  // A doubles before the second review, so the holdings are 2/3 and 1/3. To restore equal weights, a one-way turnover
  // of 1/6 is needed.
  const close = { A: [10, 10, 10, 10, 20, 20, 20], B: [10, 10, 10, 10, 10, 10, 10] };
  const turn = { id: 'turn', type: 'Turnover', params: { limit: 0.1 } };
  const createUpperBounds = (priority = {}) => ({
    id: 'most',
    type: 'PositionBounds',
    params: { upper: 0.5, identifiers: ['A'], ...priority },
  });
  const relaxStepwise = (constraints: readonly object[], relax?: readonly object[]) => {
    const run = runOf(close, constraints, relax === undefined ? {} : { relax });
    const { list } = run.index.compositions;
    const relaxedFindings = run.findings.filter(({ code }) => code === 'CONSTRAINT_RELAXED');
    return {
      weight: list[1]?.weights[0],
      paths: relaxedFindings.map(({ path }) => path),
      messages: relaxedFindings.map(({ message }) => message),
      codes: run.findings.map(({ code }) => code),
    };
  };

  test('uses the first step with which weights satisfy all rows, and states which', () => {
    const result = relaxStepwise([turn, createUpperBounds()], [{ row: 'turn', steps: [0.12, 0.2, 0.5] }]);
    expect(result.weight).toBeCloseTo(0.5, 9);
    expect(result.paths).toEqual(['derivation.relax[0].steps[1]']);
    expect(result.messages[0]).toMatch(
      /^On \S+ Turnover\[turn\] was relaxed by step 2: its limit was 0.2 instead of 0.1\.$/,
    );
  });

  test('takes entries in order and keeps the steps before', () => {
    const relax = [
      { row: 'turn', steps: [0.12] },
      { row: 'most', steps: [0.52, { upper: 0.6 }] },
      { row: 'turn', steps: [0.5] },
    ];
    const result = relaxStepwise([turn, createUpperBounds()], relax);
    // With a turnover of 12 % from 2/3, A reaches the weight nearest to one half. It is below 60 %.
    expect(result.weight).toBeCloseTo(2 / 3 - 0.12, 9);
    expect(result.paths.toSorted()).toEqual(['derivation.relax[0].steps[0]', 'derivation.relax[1].steps[1]']);
  });

  test('is relaxed by priority in addition to all steps if none is sufficient, and holds if nothing is', () => {
    const relax = [{ row: 'turn', steps: [0.11, 0.12] }];
    const yields = relaxStepwise([turn, createUpperBounds({ priority: 3 })], relax);
    expect(yields.weight).toBeCloseTo(2 / 3 - 0.12, 7);
    expect(yields.paths.toSorted()).toEqual(['derivation.constraints[1].params.upper', 'derivation.relax[0].steps[1]']);
    const relaxedResult = relaxStepwise([turn, createUpperBounds()], relax);
    expect([relaxedResult.weight, relaxedResult.codes]).toEqual([
      undefined,
      expect.arrayContaining(['REBALANCE_HELD']),
    ]);
  });

  test('has no effect where the rows hold together', () => {
    const wideTurn = { ...turn, params: { limit: 0.3 } };
    const [plainDocument, steppedDocument] = [
      relaxStepwise([wideTurn, createUpperBounds()]),
      relaxStepwise([wideTurn, createUpperBounds()], [{ row: 'turn', steps: [0.5] }]),
    ];
    expect(steppedDocument).toEqual(plainDocument);
    expect(plainDocument.paths).toEqual([]);
  });

  test('is checked with its document', () => {
    expect(listErrors([turn], { relax: [{ row: 'trun', steps: [0.2] }] })).toEqual([
      'NOT_IN_CHOICES derivation.relax[0].row',
    ]);
    expect(listErrors([turn], { relax: [{ row: 'turn', steps: [0.2, 5] }] })).toEqual([
      'OUT_OF_RANGE derivation.relax[0].steps[1].limit',
    ]);
    expect(listErrors([turn], { relax: [{ row: 'turn', steps: [{ limt: 0.2 }] }] })).toEqual([
      'UNKNOWN_PARAMETER derivation.relax[0].steps[0].limt',
    ]);
    expect(listErrors([turn], { relax: [{ row: 'turn', steps: [0.2], by: 1 }] })).toEqual([
      'UNKNOWN_FIELD derivation.relax[0].by',
    ]);
    const concentration = { id: 'ucits', type: 'Concentration5_10_40', params: {} };
    expect(listErrors([concentration], { relax: [{ row: 'ucits', steps: [0.2, { single: 0.12 }] }] })).toEqual([
      'WRONG_TYPE derivation.relax[0].steps[0]',
    ]);
    expect(
      createMethodology(validateDerived([turn], { relax: [{ row: 'turn', steps: [0.15, 0.2] }] })).join(' '),
    ).toContain('rows are relaxed step by step until they are feasible: turn to 0.15, then 0.2.');
  });

  test('a number bounds both sides of an active bound', () => {
    // A is within 2 % of the parent, so it has at most 52 %. To reach this from 2/3, a turnover of 14.7 % is needed.
    const activeRow = { id: 'active', type: 'ActiveBounds', params: { lower: -0.02, upper: 0.02 } };
    const result = relaxStepwise([turn, activeRow], [{ row: 'active', steps: [0.05, 0.08] }]);
    expect(result.weight).toBeCloseTo(2 / 3 - 0.1, 9);
    expect(result.messages[0]).toContain('its lower was -0.08 instead of -0.02, its upper was 0.08 instead of 0.02');
  });
});

describe('a bound along a path', () => {
  const terms = { day: parseValidDay('2024-12-31'), baseDay: parseValidDay('2020-12-31'), valueAt: () => 200 };

  test('by hand: half of 200, less 7 % a year over 1461 days of 365.25 is 100 times 0.93^4', () => {
    const path = { base: '2020-12-31', times: 0.5, yearly: -0.07 };
    expect(computeValueOnPath(path, terms)).toBeCloseTo(100 * 0.93 ** 4, 10);
    expect(computeValueOnPath({ base: 80, times: 1, yearly: -0.07 }, terms)).toBeCloseTo(80 * 0.93 ** 4, 10);
    expect(computeValueOnPath({ base: 80, times: 1, yearly: -0.07, from: '2023-12-31' }, terms)).toBeCloseTo(
      80 * 0.93 ** (366 / 365.25),
      10,
    );
    // On and before the base day, the bound equals its value at the base.
    expect(computeValueOnPath({ ...path, base: '2025-06-30' }, terms)).toBe(100);
  });

  test('holds at every review, measured from the parent at its review on or before the base date', () => {
    // On the first day the parent decides equal weights of securities at 10, 20 and 30. Their average is 20, whatever
    // prices do afterwards.
    const close = {
      A: [10, 11, 12, 12, 12, 12, 12],
      B: [20, 20, 21, 22, 22, 22, 22],
      C: [30, 33, 36, 36, 36, 36, 36],
    };
    const path = { base: dates[2], times: 0.9, yearly: -0.9 };
    const row = { id: 'price', type: 'WeightedAverage', params: { field: 'CLOSE', upper: path } };
    const run = runOf(close, [row]);
    const { list, sm } = run.index.compositions;
    expect(list.length).toBeGreaterThan(1);
    for (const { decision, columns, weights } of list) {
      const day = sm.sessions[decision]!;
      const years = Math.max(0, day - parseValidDay(dates[2]!)) / 365.25;
      const average = Array.from(columns).reduce(
        (sum, column, i) => sum + weights[i]! * Object.values(close)[column]![decision]!,
        0,
      );
      const indexValue = Object.values(close).reduce((sum, values) => sum + values[decision]! / 3, 0);
      const bound = 0.9 * 20 * 0.1 ** years;
      expect(indexValue).toBeGreaterThan(bound);
      expect(average).toBeCloseTo(bound, 7);
    }
    expect(createMethodology(validateDerived([row])).join(' ')).toContain(
      `upper 0.9 times that of the source index at its latest review on or before ${dates[2]}, changed by -90% per year`,
    );
  });

  test('of an exposure begins at the exposure of the parent', () => {
    const close = { A: [10, 11, 12, 12, 12, 12, 12], B: [20, 20, 21, 22, 22, 22, 22] };
    const upper = { base: dates[0], times: 0.95, yearly: 0 };
    const row = { id: 'price', type: 'FactorExposure', params: { field: 'CLOSE * 2', standardise: false, upper } };
    const { list } = runOf(close, [row]).index.compositions;
    for (const { decision, columns, weights } of list) {
      const exposure = Array.from(columns).reduce(
        (sum, column, i) => sum + 2 * weights[i]! * Object.values(close)[column]![decision]!,
        0,
      );
      expect(exposure).toBeCloseTo(0.95 * 30, 7);
    }
  });

  test('is refused where the parent has no review yet, and where there is one date alone', () => {
    const upper = { base: '2023-12-31', yearly: 0 };
    const row = { id: 'price', type: 'WeightedAverage', params: { field: 'CLOSE', upper } };
    const close = { A: [10, 11, 12, 12, 12, 12, 12], B: [20, 20, 21, 22, 22, 22, 22] };
    expect(() => runOf(close, [row])).toThrow('The index P has no review on or before 2023-12-31');
    expect(validateConstraints([row], { path: 'constraints' }).map(({ code, path }) => `${code} ${path}`)).toEqual([
      'WRONG_TYPE constraints[0].params.upper',
    ]);
    const badRow = { ...row, params: { field: 'CLOSE', upper: { base: 1, yearly: -2, month: 1 } } };
    expect(listErrors([badRow]).toSorted()).toEqual([
      'OUT_OF_RANGE derivation.constraints[0].params.upper.yearly',
      'UNKNOWN_FIELD derivation.constraints[0].params.upper.month',
    ]);
  });
});
