import { raiseToPower } from '#kernels/power.js';
import { formatCount } from '../base/numbers.js';
import { findCompositionInForce, restoreDecided } from '../books/compositions.js';
import { isOverlayDocument, isRuleDocument } from '../definition/index-document.js';
import { computeYearFractions } from '../definition/overlay-type.js';
import { type CorporateAction, type MarketData, readReference, RETURN_VARIANTS } from '../market/market-data.js';
import { isCurrency, listUsedPairs, parsePair, readRateSeries } from '../market/rates.js';
import {
  type Candidate,
  createRuleSite,
  type FreeValue,
  listActionsNear,
  listHeldColumns,
  listPairColumns,
  REVIEWED_SESSIONS,
  type RuleSite,
  type Site,
  dayOf,
} from './difference-candidates.js';
import {
  type CandidateTerms,
  changeDocument,
  type Edit,
  type Evaluation,
  findRuleId,
  type Manner,
  type CauseSubject,
  type ReadRate,
  roundWeights,
} from './difference-terms.js';
import { countDecimals } from './outside-levels.js';

/** Returns the candidates that hold over the whole run: other conventions of the outside level. */
export function listConventions(site: Site): Candidate[] {
  const place = createRuleSite(site);
  return [
    ...listVariantCandidates(place),
    ...listTreatmentCandidates(place),
    ...listWeightingCandidates(place),
    ...listPricingCandidates(place),
    ...listRoundingCandidates(place),
    ...listWeightCandidates(place),
    ...listCurrencyCandidates(place),
    ...listCalendarCandidates(),
    ...listOverlayCandidates(place),
  ];
}

interface Convention extends Pick<Candidate, 'subject' | 'words' | 'edits' | 'types'> {
  readonly manner?: Manner;
  readonly value?: number | null;
  readonly identifier?: string | null;
  readonly free?: FreeValue;
}

/** Creates a change that holds from the start, by default with the manner `value`. */
export const createConvention = ({
  manner = 'value',
  value = null,
  identifier = null,
  ...rest
}: Convention): Candidate => ({
  manner,
  identifier,
  date: null,
  through: null,
  value,
  ...rest,
});

const listVariantCandidates = ({ own: { terms } }: RuleSite): Candidate[] =>
  RETURN_VARIANTS.filter((variant) => variant !== terms.variant).map((variant) =>
    createConvention({
      subject: 'variant',
      words: `is the ${variant} return`,
      edits: [{ kind: 'variant', variant }],
    }),
  );

const SPECIAL_TYPES: readonly CorporateAction['type'][] = ['SPECIAL_DIVIDEND', 'RETURN_OF_CAPITAL'];
const SPLIT_TYPES: readonly CorporateAction['type'][] = ['SPLIT', 'STOCK_DIVIDEND', 'BONUS_ISSUE'];

const REMOVAL_TYPES: readonly CorporateAction['type'][] = ['DELISTING', 'ACQUISITION', 'MERGER'];

/** Sessions after an event in which a convention of its type can show its first difference. */
const CONVENTION_SESSIONS = 12;

/** Returns true if an event is near a difference, or before the first level from outside, so that weights are others. */
function hasEventNear({ sm, list, session, begin }: RuleSite, types: readonly CorporateAction['type'][]): boolean {
  const isOfTypes = (placed: { readonly action: CorporateAction }): boolean => types.includes(placed.action.type);
  const { all, starts } = sm.actions;
  const first = list[0]!.session + 1;
  return (
    listActionsNear(sm, session, CONVENTION_SESSIONS).some(
      (placed) => placed.session <= session + 1 && isOfTypes(placed),
    ) ||
    (begin > first && all.slice(starts[first], starts[begin + 1]).some(isOfTypes))
  );
}

