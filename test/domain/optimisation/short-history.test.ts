import { expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { OBJECTIVE_CLASSES } from '#domain/definition/objectives.js';
import { buildMarket } from '../backtest/market-builder.js';
import { runOn } from '../backtest/random-run.js';
import { readHeldOn } from '../backtest/shorts-case.js';
import { CALENDARS, WEEK } from '../backtest/signed-case.js';

const market = buildMarket({
  dates: WEEK,
  close: { A: [10, 11, 12, 11, 10, 11], B: [20, 20, 21, 20, 22, 20], C: [30, 31, 30, 31, 30, 32] },
});
const commonFields = { calendar: 'MAIN', base_date: WEEK[0], rebalance: { frequency: 'none' } };
const parent = IndexDocument.parse({
  ...commonFields,
  id: 'P',
  name: 'P',
  pipeline: { weighting: { type: 'FieldWeight', params: { field: 'CLOSE' } } },
});

function runOf(objective: object, expectedReturns: object | null, constraints: object[] = []) {
  const derivation = { source_index_id: 'P', objective, expected_returns: expectedReturns, constraints };
  const document = IndexDocument.parse({ ...commonFields, id: 'D', name: 'D', derivation });
  return runOn(CALENDARS, market, document, { documents: { P: parent }, createDecider: indexDecider });
}

const field = { type: 'field', field: { node: 'field', name: 'CLOSE' } };
const equalWeights = [1 / 3, 1 / 3, 1 / 3];
/** Weights of the parent: closes of 10, 20 and 30 divided by their sum. */
const nearestWeights = [1 / 6, 2 / 6, 3 / 6];

/** Optimum of each objective, computed by hand. The covariance is the identity. The expected returns are the closes. */
const OPTIMA: Record<string, { readonly params?: object; readonly returns?: object; readonly weights: number[] }> = {
  min_tracking_error: { weights: nearestWeights },
  min_variance: { weights: equalWeights },
  // Expected returns are divided by the risk aversion and added to equal weights.
  max_utility: { params: { risk_aversion: 100 }, returns: field, weights: [1 / 3 - 0.1, 1 / 3, 1 / 3 + 0.1] },
  // Weights in proportion to expected returns.
  max_sharpe: { params: { risk_free_rate: 0 }, returns: field, weights: nearestWeights },
  max_return: { returns: field, weights: [0, 0, 1] },
  risk_parity: { weights: equalWeights },
  max_diversification: { weights: equalWeights },
  max_decorrelation: { weights: equalWeights },
  // There are no loss scenarios, so the weights equal those of the parent.
  min_cvar: { weights: nearestWeights },
  min_cdar: { weights: nearestWeights },
};

test('every objective has its optimum here', () => {
  expect(Object.keys(OPTIMA).toSorted()).toEqual(OBJECTIVE_CLASSES.map(({ type }) => type).toSorted());
});

test.each(Object.entries(OPTIMA))(
  'a derived index begins by %s with the identity as covariance where its history has one session',
  (type, { params = {}, returns = null, weights }) => {
    const run = runOf({ type, ...params }, returns);
    const heldWeights = readHeldOn(run.index.book, 0);
    weights.forEach((weight, i) => expect(heldWeights['ABC'[i]!] ?? 0).toBeCloseTo(weight, 6));
    expect(run.findings.map(({ code }) => code)).toContain('RISK_FALLBACK_IDENTITY');
  },
);

test('historical means of too few returns are not read: the weights are the nearest, with a finding', () => {
  const run = runOf({ type: 'max_utility', risk_aversion: 2 }, { type: 'historical', shrinkage: 0 });
  const heldWeights = readHeldOn(run.index.book, 0);
  nearestWeights.forEach((weight, i) => expect(heldWeights['ABC'[i]!]).toBeCloseTo(weight, 9));
  const match = run.findings.find(({ code }) => code === 'RISK_FALLBACK_IDENTITY');
  expect(match?.message).toContain('the result is the weights nearest to the parent');
});

test('a limit on historical means of too few returns has no effect, with a finding', () => {
  const floor = { id: 'floor', type: 'ExpectedReturn', params: { lower: 9 } };
  const run = runOf({ type: 'min_variance' }, { type: 'historical', shrinkage: 0 }, [floor]);
  const heldWeights = readHeldOn(run.index.book, 0);
  nearestWeights.forEach((weight, i) => expect(heldWeights['ABC'[i]!]).toBeCloseTo(weight, 9));
  expect(run.findings).toContainEqual(
    expect.objectContaining({
      severity: 'warning',
      path: 'derivation.constraints[0].params',
      message: `On ${WEEK[0]}: The constraint has no effect, because there are no expected returns.`,
    }),
  );
});
