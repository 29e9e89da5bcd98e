import { describe, expect, test } from 'vitest';
import type { Composer } from '#domain/books/compositions.js';
import { createComposer } from '#domain/books/composer.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { formatDay } from '#domain/base/time.js';
import { IndexDocument, isRuleDocument, type RuleDocument } from '#domain/definition/index-document.js';
import { type MarketData, openMarketSince, shareMarket } from '#domain/market/market-data.js';
import { alignMarket, BeforeMarketError, markWindow } from '#domain/market/session-market.js';
import { SELECTION_CLASSES } from '#domain/definition/rule-pipeline.js';
import { WEIGHTING_CLASSES } from '#domain/definition/weighting-classes.js';
import { AGGREGATES, DERIVED_NAMES } from '#domain/datapoints/fields.js';
import { computeLookBack } from '#domain/decide/rule-decider.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { generateTestMarket } from '../../synthetic-market.js';

const CALENDARS = openCalendars();
const XNYS = CALENDARS.get('XNYS')!;
const SESSIONS = XNYS.sessions.filter((day) => day > 16_500).slice(0, 900);
const MARKET = addIssuers({
  datasetId: 'test',
  contentHash: 'look-back',
  adjustment: 'none',
  ...generateTestMarket({
    seed: 3,
    assets: 40,
    sessions: SESSIONS,
    sectors: 4,
    dividend_yield: 0.03,
    splits_per_year: 0.4,
    delistings_per_year: 0.05,
    listings_per_year: 0.05,
    missing_rate: 0.01,
  }),
});
const HANDLE = shareMarket(MARKET);
const SESSION_MARKET = alignMarket({ market: MARKET, calendar: XNYS, calendars: CALENDARS });
/** Sessions of decisions: several recent sessions and one much earlier. Each has at least a year of data before it. */
const DECISIONS = [620, 700, 777, 899];

/** Returns the market with issuers. Half of the issuers have two securities. */
function addIssuers(market: MarketData): MarketData {
  const { columns, rows } = market.reference;
  const readIssuer = (identifier: string): string => `I${Math.floor(market.identifiers.indexOf(identifier) / 2)}`;
  return {
    ...market,
    reference: {
      columns: [...columns, 'ISSUER'],
      rows: new Map(
        [...rows].map(([identifier, ownRows]) => [
          identifier,
          ownRows.map((row) => ({ ...row, values: [...row.values, readIssuer(identifier)] })),
        ]),
      ),
    },
  };
}

interface Rows {
  readonly selection?: readonly object[];
  readonly weighting?: object;
}

function createDocument({ selection = [], weighting = { type: 'EqualWeight' } }: Rows): RuleDocument {
  const document = IndexDocument.parse({
    id: 'X',
    name: 'X',
    calendar: 'XNYS',
    base_date: formatDay(SESSIONS[5]!),
    rebalance: { frequency: 'monthly' },
    pipeline: { selection, weighting },
  });
  if (!isRuleDocument(document)) throw new Error('a document with a pipeline is one of rules');
  return document;
}

function createComposerAt(document: RuleDocument, market: MarketData, decision: number): Composer {
  return createComposer({
    market,
    calendars: CALENDARS,
    documents: { X: document },
    until: SESSIONS[decision]!,
    createDecider: indexDecider,
  });
}

/** Returns a composer that sees only the part of the market to which a decision looks back. */
function narrowComposer(
  document: RuleDocument,
  decision: number,
): { readonly composer: Composer; readonly first: number } {
  const { session, paidAfter } = computeLookBack({ document, sm: SESSION_MARKET, decision });
  const market = openMarketSince(HANDLE, paidAfter);
  const mark = markWindow({ market, calendar: XNYS, session, later: null });
  const markets = new Map([['XNYS', alignMarket({ market, calendar: XNYS, calendars: CALENDARS, mark })]]);
  return {
    composer: createComposer({
      market,
      calendars: CALENDARS,
      documents: { X: document },
      until: SESSIONS[decision]!,
      createDecider: indexDecider,
      aligned: markets,
    }),
    first: session,
  };
}

/** Every third security, as the previous constituents. */
const INCUMBENTS = Int32Array.from([...MARKET.identifiers.keys()].filter((column) => column % 3 === 0));

/**
 * Compares decisions on the part of the market to which they look back with decisions on the whole market.
 * @returns number of selected securities over all sessions
 */
function expectSame(document: RuleDocument): number {
  let names = 0;
  for (const decision of DECISIONS) {
    const { composer, first } = narrowComposer(document, decision);
    expect(first).toBeGreaterThan(0);
    const narrowDecision = composer.decider('X').decide(decision, INCUMBENTS);
    expect(narrowDecision).toEqual(
      createComposerAt(document, MARKET, decision).decider('X').decide(decision, INCUMBENTS),
    );
    if (narrowDecision.kind === 'decided') names += narrowDecision.columns.length;
  }
  return names;
}