/** Values of the treatment that change levels, with the subject and manner of each. */
const TREATMENTS: readonly {
  readonly member:
    | 'reinvestment'
    | 'reinvestment_at'
    | 'special_dividends'
    | 'splits'
    | 'spin_offs'
    | 'rights'
    | 'delisting';
  readonly value: string;
  readonly subject: CauseSubject;
  readonly manner: Manner;
  /** Types of the events on which the value acts; absent if it acts on every dividend, or without an event. */
  readonly types?: readonly CorporateAction['type'][];
}[] = [
  { member: 'reinvestment', value: 'index', subject: 'reinvestment', manner: 'value' },
  { member: 'reinvestment', value: 'constituent', subject: 'reinvestment', manner: 'value' },
  { member: 'reinvestment_at', value: 'close', subject: 'reinvestment', manner: 'value' },
  { member: 'reinvestment_at', value: 'previous_close', subject: 'reinvestment', manner: 'value' },
  {
    member: 'special_dividends',
    value: 'ignore',
    subject: 'special_dividend',
    manner: 'ignored',
    types: SPECIAL_TYPES,
  },
  { member: 'special_dividends', value: 'adjust', subject: 'reinvestment', manner: 'value', types: SPECIAL_TYPES },
  { member: 'special_dividends', value: 'constituent', subject: 'reinvestment', manner: 'value', types: SPECIAL_TYPES },
  { member: 'splits', value: 'ignore', subject: 'split', manner: 'ignored', types: SPLIT_TYPES },
  { member: 'spin_offs', value: 'ignore', subject: 'spin_off', manner: 'ignored', types: ['SPIN_OFF'] },
  { member: 'spin_offs', value: 'zero_price', subject: 'spin_off', manner: 'value', types: ['SPIN_OFF'] },
  { member: 'spin_offs', value: 'drop_after_first_session', subject: 'spin_off', manner: 'value', types: ['SPIN_OFF'] },
  { member: 'rights', value: 'subscribe', subject: 'rights', manner: 'value', types: ['RIGHTS_ISSUE'] },
  { member: 'rights', value: 'price_only', subject: 'rights', manner: 'value', types: ['RIGHTS_ISSUE'] },
  { member: 'rights', value: 'constituent', subject: 'rights', manner: 'value', types: ['RIGHTS_ISSUE'] },
  { member: 'delisting', value: 'last_price', subject: 'removal', manner: 'value', types: REMOVAL_TYPES },
  { member: 'delisting', value: 'zero', subject: 'removal', manner: 'value', types: REMOVAL_TYPES },
  { member: 'delisting', value: 'action_value', subject: 'removal', manner: 'value', types: REMOVAL_TYPES },
];

function changeTreatment(id: string, changes: Readonly<Record<string, unknown>>): Edit {
  return changeDocument(id, (own) => ({
    ...own,
    pipeline: { ...own.pipeline!, treatment: { ...own.pipeline!.treatment, ...changes } },
  }));
}

/** Values of treatments that a document need not state. */
const DEFAULTS: Readonly<Record<string, string>> = { reinvestment_at: 'close' };

function listTreatmentCandidates(place: RuleSite): Candidate[] {
  const { document, ruleId } = place;
  if (!isRuleDocument(document)) return [];
  const { treatment } = document.pipeline;
  return [
    ...TREATMENTS.filter(
      ({ member, value, types }) =>
        (treatment[member] ?? DEFAULTS[member]) !== value && (types === undefined || hasEventNear(place, types)),
    ).map(({ member, value, subject, manner, types }) =>
      createConvention({
        subject,
        manner,
        types,
        words: `has ${member.replaceAll('_', ' ')} by the convention ${value}`,
        edits: [changeTreatment(ruleId, { [member]: value })],
      }),
    ),
    ...listTaxCandidates(place),
  ];
}

/** Returns the values of a reference field of the constituents around a difference. */
function listFieldValues(place: RuleSite, field: string): Set<string> {
  const { reference } = place.own.terms.market;
  const day = dayOf(place, place.session);
  const values = [...listHeldColumns(place)].map((column) =>
    readReference(reference, place.sm.identifiers[column]!, field, day),
  );
  return new Set(values.filter((value) => typeof value === 'string'));
}

