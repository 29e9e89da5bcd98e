import { describe, expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { formatDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import type { RunRequest } from '../random-run.js';
import { createTally, expectResumes } from './growing-run.js';
import { createLongMarket } from './long-market.js';
import { createTree } from './random-definitions.js';

const calendars = openCalendars();
const { market, sessions } = createLongMarket(calendars);
const formatSession = (session: number): string => formatDay(sessions[session]!);

interface Definition {
  readonly frequency?: string;
  /** Further members of the schedule. */
  readonly schedule?: object;
  readonly selection?: readonly object[];
  readonly weighting?: object;
  readonly derivation?: object;
}

function createIndex(
  id: string,
  {
    frequency = 'monthly',
    schedule = {},
    selection = [],
    weighting = { type: 'EqualWeight' },
    derivation,
  }: Definition = {},
) {
  const pipeline = { selection, treatment: { dividends: 'total' }, weighting };
  return IndexDocument.parse({
    id,
    name: id,
    calendar: 'XNYS',
    base_date: formatSession(400),
    rebalance: { frequency, ...schedule },
    ...(derivation === undefined ? { pipeline } : { derivation }),
  });
}

/** Index with other securities every week. */
const CHANGING = createIndex('Q', {
  frequency: 'weekly',
  selection: [{ id: 'risen', type: 'TopN', params: { field: { name: 'RETURN', window: 5 }, count: 5 } }],
});

/** Extends a run across its rebalances, without reading the whole market. */
function expectExtended(document: IndexDocument, request: Omit<RunRequest, 'createDecider'>, rows = 690): void {
  const tally = createTally();
  expectResumes({
    market,
    document,
    request: { ...request, createDecider: indexDecider },
    rows,
    steps: [1, 22, 52],
    tally,
    calendars,
  });
  expect(tally).toMatchObject({ extended: 3, wholes: 0, reasons: {} });
  expect(tally.rebalanced).toBeGreaterThanOrEqual(2);
}

describe('an extension reads what an index contained long before', () => {
  const upper = { base: formatSession(450), yearly: -0.1, times: 0.95 };
  const path = { id: 'path', type: 'WeightedAverage', params: { field: 'VOLATILITY', upper, soft: 1 } };
  const createDerived = (constraint: object) =>
    createIndex('X', {
      derivation: { source_index_id: 'P', objective: 'min_tracking_error', constraints: [constraint] },
    });

  test('if the bound of an optimised index follows a path', () => {
    expectExtended(createDerived(path), { documents: { P: createIndex('P') } });
  });

  test('if the bound of a strategy follows a path', () => {
    const strategy = { rebalance: null, drift_tolerance: null, exposure: 1, constraints: [path] };
    expectExtended(createIndex('P'), { strategy: strategy as never });
  });

  test('if the measured weights of a path are those of another index', () => {
    const field = createTree('weight_in("Q")');
    const shared = { ...path, params: { ...path.params, field } };
    expectExtended(createDerived(shared), { documents: { P: createIndex('P'), Q: CHANGING } });
  });

  test('if weights are phased in over earlier reviews', () => {
    const phaseIn = { field: createTree('0.05 + weight_in("Q")'), steps: 6 };
    const weighting = { type: 'EqualWeight', phase_in: phaseIn };
    expectExtended(createIndex('X', { weighting }), { documents: { Q: CHANGING } });
  });

  const shortPhase = { field: createTree('0.05 + weight_in("Q")'), steps: 3 };
  const phased = { type: 'EqualWeight', phase_in: shortPhase };

  test.each([
    '0.05 + coalesce(last_review(last_review(weight_in("Q"))), 0.2)',
    '0.05 + reviews_since(member_of("Q") == 1, 7)',
    '0.05 + drifted_weight_in("P")',
    '0.05 + coalesce(value_when(weight_in("Q"), mean(RETURN, window=5) > 0, 6), 0)',
    '0.05 + coalesce(last_review(last_review(drifted_weight_in("P"))), 0.2)',
    '1 + coalesce(last_review(percentile(mean(CLOSE, window=40), over="universe")), 0)',
  ])('if weights remember earlier reviews: %s', (text) => {
    const weighting = { type: 'FieldWeight', params: { field: createTree(text) } };
    const documents = { Q: CHANGING, P: createIndex('P', { frequency: 'quarterly' }) };
    expectExtended(createIndex('X', { weighting }), { documents });
  });

  test.each([
    '0.05 + reviews_since(is_constituent() == 0, 7)',
    '1 + coalesce(last_review(last_review(is_constituent())), 3)',
  ])('if weights remember for how many reviews a security has been a constituent: %s', (text) => {
    const weighting = { type: 'FieldWeight', params: { field: createTree(text) } };
    const selection = [
      { id: 'risen', type: 'TopN', params: { field: { name: 'RETURN', window: 60 }, count: 6 } },
      {
        id: 'two',
        type: 'ExpressionFilter',
        params: { expression: createTree('reviews_since(is_constituent() == 0, 40) < 9') },
      },
    ];
    expectExtended(createIndex('X', { selection, weighting }), {});
  });

  test('if weights are phased in over reviews on listed dates', () => {
    const dates = Array.from({ length: 18 }, (_, k) => formatSession(400 + 21 * k));
    const phaseIn = { field: createTree('1 + mean(RETURN, window=5)'), steps: 3 };
    const weighting = { type: 'EqualWeight', phase_in: phaseIn };
    expectExtended(createIndex('X', { frequency: 'custom', schedule: { dates }, weighting }), {});
  });

  test.for([414, 420])('if a phase-in began with an early reference date, from a run of %i sessions', (rows) => {
    const reference = { rule: 'weekday_before', weekday: 2, weeks: 1 };
    const document = createIndex('X', { frequency: 'weekly', schedule: { reference }, weighting: phased });
    expectExtended(document, { documents: { Q: { ...CHANGING, base_date: formatSession(350) } } }, rows);
  });
});
