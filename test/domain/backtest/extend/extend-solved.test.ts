import { fc } from '../../../fast-check.js';
import { expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { formatDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { RebalanceSpec } from '#domain/definition/schedule.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createLongMarket } from './long-market.js';
import { randomMarket, addVolume, randomDerivation, randomConstraints } from './random-definitions.js';
import {
  CONSTRAINED_RUNS,
  OPTIMISED_RUNS,
  DAYS_ADDED,
  createTally,
  expectResumes,
  randomSteps,
} from './growing-run.js';
import { createDocument } from '../../index-document.js';

test('an optimised index resumes with what its solves left', () => {
  const tally = createTally();
  fc.assert(
    fc.property(randomMarket, randomDerivation, randomSteps, ({ market: priced }, { document, parent }, steps) => {
      const market = addVolume(priced);
      expectResumes({
        market,
        document,
        request: { documents: { P: parent }, createDecider: indexDecider },
        steps,
        tally,
        rows: market.dates.length - DAYS_ADDED,
      });
    }),
    { numRuns: OPTIMISED_RUNS },
  );
  expect(tally.extended).toBeGreaterThan(OPTIMISED_RUNS / 30);
  expect(tally.rebalanced).toBeGreaterThan(OPTIMISED_RUNS / 30);
  expect(Object.keys(tally.reasons)).not.toContain('rebalance');
});

test('a strategy under a constraint set resumes with what its solves left', () => {
  const tally = createTally();
  fc.assert(
    fc.property(
      randomMarket,
      randomConstraints,
      randomSteps,
      ({ market: priced }, { cadence, tolerance, indexFrequency, lag, constraints }, steps) => {
        const market = addVolume(priced);
        const document = createDocument({
          base_date: '2024-02-08',
          rebalance: { frequency: indexFrequency, effective_lag: lag },
          pipeline: { treatment: { dividends: 'total' }, weighting: { type: 'MarketCapWeight', cap: 0.4 } },
        });
        const strategy = {
          rebalance: cadence === null ? null : RebalanceSpec.parse({ frequency: cadence }),
          drift_tolerance: tolerance,
          exposure: 0.9,
          constraints,
        };
        expectResumes({
          market,
          document,
          request: { strategy, createDecider: indexDecider },
          steps,
          tally,
          rows: market.dates.length - DAYS_ADDED,
        });
      },
    ),
    { numRuns: CONSTRAINED_RUNS },
  );
  expect(tally.extended).toBeGreaterThan(CONSTRAINED_RUNS / 30);
  expect(tally.rebalanced).toBeGreaterThan(CONSTRAINED_RUNS / 30);
  expect(Object.keys(tally.reasons)).not.toContain('rebalance');
});

test('an optimised index, or a strategy under constraints, looks back no further than the windows of its risk model, however long the market', () => {
  const calendars = openCalendars();
  const { market, sessions } = createLongMarket(calendars);
  const begin = { calendar: 'XNYS', base_date: formatDay(sessions[400]!), rebalance: { frequency: 'monthly' } };
  const parent = IndexDocument.parse({
    ...begin,
    id: 'P',
    name: 'P',
    pipeline: { treatment: { dividends: 'total' }, weighting: { type: 'MarketCapWeight', cap: 0.2 } },
  });
  const constraints = [
    { id: 'pos', type: 'PositionBounds', params: { lower: 0.01, upper: 0.12 } },
    { id: 'turn', type: 'Turnover', params: { limit: 0.05, reference: 'previous', soft: 1 } },
    { id: 'calm', type: 'WeightedAverage', params: { field: 'VOLATILITY', upper: 0.29, soft: 1 } },
  ];
  const document = IndexDocument.parse({
    ...begin,
    id: 'X',
    name: 'X',
    derivation: { source_index_id: 'P', objective: 'min_tracking_error', constraints },
  });
  const index = IndexDocument.parse({
    ...document,
    derivation: {
      ...document.derivation,
      constraints: constraints.slice(0, 1),
      risk_model: { estimator: 'styles', sessions: 60 },
    },
  });
  const strategy = {
    rebalance: RebalanceSpec.parse({ frequency: 'weekly' }),
    drift_tolerance: null,
    exposure: 1,
    constraints,
  };
  const steps = [1, 22, 52];
  for (const followedCase of [
    { document, request: { documents: { P: parent } }, steps },
    { document: index, request: { documents: { P: parent } }, steps: [22] },
    { document: parent, request: { strategy }, steps },
  ]) {
    const tally = createTally();
    expectResumes({
      market,
      document: followedCase.document,
      request: { ...followedCase.request, createDecider: indexDecider },
      rows: 690,
      steps: followedCase.steps,
      tally,
      calendars,
    });
    expect(tally).toMatchObject({ extended: followedCase.steps.length, joined: 0, wholes: 0, reasons: {} });
    expect(tally.rebalanced).toBeGreaterThanOrEqual(Math.ceil(followedCase.steps.length / 2));
  }
});