/** Returns the values of a reference field of the constituents with an ordinary dividend around a difference. */
function listPayingCountries(place: RuleSite, field: string): string[] {
  const { sm, session, own } = place;
  const held = listHeldColumns(place);
  const values = listActionsNear(sm, session, CONVENTION_SESSIONS)
    .filter(({ action: { type }, column, session: at }) => type === 'DIVIDEND' && at <= session + 1 && held.has(column))
    .map(({ action: { identifier } }) =>
      readReference(own.terms.market.reference, identifier, field, dayOf(place, session)),
    );
  return [...new Set(values.filter((value) => typeof value === 'string'))];
}

function listTaxCandidates(place: RuleSite): Candidate[] {
  const { document, ruleId, own } = place;
  const { terms } = own;
  if (terms.variant !== 'net' || !isRuleDocument(document)) return [];
  const { withholding_tax: tax } = document.pipeline.treatment;
  const create = (identifier: string | null, rate: number, change: (value: number) => unknown): Candidate => {
    const createEdits = (value: number): Edit[] => [changeTreatment(ruleId, { withholding_tax: change(value) })];
    const guess = rate;
    return createConvention({
      subject: 'tax',
      identifier,
      value: rate,
      words: `withholds tax at another rate${identifier === null ? '' : ` of ${identifier}`}`,
      edits: createEdits(guess),
      free: {
        guess,
        decimals: 3,
        create: createEdits,
        accepts: (value) => value >= 0 && value < 1 && value !== rate,
        isGradual: true,
      },
    });
  };
  if (typeof tax === 'number') {
    const none = {
      subject: 'tax',
      value: 0,
      words: 'withholds no tax',
      edits: [changeTreatment(ruleId, { withholding_tax: 0 })],
    };
    return [...(tax === 0 ? [] : [createConvention({ ...none, subject: 'tax' })]), create(null, tax, (value) => value)];
  }
  const { rates, default: others } = tax;
  const countries = new Set([
    ...Object.keys(rates),
    ...(others === undefined ? [] : listFieldValues(place, tax.field)),
  ]);
  const withoutTax = (identifier: string | null, words: string, changed: unknown): Candidate =>
    createConvention({
      subject: 'tax',
      identifier,
      value: 0,
      words,
      edits: [changeTreatment(ruleId, { withholding_tax: changed })],
    });
  // Of fixed size, so that it is compared with single dividends that are not taxed.
  const paying = listPayingCountries(place, tax.field).filter((country) => (rates[country] ?? others ?? 0) > 0);
  return [
    ...paying.map((country) =>
      withoutTax(country, `withholds no tax of ${country}`, { ...tax, rates: { ...rates, [country]: 0 } }),
    ),
    ...(paying.length > 0 ? [withoutTax(null, 'withholds no tax', 0)] : []),
    ...[...countries].map((country) =>
      create(country, rates[country] ?? others!, (value) => ({ ...tax, rates: { ...rates, [country]: value } })),
    ),
    ...(others === undefined ? [] : [create(null, others, (value) => ({ ...tax, default: value }))]),
  ];
}

/** Caps that are tried: whole and half percentages up to 10 %, whole ones up to 50 %, and others that are in use. */
const CAPS = [
  ...Array.from({ length: 20 }, (_, k) => (k + 1) / 200),
  ...Array.from({ length: 40 }, (_, k) => (k + 11) / 100),
  0.225,
  0.333,
];

/** Returns the caps that the weights of the review before a difference can meet and that change them. */
function listCaps({ list, session }: RuleSite): number[] {
  const review = findCompositionInForce(list, session);
  if (review === undefined) return [];
  const largest = review.uncapped.reduce((most, weight) => Math.max(most, weight), 0);
  return CAPS.filter((cap) => cap * review.columns.length >= 1 && cap < largest);
}