/** Parameters for rule classes that select some securities of this market. */
const VALID_PARAMETERS: Readonly<Record<string, object>> = {
  ExpressionFilter: {
    expression: {
      node: 'comparison',
      field: { node: 'field', name: 'VALUE_TRADED', aggregate: 'median', window: 60 },
      comparison: 'ge',
      value: 1000,
    },
  },
  IncludeList: { identifiers: MARKET.identifiers.slice(0, 12) },
  MarketCapFilter: { minimum: 2e9, incumbent_minimum: 1e9 },
  LiquidityFilter: { minimum: 1000, window: 60, incumbent_minimum: 500 },
  DividendFilter: { minimum_yield: 0.001, minimum_years: 1 },
  // A parameter contains the name of a plug-in where another class would have a column.
  PluginFilter: { plugin: 'CLOSE' },
  PluginWeight: { plugin: 'CLOSE' },
  FixedWeight: { weights: { [MARKET.identifiers[1]!]: 0.5, [MARKET.identifiers[4]!]: 0.5 } },
};

/**
 * Classes without MembershipFilter. Compositions of another index have a separate look-back, because they are known
 * when a session is appended.
 */
const OWN_CLASSES = SELECTION_CLASSES.filter(({ type }) => type !== 'MembershipFilter');

describe('a decision on only the part of the market that its rules look back to equals the decision on the whole market', () => {
  test.each(OWN_CLASSES.map(({ type, example }) => ({ type, example })))('by $type', ({ type, example }) => {
    const params = VALID_PARAMETERS[type] ?? (example as { readonly params: object }).params;
    expect(expectSame(createDocument({ selection: [{ ...example, params }] }))).toBeGreaterThan(0);
  });

  test.each(WEIGHTING_CLASSES.map(({ type, example }) => ({ type, example })))(
    'weighted by $type',
    ({ type, example }) => {
      const params = VALID_PARAMETERS[type] ?? (example as { readonly params: object }).params;
      expect(expectSame(createDocument({ weighting: { ...example, params } }))).toBeGreaterThan(0);
    },
  );

  const names = ['CLOSE', ...DERIVED_NAMES];
  test.each(names.flatMap((name) => AGGREGATES.map((aggregate) => ({ name, aggregate }))))(
    'by $aggregate of $name, some sessions ago',
    ({ name, aggregate }) => {
      const isStatistic = ['VOLATILITY', 'MOMENTUM', 'BETA'].includes(name);
      if (isStatistic && aggregate !== 'last') return;
      const field = {
        node: 'field',
        name,
        lag: 7,
        ...(aggregate === 'last' && !isStatistic ? {} : { window: 45 }),
        aggregate,
        transform: 'rank',
      };
      const expression = { node: 'comparison', field, comparison: 'le', value: 12 };
      expect(
        expectSame(createDocument({ selection: [{ id: 'r', type: 'ExpressionFilter', params: { expression } }] })),
      ).toBeGreaterThan(0);
    },
  );
});

test('a market that begins too late refuses a decision that looks further back', () => {
  const decision = DECISIONS[0]!;
  const shortMarket = openMarketSince(HANDLE, SESSIONS[decision - 20]!);
  const mark = markWindow({ market: shortMarket, calendar: XNYS, session: decision - 20, later: null });
  const markets = new Map([['XNYS', alignMarket({ market: shortMarket, calendar: XNYS, calendars: CALENDARS, mark })]]);
  const decide = (rows: Rows) =>
    createComposer({
      market: shortMarket,
      calendars: CALENDARS,
      documents: { X: createDocument(rows) },
      until: SESSIONS[decision]!,
      createDecider: indexDecider,
      aligned: markets,
    })
      .decider('X')
      .decide(decision, null);
  expect(() =>
    decide({ weighting: { type: 'InverseVolatilityWeight', params: { window: 21, minimum_observations: 5 } } }),
  ).toThrow(BeforeMarketError);
  expect(() => decide({ weighting: { type: 'MinimumVarianceWeight', params: { window: 21 } } })).toThrow(
    BeforeMarketError,
  );
  expect(() => decide({ selection: [{ id: 'y', type: 'DividendFilter', params: { minimum_yield: 0.001 } }] })).toThrow(
    BeforeMarketError,
  );
  expect(() =>
    decide({ selection: [{ id: 'b', type: 'RangeFilter', params: { field: 'BETA', minimum: 0.5 } }] }),
  ).toThrow(BeforeMarketError);
  expect(
    decide({ weighting: { type: 'InverseVolatilityWeight', params: { window: 20, minimum_observations: 5 } } }).kind,
  ).toBe('decided');
});