function listWeightingCandidates(place: RuleSite): Candidate[] {
  const { document, ruleId } = place;
  if (!isRuleDocument(document)) return [];
  const { cap, group_caps: groupCaps } = document.pipeline.weighting;
  const change = (changes: Readonly<Record<string, unknown>>): Edit =>
    changeDocument(ruleId, (own) => ({
      ...own,
      pipeline: { ...own.pipeline!, weighting: { ...own.pipeline!.weighting, ...changes } },
    }));
  return [
    ...(cap === null
      ? []
      : [createConvention({ subject: 'cap', manner: 'ignored', words: 'has no cap', edits: [change({ cap: null })] })]),
    ...(groupCaps.length === 0
      ? []
      : [
          createConvention({
            subject: 'cap',
            manner: 'ignored',
            words: 'has no caps of groups',
            edits: [change({ group_caps: [] })],
          }),
        ]),
    ...(typeof cap === 'string' || (typeof cap === 'object' && cap !== null)
      ? []
      : listCaps(place)
          .filter((value) => value !== cap)
          .map((value) =>
            createConvention({
              subject: 'cap',
              manner: cap === null ? 'added' : 'value',
              value,
              words: `caps weights at ${value}`,
              edits: [change({ cap: value })],
            }),
          )),
  ];
}

/** Maximum number of sessions between pricing and effect that is tried. */
const PRICING_MAX = 7;

function listPricingCandidates({ document, ruleId }: RuleSite): Candidate[] {
  const { rebalance } = document;
  if (rebalance.frequency === 'none') return [];
  const create = (changes: Readonly<Record<string, unknown>>, words: string, value: number | null): Candidate =>
    createConvention({
      subject: 'pricing',
      value,
      words,
      edits: [changeDocument(ruleId, (own) => ({ ...own, rebalance: { ...own.rebalance, ...changes } }))],
    });
  const other = rebalance.weights_as === 'shares' ? 'weights' : 'shares';
  return [
    create({ weights_as: other }, `fixes ${other} at a rebalance`, null),
    ...Array.from({ length: PRICING_MAX + 1 }, (_, sessions) =>
      create(
        { pricing_date: { rule: 'sessions_before', sessions } },
        `prices a rebalance ${formatCount(sessions, 'session')} before its effect`,
        sessions,
      ),
    ),
    ...Array.from({ length: PRICING_MAX + 1 }, (_, sessions) =>
      create(
        { effective_lag: sessions },
        `decides and prices a rebalance ${formatCount(sessions, 'session')} before its effect`,
        sessions,
      ),
    ),
  ];
}

const DECIMALS = [0, 1, 2, 3, 4, 5, 6, 8];

/** Decimals of weights as fractions: those of percentages with none to four. */
const WEIGHT_DECIMALS = [2, 3, 4, 5, 6];

/** Smallest change of a weight by rounding. */
const WEIGHT_LEAST = 1e-9;

/** Sessions of outside levels, before later reviews, in which rounded weights show their first difference. */
const WEIGHT_SESSIONS = 60;

/**
 * Returns the roundings that change the weights of the review before a difference in relation to each other. Decimals of
 * published weights act on no level: the outside level has weights that are rounded in the calculation.
 */
function listWeightCandidates({ document, ruleId, list, session, begin }: RuleSite): Candidate[] {
  const review = findCompositionInForce(list, session - 1);
  if (!isRuleDocument(document) || review === undefined) return [];
  if (session - begin > WEIGHT_SESSIONS && session - review.session > REVIEWED_SESSIONS) return [];
  const { weights } = restoreDecided(review);
  return WEIGHT_DECIMALS.filter((decimals) => {
    const rounded = roundWeights(weights, decimals);
    return rounded.some((weight, k) => Math.abs(weight - weights[k]!) > WEIGHT_LEAST);
  }).map((decimals) =>
    createConvention({
      subject: 'rounding',
      value: decimals,
      words: `rounds weights to ${decimals} decimals at each review`,
      edits: [{ kind: 'weights', id: ruleId, decimals }],
    }),
  );
}

function listRoundingCandidates({ document, ruleId }: RuleSite): Candidate[] {
  const members = document.base_market_value === undefined ? (['divisor'] as const) : (['divisor', 'shares'] as const);
  return members.flatMap((member) => {
    const { [member]: own_, ...others } = document.rounding ?? {};
    const change = (rounding: object): Edit => changeDocument(ruleId, (whole) => ({ ...whole, rounding }));
    return [
      ...(own_ === undefined
        ? []
        : [
            createConvention({
              subject: 'rounding',
              manner: 'ignored',
              words: `does not round the ${member}`,
              edits: [change(others)],
            }),
          ]),
      ...DECIMALS.filter((decimals) => decimals !== own_).map((decimals) =>
        createConvention({
          subject: 'rounding',
          value: decimals,
          words: `rounds the ${member} to ${decimals} decimals`,
          edits: [change({ ...document.rounding, [member]: decimals })],
        }),
      ),
    ];
  });
}

/** Rates that replace those of a pair, with the manner and words of each. */
const RATES: readonly (Pick<Candidate, 'words'> & { readonly manner: Manner; readonly read: ReadRate })[] = [
  { manner: 'ignored', words: 'converts at a rate of 1', read: () => 1 },
  { manner: 'inverted', words: 'converts at the inverse rate', read: (closes, at) => 1 / closes[at]! },
  {
    manner: 'late',
    words: 'converts at the rate of the previous session',
    read: (closes, at) => closes[Math.max(0, at - 1)]!,
  },
  {
    manner: 'early',
    words: 'converts at the rate of the next session',
    read: (closes, at) => closes[Math.min(closes.length - 1, at + 1)]!,
  },
  { manner: 'carried', words: 'converts at the rate of the first session', read: (closes) => closes[0]! },
];

/** Exchange rate of the store, with a change of its rates. */
interface StoredPair {
  readonly identifier: string;
  readonly change: (read: ReadRate) => Edit;
}

/** Returns the exchange rates with which the index converts prices. */
function listStoredPairs(place: RuleSite): StoredPair[] {
  const { market } = place.sm;
  const { identifiers, series } = market;
  const panel = market.fields.get('CLOSE')!;
  const ofColumns = listPairColumns(place).map((column): StoredPair => {
    const rows = [...market.dates.keys()].filter((row) => !Number.isNaN(panel[row * identifiers.length + column]!));
    const closes = rows.map((row) => panel[row * identifiers.length + column]!);
    return {
      identifier: identifiers[column]!,
      change: (read) => ({
        kind: 'bars',
        field: 'CLOSE',
        column,
        bars: rows.map((row, at) => ({ row, value: read(closes, at) })),
      }),
    };
  });
  const used = new Set(
    [...listCodes(market)].flatMap((code) => [
      ...(listUsedPairs(
        (pair) => identifiers.includes(pair) || series?.has(pair) === true,
        code,
        place.document.currency,
      ) ?? []),
    ]),
  );
  const ofSeries = [...(series?.keys() ?? [])].filter((name) => used.has(name) && !identifiers.includes(name));
  return [
    ...ofColumns,
    ...ofSeries.map((identifier): StoredPair => ({
      identifier,
      change: (read) => ({ kind: 'series', identifier, read }),
    })),
  ];
}

/** Returns the currencies of the securities of a store. */
function listCodes({ reference: { columns, rows } }: MarketData): Set<string> {
  const position = columns.indexOf('CURRENCY');
  const codes = [...rows.values()].flatMap((all) => all.map(({ values }) => values[position]));
  return new Set(codes.filter((code) => typeof code === 'string'));
}

function listCurrencyCandidates(place: RuleSite): Candidate[] {
  const { market } = place.sm;
  const stored = listStoredPairs(place);
  const create = (identifier: string | null, some: readonly StoredPair[]): Candidate[] =>
    RATES.map(({ manner, words, read }) =>
      createConvention({
        subject: 'currency',
        manner,
        identifier,
        words: identifier === null ? words.replace('converts', 'converts all currencies') : words,
        edits: some.map(({ change }) => change(read)),
      }),
    );
  const pairs = [...market.identifiers, ...(market.series?.keys() ?? [])].flatMap((name) => parsePair(name) ?? []);
  const others = new Set([...listCodes(market), ...pairs].filter(isCurrency));
  others.delete(place.document.currency);
  return [
    ...stored.flatMap((pair) => create(pair.identifier, [pair])),
    ...(stored.length > 1 ? create(null, stored) : []),
    ...[...others].flatMap((currency) => listConversions(place.own, currency)),
  ];
}

/** Returns the index in another currency: computed in it, or with its levels converted at the rate of each session. */
export function listConversions({ terms, rule: { sm } }: Evaluation, currency: string): Candidate[] {
  const ruleId = findRuleId(terms);
  const rates = readRateSeries(sm, terms.documents[ruleId]!.currency, currency);
  if (rates === undefined) return [];
  const create = (edit: Edit): Candidate =>
    createConvention({ subject: 'currency', identifier: currency, words: `is in ${currency}`, edits: [edit] });
  const converted = create({
    kind: 'levels',
    terms: { currency },
    change: (levels, days) => levels.map((own, t) => own * rates[sm.sessionAt(days[t]!)]!),
  });
  return sm.market.reference.columns.includes('CURRENCY')
    ? [create(changeDocument(ruleId, (own) => ({ ...own, currency }))), converted]
    : [converted];
}

const listCalendarCandidates = (): Candidate[] =>
  (
    [
      ['late', -1],
      ['early', 1],
    ] as const
  ).map(([manner, by]) =>
    createConvention({
      subject: 'calendar',
      manner,
      words: `is dated one session ${manner}`,
      edits: [
        {
          kind: 'levels',
          terms: { shifted_sessions: -by },
          change: (levels) => levels.map((own, t) => levels[t + by] ?? own),
        },
      ],
    }),
  );

/** Sum of the two usual numbers of days per year. */
export const BOTH_DAY_COUNTS = 360 + 365;

function listOverlayCandidates({ own: { terms } }: RuleSite): Candidate[] {
  const document = terms.documents[terms.indexId]!;
  if (!isOverlayDocument(document)) return listFees(terms, USUAL_ACCRUALS);
  const spec = document.overlay as unknown as Readonly<Record<string, unknown>> & { readonly type: string };
  const change = (changes: Readonly<Record<string, unknown>>): Edit =>
    changeDocument(document.id, (own) => ({ ...own, overlay: { ...own.overlay, ...changes } }));
  const create = (
    subject: CauseSubject,
    manner: Manner,
    changes: Readonly<Record<string, unknown>>,
    words: string,
    value: number | null = null,
  ): Candidate => createConvention({ subject, manner, value, words, edits: [change(changes)] });
  const solve = (subject: CauseSubject, member: string, scale: number, words: string): Candidate[] => {
    const guess = spec[member];
    if (typeof guess !== 'number') return [];
    const createEdits = (value: number): Edit[] => [change({ [member]: value })];
    return [
      createConvention({
        subject,
        value: guess * scale,
        words,
        edits: createEdits(guess),
        free: {
          guess,
          decimals: Math.max(2, countDecimals(guess)),
          create: createEdits,
          accepts: (value) => value >= 0 && value !== guess,
          isGradual: true,
        },
      }),
    ];
  };
  const basis = spec['basis'];
  const isFee = spec.type === 'fee' || spec.type === 'decrement';
  const isOfPoints = typeof spec['points'] === 'number';
  return [
    ...(basis === 360 || basis === 365
      ? [
          create(
            'day_count',
            'value',
            { basis: BOTH_DAY_COUNTS - basis },
            `counts ${BOTH_DAY_COUNTS - basis} days per year`,
            BOTH_DAY_COUNTS - basis,
          ),
        ]
      : []),
    ...(isFee
      ? [create('fee', 'ignored', { percent: 0, ...(isOfPoints && { points: null }) }, 'subtracts nothing')]
      : []),
    ...(isFee ? solve('fee', 'percent', 0.01, 'subtracts another percentage') : []),
    ...(isFee ? solve('fee', 'points', 1, 'subtracts other points') : []),
    ...(spec.type === 'decrement' && typeof spec['percent'] === 'number'
      ? [
          create(
            'fee',
            'value',
            { method: spec['method'] === 'geometric' ? 'arithmetic' : 'geometric' },
            'subtracts by another method',
          ),
        ]
      : []),
    ...(spec.type === 'leverage'
      ? [
          ...(spec['financing'] === null
            ? []
            : [create('financing', 'ignored', { financing: null, spread_bps: 0 }, 'counts no financing')]),
          ...(spec['financing'] === null || spec['spread_bps'] === 0
            ? []
            : [create('financing', 'ignored', { financing: null }, 'counts no rate of financing')]),
          ...solve('financing', 'spread_bps', 1e-4, 'finances at another spread'),
        ]
      : []),
  ];
}

/** Smallest percentage per year that a fee has. */
const FEE_LEAST = 0.005;

/** Sessions per year by which a fee is counted. */
const SESSIONS_PER_YEAR = 252;

/** Factor of a fee over a part of a year: compound, in proportion to the part, or compound by days. */
const ACCRUALS = {
  geometric: (rate: number, part: number) => raiseToPower(1 - rate, part),
  arithmetic: (rate: number, part: number) => 1 - rate * part,
  daily: (rate: number, part: number, basis: number) => raiseToPower(1 - rate / basis, part * basis),
};

interface Accrual {
  /** Days per year, or sessions per year. */
  readonly basis: number;
  readonly method: keyof typeof ACCRUALS;
}

const DAY_COUNTS = [365, 360];
const USUAL_ACCRUALS = DAY_COUNTS.map((basis): Accrual => ({ basis, method: 'geometric' }));
const OTHER_ACCRUALS: readonly Accrual[] = [
  ...DAY_COUNTS.flatMap((basis): Accrual[] => [
    { basis, method: 'arithmetic' },
    { basis, method: 'daily' },
  ]),
  { basis: SESSIONS_PER_YEAR, method: 'arithmetic' },
  { basis: SESSIONS_PER_YEAR, method: 'geometric' },
];

/** Returns the fees that only the outside level can have. Levels have at most one. */
const listFees = ({ documents, indexId, reading }: CandidateTerms, accruals: readonly Accrual[]): Candidate[] =>
  isOverlayDocument(documents[indexId]!) || reading.some(({ terms }) => 'fee_percent' in terms)
    ? []
    : accruals.map(createFeeCandidate);

/** Returns the fees whose percentage is known only from many levels, because another accrual gives nearly equal ones. */
export const listOtherFees = (terms: CandidateTerms): Candidate[] => listFees(terms, OTHER_ACCRUALS);

function createFeeCandidate({ basis, method }: Accrual): Candidate {
  const guess = 0.5;
  const create = (percent: number): Edit[] => [
    {
      kind: 'levels',
      terms: { fee_percent: percent, fee_basis: basis, ...(method === 'geometric' ? {} : { fee_method: method }) },
      change: (levels, days) => {
        const fractions = basis === SESSIONS_PER_YEAR ? levels.map(() => 1 / basis) : computeYearFractions(days, basis);
        let factor = 1;
        return levels.map(
          (own, t) => own * (t === 0 ? 1 : (factor *= ACCRUALS[method](percent / 100, fractions[t]!, basis))),
        );
      },
    },
  ];
  return createConvention({
    subject: 'fee',
    manner: 'added',
    value: guess / 100,
    words: 'subtracts a fee',
    edits: create(guess),
    free: { guess, decimals: 2, create, accepts: (value) => value >= FEE_LEAST && value < 20, isGradual: true },
  });
}
