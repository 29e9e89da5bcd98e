import { findLastAtMost, findUpperMedian } from '../base/numbers.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import { type Composition, findCompositionInForce } from '../books/compositions.js';
import { listDueUnderTexts } from '../books/rebalance-dates.js';
import { findTextInEffect } from '../definition/amendments.js';
import { type IndexDocument, isRuleDocument, type UniverseSpec } from '../definition/index-document.js';
import { ENDING_TYPES } from '../definition/treatment.js';
import { createWithholding } from '../market/action-effects.js';
import { ACTION_KINDS, type CorporateAction } from '../market/market-data.js';
import { createExchangeRates } from '../market/rates.js';
import type { SessionMarket } from '../market/session-market.js';
import {
  type CauseSubject,
  changeDocument,
  changeUniverse,
  type DatedChange,
  type Edit,
  type Evaluation,
  findRuleId,
  holdMembers,
  listFieldsRead,
  type Manner,
  type PanelBar,
  readSelection,
  replaceMember,
} from './difference-terms.js';
import { countDecimals } from './outside-levels.js';

/** Change that may explain a difference. */
export interface Candidate extends DatedChange {
  readonly subject: CauseSubject;
  readonly manner: Manner;
  readonly identifier: string | null;
  readonly through: Day | null;
  readonly value: number | null;
  /** Action of the outside level, as the predicate of a sentence. */
  readonly words: string;
  /** Types of the events on which a convention acts; absent if it acts on every dividend, or without an event. */
  readonly types?: readonly CorporateAction['type'][] | undefined;
  /** Session before the first one; absent if the change has no duration. */
  readonly after?: Day | undefined;
  /** Candidate with the same state for one more session; absent if the change has no duration. */
  readonly longer?: () => Candidate | null;
  /** Candidate with the same state to the end of the run; absent if there is none. */
  readonly lasting?: () => Candidate;
  /** Securities of which a selection takes, or leaves, one for the security; absent if none is exchanged. */
  readonly exchanged?: readonly number[] | undefined;
  /** Number that the outside level reveals; `edits` are those of the first guess. */
  readonly free?: FreeValue;
  /** Number that was found; absent for the first guess. */
  readonly found?: number | undefined;
}

export interface FreeValue {
  readonly guess: number;
  /** Decimals that such numbers usually have. */
  readonly decimals: number;
  readonly create: (value: number) => readonly Edit[];
  readonly accepts: (value: number) => boolean;
  /** True if the value acts on every session, so that a late session determines it best. */
  readonly isGradual?: boolean;
}

/** Place of a difference in a run. */
export interface Site {
  readonly own: Evaluation;
  /** Session of the rule-based index with the first difference. */
  readonly session: number;
  /** Session of the first level from outside. */
  readonly begin: number;
}

export interface RuleSite extends Site {
  readonly ruleId: string;
  readonly document: IndexDocument;
  readonly sm: SessionMarket;
  readonly list: readonly Composition[];
}

/** Sessions before a difference in which its cause is searched: a small effect appears late in a rounded level. */
const EVENT_SESSIONS = 4;

/** Sessions after a review in which its weights show their first difference. */
export const REVIEWED_SESSIONS = 2;

/** Maximum number of sessions for which a price is carried. */
export const CARRIED_MAX = 10;

/** Rebalances before a difference that are searched. */
const REBALANCES = 2;

export function createRuleSite(site: Site): RuleSite {
  const { terms, rule } = site.own;
  const ruleId = findRuleId(terms);
  return { ...site, ruleId, document: terms.documents[ruleId]!, sm: rule.sm, list: rule.list };
}

/** Returns the candidates that concern an event, a price or a review near a difference. */
export function listLocalCandidates(site: Site): Candidate[] {
  const place = createRuleSite(site);
  return [
    ...listActionCandidates(place),
    ...listUnlistedCandidates(place),
    ...listPriceCandidates(place),
    ...listRebalanceCandidates(place),
    ...listAddedReviews(place),
    ...listShareCandidates(place),
    ...listFollowedShareCandidates(place),
    ...listConstituentCandidates(place),
  ];
}

export const dayOf = ({ sm }: Pick<RuleSite, 'sm'>, session: number): Day => sm.sessions[session]!;

function listActionCandidates(place: RuleSite): Candidate[] {
  const { sm, session, own } = place;
  const held = listHeldColumns(place);
  // An event between the decision of a review and its effect can change only the weights of the review.
  const review = findCompositionInForce(place.list, session - 1);
  const isReviewed = review !== undefined && session - review.session <= REVIEWED_SESSIONS;
  const count = Math.max(EVENT_SESSIONS, isReviewed ? session - review.decision : 0);
  const candidates = listActionsNear(sm, session, count)
    .filter((placed) => placed.session <= session + 1 && held.has(placed.column))
    .flatMap(({ action, session: at }) => listChangesOfAction(place, action, at));
  const cancelled = own.terms.market.actions.filter(
    (action) =>
      action.status === 'cancelled' &&
      action.exDay > dayOf(place, Math.max(0, session - EVENT_SESSIONS - 1)) &&
      action.exDay <= dayOf(place, session),
  );
  return [
    ...candidates,
    ...listEarlierTypes(place, held, count),
    ...cancelled.map((action) =>
      createActionCandidate(
        { action, day: dayOf(place, place.sm.sessionAt(action.exDay)) },
        { manner: 'added', after: { ...action, status: 'paid' }, words: 'counted the cancelled' },
      ),
    ),
  ];
}

/**
 * Returns the dividends that were treated as of another type longer before a difference: what is paid into the constituent
 * changes its weight, which a rounded level shows late. A review ends the effect.
 */
function listEarlierTypes(place: RuleSite, held: ReadonlySet<number>, count: number): Candidate[] {
  const { sm, session, list, document } = place;
  const review = findCompositionInForce(list, session - 1);
  const isOfConstituents = isRuleDocument(document) && document.pipeline.treatment.reinvestment === 'constituent';
  if (!isOfConstituents || review === undefined || review.session >= session - count) return [];
  return listActionsNear(sm, session, session - review.session)
    .filter(({ session: at, column }) => at < session - count && held.has(column))
    .flatMap(({ action, session: at }) => {
      const other = createRetyped(action, dayOf(place, at));
      return other === null ? [] : [other];
    });
}

/** Returns the change of an ordinary dividend to a special one, or the reverse; null for other events. */
function createRetyped(action: CorporateAction, day: Day): Candidate | null {
  const isOrdinary = action.type === 'DIVIDEND';
  if (!isOrdinary && action.type !== 'SPECIAL_DIVIDEND' && action.type !== 'RETURN_OF_CAPITAL') return null;
  return createActionCandidate(
    { action, day },
    {
      manner: 'ignored',
      after: { ...action, type: isOrdinary ? 'SPECIAL_DIVIDEND' : 'DIVIDEND' },
      words: isOrdinary ? 'treated as special the' : 'treated as ordinary the',
    },
  );
}

/** Returns the columns that the index holds around a difference, with those that enter by an event. */
export function listHeldColumns({ list, session, sm }: RuleSite): ReadonlySet<number> {
  const compositions = [findCompositionInForce(list, session - EVENT_SESSIONS), findCompositionInForce(list, session)];
  const columns = new Set(compositions.flatMap((composition) => [...(composition?.columns ?? [])]));
  for (const { action, column } of sm.actions.related)
    if (columns.has(column)) columns.add(sm.columnOf(action.related!));
  return columns;
}

const SUBJECT_BY_TYPE: Readonly<Record<CorporateAction['type'], CauseSubject>> = {
  DIVIDEND: 'dividend',
  SPECIAL_DIVIDEND: 'special_dividend',
  RETURN_OF_CAPITAL: 'special_dividend',
  SPLIT: 'split',
  STOCK_DIVIDEND: 'split',
  BONUS_ISSUE: 'split',
  RIGHTS_ISSUE: 'rights',
  SPIN_OFF: 'spin_off',
  MERGER: 'removal',
  ACQUISITION: 'removal',
  DELISTING: 'removal',
  TICKER_CHANGE: 'removal',
};

interface DatedAction {
  readonly action: CorporateAction;
  /** Session on which it takes effect. */
  readonly day: Day;
}

interface ActionChange extends Pick<Candidate, 'manner' | 'words'> {
  readonly after: CorporateAction | null;
  readonly value?: number | null;
}

function createActionCandidate(
  { action, day }: DatedAction,
  { manner, after, words, value = null }: ActionChange,
): Candidate {
  return {
    subject: SUBJECT_BY_TYPE[action.type],
    manner,
    identifier: action.identifier,
    date: day,
    through: null,
    value,
    words: `${words} ${ACTION_WORDS[action.type]} of ${action.identifier}`,
    edits: [{ kind: 'action', before: action, after }],
  };
}

const ACTION_WORDS: Readonly<Record<CorporateAction['type'], string>> = {
  DIVIDEND: 'dividend',
  SPECIAL_DIVIDEND: 'special dividend',
  RETURN_OF_CAPITAL: 'return of capital',
  SPLIT: 'split',
  STOCK_DIVIDEND: 'stock dividend',
  BONUS_ISSUE: 'bonus issue',
  RIGHTS_ISSUE: 'rights issue',
  SPIN_OFF: 'spin-off',
  MERGER: 'merger',
  ACQUISITION: 'acquisition',
  DELISTING: 'delisting',
  TICKER_CHANGE: 'change of ticker',
};

function listChangesOfAction(place: RuleSite, action: CorporateAction, at: number): Candidate[] {
  const { sm } = place;
  const { type, value } = action;
  const create = (
    manner: Manner,
    after: CorporateAction | null,
    words: string,
    number: number | null = null,
  ): Candidate => createActionCandidate({ action, day: dayOf(place, at) }, { manner, after, words, value: number });
  const kind = ACTION_KINDS[type];
  const candidates = [create('ignored', null, 'left out the')];
  const [before, later] = [sm.sessions[at - 1], sm.sessions[at + 1]];
  if (before !== undefined)
    candidates.push(create('early', { ...action, exDay: before }, 'applied one session early the'));
  if (later !== undefined) candidates.push(create('late', { ...action, exDay: later }, 'applied one session late the'));
  if (kind === 'cash' || type === 'SPIN_OFF')
    candidates.push(create('doubled', { ...action, value: 2 * value }, 'counted twice the'));
  if (kind === 'cash') candidates.push(create('inverted', { ...action, value: -value }, 'subtracted the'));
  if (kind === 'cash')
    for (const factor of UNIT_FACTORS) {
      const amount = Number((factor * value).toPrecision(AMOUNT_DIGITS));
      candidates.push(create('value', { ...action, value: amount }, ANOTHER_VALUE, amount));
    }
  if (kind === 'ratio' && value > 0) {
    candidates.push(create('doubled', { ...action, value: value * value }, 'applied twice the'));
    candidates.push(create('inverted', { ...action, value: 1 / value }, 'applied inverted the'));
  }
  const retyped = createRetyped(action, dayOf(place, at));
  if (retyped !== null) candidates.push(retyped);
  const tax = findTaxRate(place, action);
  if (type === 'DIVIDEND' && tax > 0)
    candidates.push(create('value', { ...action, value: value / (1 - tax) }, 'did not tax the', value / (1 - tax)));
  if (type === 'RIGHTS_ISSUE' && action.subscriptionPrice !== null)
    candidates.push(
      createFreeAction(create, action, action.subscriptionPrice, (price) => ({ ...action, subscriptionPrice: price })),
    );
  if (value > 0 && type !== 'TICKER_CHANGE')
    candidates.push(createFreeAction(create, action, value, (amount) => ({ ...action, value: amount })));
  return candidates;
}

/** Returns the rate of tax on a dividend of a net index; 0 for other variants, NaN if the security has no rate. */
function findTaxRate({ document, own: { terms } }: RuleSite, { identifier, exDay }: CorporateAction): number {
  if (terms.variant !== 'net' || !isRuleDocument(document)) return 0;
  return createWithholding(terms.market, document.pipeline.treatment.withholding_tax)(identifier, exDay);
}

/** Ratios of an amount in another unit, or with a shifted decimal point, to the amount, and its significant digits. */
const UNIT_FACTORS = [0.01, 100, 0.1, 10];
const AMOUNT_DIGITS = 12;

const ANOTHER_VALUE = 'used another value of the';

/** Largest ratio of shares, and largest ratio of an amount to that of the event. */
const RATIO_MAX = 1000;
const AMOUNT_RATIO_MAX = 20;

function createFreeAction(
  create: (manner: Manner, after: CorporateAction | null, words: string, number: number | null) => Candidate,
  before: CorporateAction,
  guess: number,
  change: (value: number) => CorporateAction,
): Candidate {
  const largest = ACTION_KINDS[before.type] === 'ratio' ? RATIO_MAX : AMOUNT_RATIO_MAX * guess;
  return {
    ...create('value', change(guess), ANOTHER_VALUE, guess),
    free: {
      guess,
      decimals: Math.max(2, countDecimals(guess)),
      create: (value) => [{ kind: 'action', before, after: change(value) }],
      accepts: (value) => value > 0 && value !== guess && value < largest,
    },
  };
}

/** Returns the events that the store lacks although it gives a reason for them. */
export function listUnlistedCandidates(place: RuleSite): Candidate[] {
  const { sm, session } = place;
  return listUnlistedEvents({ sm, session, held: listHeldColumns(place) }).map(
    ({ action, accepts, decimals }): Candidate => ({
      subject: SUBJECT_BY_TYPE[action.type],
      manner: 'added',
      identifier: action.identifier,
      date: action.exDay,
      through: null,
      value: action.value,
      words: `counted a ${ACTION_WORDS[action.type]} of ${action.identifier} that the store lacks`,
      edits: [{ kind: 'action', before: null, after: action }],
      ...(accepts === null
        ? {}
        : {
            free: {
              guess: action.value,
              decimals,
              create: (value) => [{ kind: 'action', before: null, after: { ...action, value } }],
              accepts,
            },
          }),
    }),
  );
}

interface PriceBar {
  readonly row: number;
  readonly price: number;
}

/** Returns the bar of a security on a session. Undefined without a bar. */
function findBar({ sm }: RuleSite, session: number, column: number): PriceBar | undefined {
  const price = sm.closeAt(session, column);
  const row = findLastAtMost(sm.market.dates, sm.barDay(session, column));
  return Number.isNaN(price) ? undefined : { row, price };
}

function listPriceCandidates(place: RuleSite): Candidate[] {
  const { sm, session } = place;
  const rates = listPairColumns(place);
  const held = listHeldColumns(place);
  return [...held, ...rates].flatMap((column): Candidate[] => {
    const subject = rates.includes(column) ? 'currency' : 'price';
    const bar = findBar(place, session, column);
    const previous = session > 0 ? sm.carriedClose(session - 1, column) : Number.NaN;
    if (Number.isNaN(previous)) return [];
    const create = (manner: Manner, price: number, words: string): Candidate => ({
      subject,
      manner,
      identifier: sm.identifiers[column]!,
      date: dayOf(place, session),
      through: dayOf(place, session),
      value: price,
      words: `${words} of ${sm.identifiers[column]!}`,
      edits: [{ kind: 'bars', field: 'CLOSE', column, bars: [{ row: bar!.row, value: price }] }],
    });
    if (bar === undefined) return listStalePrices(place, column, previous);
    return [
      ...createCarried(place, column, { previous, count: 1, subject }),
      ...[100, 0.01].map((factor) =>
        create('value', factor * bar.price, `used ${factor === 100 ? '100 times' : 'one hundredth of'} the price`),
      ),
      ...listScaledPrices(place, column, bar.price).map((price) => create('value', price, 'used the adjusted price')),
      ...listBadPrints(place, column, { previous, bar }),
    ];
  });
}

/** Returns the columns with exchange rates of the currencies of the index and the store. */
export const listPairColumns = ({ sm, document }: RuleSite): number[] => [
  ...createExchangeRates(sm, document.currency).pairColumns,
];

/** Returns the events at most some sessions before or after a session. */
export const listActionsNear = (
  { actions: { all, starts }, sessions }: SessionMarket,
  session: number,
  count: number,
) => all.slice(starts[Math.max(0, session - count)], starts[Math.min(sessions.length, session + count + 1)]);

interface CarriedPrice {
  readonly previous: number;
  readonly count: number;
  readonly subject: CauseSubject;
}

function createCarried(place: RuleSite, column: number, { previous, count, subject }: CarriedPrice): Candidate[] {
  const { sm, session } = place;
  const bars = Array.from({ length: count }, (_, k) => findBar(place, session + k, column));
  const last = session + count - 1;
  if (count > CARRIED_MAX || last >= sm.sessions.length || bars.some((bar) => bar === undefined)) return [];
  if (bars.every((bar) => bar!.price === previous)) return [];
  return [
    {
      subject,
      manner: 'carried',
      identifier: sm.identifiers[column]!,
      date: dayOf(place, session),
      through: dayOf(place, last),
      after: sm.sessions[session - 1],
      value: previous,
      words: `carried the ${subject === 'currency' ? 'rate' : 'price'} of ${sm.identifiers[column]!}`,
      edits: [{ kind: 'bars', field: 'CLOSE', column, bars: bars.map((bar) => ({ row: bar!.row, value: previous })) }],
      longer: () => {
        // A bar with the same price is no evidence for the end of the state.
        let next = count + 1;
        while (next < CARRIED_MAX && findBar(place, session + next - 1, column)?.price === previous) next++;
        return createCarried(place, column, { previous, count: next, subject })[0] ?? null;
      },
    },
  ];
}

/** Returns prices divided by the ratio of a split that follows within a few sessions, or multiplied by one just before. */
function listScaledPrices({ sm, session }: RuleSite, column: number, price: number): number[] {
  return listActionsNear(sm, session, EVENT_SESSIONS)
    .filter(
      (placed) =>
        placed.column === column &&
        ACTION_KINDS[placed.action.type] === 'ratio' &&
        Math.abs(placed.session - session) <= EVENT_SESSIONS,
    )
    .flatMap(({ session: at, action }) => [at > session ? price / action.value : price * action.value]);
}

/** Smallest move of a price that a bad print has, and part of it by which the next price moves back. */
const PRINT_MOVE = 0.05;
const PRINT_RETURN = 0.5;

/** Returns a free price for a bar of the store that moves away and back. */
function listBadPrints(
  place: RuleSite,
  column: number,
  { previous, bar }: { readonly previous: number; readonly bar: PriceBar },
): Candidate[] {
  const { sm, session } = place;
  const next = session + 1 < sm.sessions.length ? sm.carriedClose(session + 1, column) : Number.NaN;
  const move = Math.abs(bar.price / previous - 1);
  const returned = (bar.price - next) / (bar.price - previous);
  // A small cash payment is no reason for the move.
  const hasAction = listActionsNear(sm, session, 1).some(
    (placed) =>
      placed.column === column &&
      (ACTION_KINDS[placed.action.type] !== 'cash' || placed.action.value > (move / 2) * previous),
  );
  if (hasAction || !(move >= PRINT_MOVE) || !(returned > PRINT_RETURN)) return [];
  const words = 'used another price than the bad print';
  return [
    createFreePrice(place, column, {
      row: bar.row,
      previous,
      decimals: countDecimals(bar.price),
      words,
      most: move / 2,
    }),
  ];
}

/** Returns a free price for a security without a bar on a session. */
function listStalePrices(place: RuleSite, column: number, previous: number): Candidate[] {
  const row = findLastAtMost(place.sm.market.dates, dayOf(place, place.session));
  if (place.sm.market.dates[row] !== dayOf(place, place.session)) return [];
  return [
    createFreePrice(place, column, {
      row,
      previous,
      decimals: 2,
      words: 'had a price where the store has none',
      most: 0.5,
    }),
  ];
}

interface PriceGuess {
  readonly row: number;
  readonly previous: number;
  /** Decimals of the prices of the security. */
  readonly decimals: number;
  readonly words: string;
  /** Largest relative change from the previous price. */
  readonly most: number;
}

function createFreePrice(
  place: RuleSite,
  column: number,
  { row, previous, decimals, words, most }: PriceGuess,
): Candidate {
  const create = (value: number): Edit[] => [{ kind: 'bars', field: 'CLOSE', column, bars: [{ row, value }] }];
  const identifier = place.sm.identifiers[column]!;
  return {
    subject: 'price',
    manner: 'value',
    identifier,
    date: dayOf(place, place.session),
    through: dayOf(place, place.session),
    value: previous,
    words: `${words} of ${identifier}`,
    edits: create(previous),
    free: {
      guess: previous,
      decimals: Math.max(2, decimals, countDecimals(previous)),
      create,
      accepts: (value) => value > 0 && Math.abs(value / previous - 1) < most,
    },
  };
}

/** Composition near a difference, with the following one. */
interface NearReview {
  readonly composition: Composition;
  readonly position: number;
  readonly next: Composition | undefined;
}

/** Returns the reviews whose effect may begin at a difference. */
function listNearReviews({ list, session }: RuleSite): NearReview[] {
  const last = list.findLastIndex((one) => one.session <= session + 1);
  return list
    .map((composition, position) => ({ composition, position, next: list[position + 1] }))
    .filter(({ position }) => position <= last && position > last - REBALANCES - 1);
}

/** Returns the effective dates of the reviews of a document after its first one. */
function listEffectiveDates({ document, sm, list }: RuleSite): Day[] {
  const { frequency, dates } = document.rebalance;
  if (frequency === 'custom') return dates.map(parseValidDay);
  const first = list[0]!.session;
  return listDueUnderTexts(document, sm, { first, last: sm.sessions.length - 1 })
    .filter(({ session, review }) => session > first && review === undefined)
    .map(({ date }) => date);
}

function listRebalanceCandidates(place: RuleSite): Candidate[] {
  const { sm, document, ruleId } = place;
  if (document.rebalance.frequency === 'daily' || document.rebalance.frequency === 'none') return [];
  const dates = listEffectiveDates(place);
  return listNearReviews(place).flatMap(({ composition }): Candidate[] => {
    const at = dates.indexOf(composition.date);
    if (at < 0) return [];
    const create = (manner: Manner, words: string, others: readonly Day[]): Candidate => ({
      ...describeReview(place, composition, { manner, words }),
      edits: [
        changeReviewDates(ruleId, dates, (all) =>
          all.flatMap((date) => (date === formatDay(dates[at]!) ? others.map(formatDay) : [date])),
        ),
      ],
    });
    const [before, after] = [sm.sessions[composition.session - 1], sm.sessions[composition.session + 1]];
    return [
      create('ignored', 'left out the rebalance', []),
      ...(before === undefined ? [] : [create('early', 'rebalanced one session early', [before])]),
      ...(after === undefined ? [] : [create('late', 'rebalanced one session late', [after])]),
    ];
  });
}

type Review = Pick<Composition, 'session' | 'decision' | 'date'>;

const describeReview = (
  place: RuleSite,
  review: Review,
  { manner, words }: { readonly manner: Manner; readonly words: string },
) => ({
  subject: 'rebalance' as const,
  manner,
  identifier: null,
  date: dayOf(place, review.session),
  review,
  through: null,
  value: null,
  words,
});

/** Returns a change of the dates of the reviews of an index. */
const changeReviewDates = (
  ruleId: string,
  dates: readonly Day[],
  change: (dates: readonly string[]) => readonly string[],
): Edit =>
  changeDocument(ruleId, (own) => ({
    ...own,
    rebalance: {
      ...own.rebalance,
      frequency: 'custom',
      dates: change(own.rebalance.frequency === 'custom' ? own.rebalance.dates : dates.map(formatDay)),
    },
  }));

/** Maximum number of reviews of a site that the run lacks. */
const ADDED_MAX = 4;

/**
 * Returns reviews that the run lacks although its data give a reason for them: other members of its named universes, or an
 * event by which a security enters or leaves.
 */
function listAddedReviews(place: RuleSite): Candidate[] {
  const { sm, list, session, document, ruleId } = place;
  if (!isRuleDocument(document) || document.rebalance.frequency === 'daily') return [];
  const { effective_lag: lag } = document.rebalance;
  const names = new Set(listUniverseNames(document.universe));
  const held = listHeldColumns(place);
  const members = sm.market.universes.flatMap(({ universe, start, end }) => (names.has(universe) ? [start, end] : []));
  const changed = [
    ...members.flatMap((day) => (day === null ? [] : [sm.sessionAt(day - 1) + 1])),
    ...listActionsNear(sm, session, EVENT_SESSIONS)
      .filter(({ action, column }) => held.has(column) && (action.related !== null || ENDING_TYPES.has(action.type)))
      .map(({ session: at }) => at),
  ];
  const reviews = new Set(list.map((one) => one.session));
  // A change of members on a day is reviewed at its close, at the close before, or after the usual sessions.
  const added = [...new Set(changed.flatMap((at) => [at, at - 1, at + lag]))].filter(
    (at) => at > list[0]!.session && at < session && at >= session - EVENT_SESSIONS && !reviews.has(at),
  );
  if (added.length === 0) return [];
  const dates = listEffectiveDates(place);
  return added
    .toSorted((a, b) => b - a)
    .slice(0, ADDED_MAX)
    .map((at) => {
      const review = { session: at, decision: Math.max(0, at - lag), date: dayOf(place, at) };
      return {
        ...describeReview(place, review, { manner: 'added', words: 'also rebalanced' }),
        edits: [changeReviewDates(ruleId, dates, (all) => [...all, formatDay(review.date)].toSorted())],
      };
    });
}

/** Returns the named universes that a universe consists of. */
const listUniverseNames = (universe: UniverseSpec | null | undefined): string[] =>
  universe == null
    ? []
    : [
        ...(universe.kind === 'named' && universe.id != null ? [universe.id] : []),
        ...(universe.of ?? []).flatMap(listUniverseNames),
      ];

/** Fields with numbers of shares that index weights use. */
const SHARE_FIELDS = ['SHARES_OUTSTANDING', 'FREE_FLOAT'];

/** Datapoints that depend on numbers of shares. */
const SHARE_DATAPOINTS = new Set([...SHARE_FIELDS, 'MARKET_CAP', 'FREE_FLOAT_MARKET_CAP']);

/** Returns changes of share counts that the outside level did not adopt until the next review, or adopted a review early. */
function listShareCandidates(place: RuleSite): Candidate[] {
  const { sm, list, document } = place;
  if (isRuleDocument(document) && !listFieldsRead(document).some(({ name }) => SHARE_DATAPOINTS.has(name))) return [];
  const width = sm.identifiers.length;
  return listNearReviews(place).flatMap(({ composition, position, next }) =>
    SHARE_FIELDS.flatMap((field) => {
      const panel = sm.market.fields.get(field);
      if (panel === undefined) return [];
      const rowOf = (session: number): number => findLastAtMost(sm.market.dates, dayOf(place, session));
      const previous = rowOf(list[position - 1]?.decision ?? 0);
      const decided = rowOf(composition.decision);
      const end = next === undefined ? sm.market.dates.length : rowOf(next.decision);
      return [...composition.columns].flatMap((column): Candidate[] => {
        const changes = listChangedRows(panel, { column, width, from: previous, to: end });
        return changes.flatMap((row): Candidate[] => {
          const old = readBefore(panel, { column, width, row });
          const isAdopted = row <= decided;
          const words = isAdopted
            ? `did not adopt the change of ${field} of ${sm.identifiers[column]!}`
            : `adopted a review early the change of ${field} of ${sm.identifiers[column]!}`;
          const value = isAdopted ? old : panel[row * width + column]!;
          const [from, to] = isAdopted ? [row, Math.min(decided, end - 1)] : [decided, row - 1];
          return [
            {
              subject: 'shares',
              manner: isAdopted ? 'ignored' : 'early',
              identifier: sm.identifiers[column]!,
              date: sm.market.dates[row]!,
              review: composition,
              through: null,
              value,
              words,
              edits: [
                {
                  kind: 'bars',
                  field,
                  column,
                  bars: Array.from({ length: Math.max(0, to - from + 1) }, (_, k) => ({ row: from + k, value })),
                },
              ],
            },
          ];
        });
      });
    }),
  );
}

/** Returns changes of share counts of an index that follows them between reviews: ignored up to the next review, or moved by a session. */
function listFollowedShareCandidates(place: RuleSite): Candidate[] {
  const { sm, list, document, session } = place;
  if (document.events?.share_changes !== 'effective') return [];
  const width = sm.identifiers.length;
  const rowOf = (at: number): number => findLastAtMost(sm.market.dates, dayOf(place, at));
  const last = Math.min(session + 1, sm.sessions.length - 1);
  const columns = findCompositionInForce(list, session)?.columns ?? [];
  return SHARE_FIELDS.flatMap((field) => {
    const panel = sm.market.fields.get(field);
    if (panel === undefined) return [];
    return [...columns].flatMap((column) => {
      const rows = listChangedRows(panel, {
        column,
        width,
        from: rowOf(Math.max(0, session - EVENT_SESSIONS - 1)),
        to: rowOf(last) + 1,
      });
      return rows.flatMap((row): Candidate[] => {
        const [old, value] = [readBefore(panel, { column, width, row }), panel[row * width + column]!];
        const review = list.find(({ decision }) => rowOf(decision) > row);
        const end = review === undefined ? sm.market.dates.length : rowOf(review.decision);
        const create = (manner: Manner, words: string, bars: readonly PanelBar[]): Candidate => ({
          subject: 'shares',
          manner,
          identifier: sm.identifiers[column]!,
          date: sm.market.dates[row]!,
          through: null,
          value: bars[0]!.value,
          words: `${words} the change of ${field} of ${sm.identifiers[column]!}`,
          edits: [{ kind: 'bars', field, column, bars }],
        });
        const ignored = Array.from({ length: end - row }, (_, k) => ({ row: row + k, value: old }));
        return [
          create('ignored', 'did not adopt', ignored),
          create('late', 'adopted one session late', ignored.slice(0, 1)),
          create('early', 'adopted one session early', [{ row: row - 1, value }]),
        ];
      });
    });
  });
}

interface PanelColumn {
  readonly column: number;
  readonly width: number;
}

/** Returns the rows of a range, after its first, on which a value of a column changes. */
function listChangedRows(
  panel: Float64Array,
  { column, width, from, to }: PanelColumn & { readonly from: number; readonly to: number },
): number[] {
  const rows: number[] = [];
  let latest = readBefore(panel, { column, width, row: from + 1 });
  for (let row = from + 1; row < to; row++) {
    const value = panel[row * width + column]!;
    if (Number.isNaN(value)) continue;
    if (value !== latest && !Number.isNaN(latest)) rows.push(row);
    latest = value;
  }
  return rows;
}

/** Returns the last value of a column before a row. Returns NaN if it has none. */
function readBefore(panel: Float64Array, { column, width, row }: PanelColumn & { readonly row: number }): number {
  for (let before = row - 1; before >= 0; before--) {
    const value = panel[before * width + column]!;
    if (!Number.isNaN(value)) return value;
  }
  return Number.NaN;
}

/** Returns the constituents that may be left out, or held in addition, from a review near a difference on. */
export function listConstituentCandidates(place: RuleSite): Candidate[] {
  const { sm, document, ruleId, session } = place;
  if (!isRuleDocument(document) || document.rebalance.frequency === 'daily') return [];
  return listNearReviews(place).flatMap(({ composition, position, next }) => {
    if (composition.session > session) return [];
    const members = new Set(composition.columns);
    const text = findTextInEffect(document, composition.date).document;
    const isList = text.universe?.kind === 'list';
    const pairs = new Set(listPairColumns(place));
    const priced = sm.identifiers.flatMap((_, column) =>
      !pairs.has(column) && sm.closeAt(composition.decision, column) > 0 ? [column] : [],
    );
    const universe = isList ? priced : [...place.own.composer.universe(ruleId, composition.decision)];
    const others = [...new Set([...universe, ...priced])].filter((column) => !members.has(column));
    const start = position === 0 ? null : composition.date;
    const hold = (manner: Manner, column: number): Candidate => {
      const identifier = sm.identifiers[column]!;
      // The other constituents are those of a change of the same review before.
      const list = (own: IndexDocument, one: Composition, from: Day | null): string[] =>
        [...new Set([...(findHeldNames(own, document, from) ?? nameDecided(place, one)), identifier])]
          .filter((name) => manner === 'added' || name !== identifier)
          .toSorted();
      const create = (reviews: readonly Composition[], until: Composition | undefined): Candidate => ({
        ...describeConstituent(place, composition, { manner, column }),
        date: position === 0 && until === undefined ? null : dayOf(place, composition.session),
        through: until === undefined ? null : dayOf(place, until.session),
        edits: [
          changeDocument(ruleId, (own) =>
            reviews.reduce((changed, one) => {
              const from = one === composition ? start : one.date;
              return holdMembers(changed, list(own, one, from), { from, until: until?.date ?? null });
            }, own),
          ),
        ],
      });
      const later = place.list.slice(position);
      const isShort = later.length * members.size <= HELD_MAX;
      return {
        ...create([composition], next),
        ...(next !== undefined && isShort ? { lasting: () => create(later, undefined) } : {}),
      };
    };
    // Without a selection the constituents are the universe itself.
    if (text.pipeline!.selection.length === 0) return listUniverseCandidates(place, { composition, next, others });
    const inside = new Set(isList ? [] : universe);
    return [
      ...[...members].map((column) => hold('ignored', column)),
      ...others.map((column) => hold('added', column)),
      // The selection takes the next security, or leaves the last one, instead.
      ...listUniverseCandidates(place, {
        composition,
        next,
        others: others.filter((column) => !inside.has(column)),
        waiting: universe.filter((column) => !members.has(column)),
      }),
    ];
  });
}

/** Maximum number of identifiers in the lists of a change that holds constituents at all later reviews. */
const HELD_MAX = 20_000;

/** Returns the constituents that a review decided, also those that left before its effect. */
const nameDecided = ({ sm }: RuleSite, { targets, decided, columns }: Composition): string[] =>
  [...(targets ?? decided ?? { columns }).columns].map((column) => sm.identifiers[column]!);

/** Returns the constituents that a change holds from a review, or the first one, on. Returns undefined without a change. */
function findHeldNames(own: IndexDocument, document: IndexDocument, from: Day | null): readonly string[] | undefined {
  if (from === null) return own.universe === document.universe ? undefined : (own.universe?.identifiers ?? undefined);
  const date = formatDay(from);
  const known = new Set(document.amendments);
  const held = own.amendments?.findLast(
    (one) => one.effective_from === date && readSelection(one)?.length === 0 && !known.has(one),
  )?.changes['universe'];
  return (held as { readonly identifiers?: readonly string[] } | undefined)?.identifiers;
}

const describeConstituent = (
  { sm }: RuleSite,
  composition: Composition,
  { manner, column }: { readonly manner: Manner; readonly column: number },
) => ({
  subject: 'constituent' as const,
  manner,
  identifier: sm.identifiers[column]!,
  review: composition,
  value: null,
  words: `${manner === 'ignored' ? 'left out the constituent' : 'also held'} ${sm.identifiers[column]!}`,
});

interface UniverseChange extends Pick<NearReview, 'composition' | 'next'> {
  /** Securities that the index does not hold. */
  readonly others: readonly number[];
  /** Securities of the universe that a selection leaves out. Absent without a selection. */
  readonly waiting?: readonly number[];
}

/** Returns candidates that leave a security out of the universe, or add one to it, from a review on or up to the next one. */
function listUniverseCandidates(place: RuleSite, { composition, next, others, waiting }: UniverseChange): Candidate[] {
  const { ruleId, sm } = place;
  const isFirst = composition === place.list[0];
  const create = (manner: Manner, column: number, until: Composition | undefined): Candidate => ({
    ...describeConstituent(place, composition, { manner, column }),
    date: isFirst && until === undefined ? null : dayOf(place, composition.session),
    through: until === undefined ? null : dayOf(place, until.session),
    ...(waiting === undefined ? {} : { exchanged: manner === 'ignored' ? waiting : [...composition.columns] }),
    edits: [
      changeDocument(ruleId, (own) =>
        changeUniverse(own, {
          from: isFirst ? null : composition.date,
          until: until?.date ?? null,
          change: (universe) => replaceMember(universe, manner, sm.identifiers[column]!),
        }),
      ),
    ],
  });
  const changes = [
    ...[...composition.columns].map((column) => ['ignored', column] as const),
    ...others.map((column) => ['added', column] as const),
  ];
  return changes.flatMap(([manner, column]) => [
    create(manner, column, undefined),
    ...(next === undefined ? [] : [create(manner, column, next)]),
  ]);
}

/** Event that the store lacks although its prices, or its other events, show it. */
export interface UnlistedEvent {
  readonly action: CorporateAction;
  /** Null for a value that the outside level reveals: the amount or ratio of `action` is then a first guess. */
  readonly accepts: ((value: number) => boolean) | null;
  readonly decimals: number;
}

interface UnlistedInput {
  readonly sm: SessionMarket;
  /** Session of the difference. */
  readonly session: number;
  /** Columns that the index holds. */
  readonly held: ReadonlySet<number>;
}

/** Ratios of splits that are in use; reverse splits have their inverses. */
const RATIOS = [2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 100, 1.5, 2.5];

/** Smallest logarithm of the move of a price that a split makes, and largest one of what is left after it. */
const SPLIT_MOVE = 0.3;
const SPLIT_REST = 0.15;

/**
 * Returns events of held securities on a session that only the outside level has, where the store gives a reason: a price
 * that moves by the ratio of a split, a fall far beyond the usual moves of a security, and a dividend that the others of
 * the security repeat.
 * @cost O(securities x `USUAL_SESSIONS`), and the events of the securities
 */
export function listUnlistedEvents({ sm, session, held }: UnlistedInput): UnlistedEvent[] {
  if (session < 1 || session >= sm.sessions.length) return [];
  const day = sm.sessions[session]!;
  const listed = new Set(
    sm.actions.all.slice(sm.actions.starts[session], sm.actions.starts[session + 1]).map(({ column }) => column),
  );
  const columns = [...held].filter((column) => !listed.has(column) && sm.closeAt(session, column) > 0);
  return [
    ...columns.flatMap((column) => listSplits(sm, session, column)),
    ...listFalls({ sm, session, held: new Set(columns) }),
    ...columns.flatMap((column) => listMissingDividends(sm, day, column)),
  ];
}

const createAction = (
  identifier: string,
  exDay: Day,
  terms: Pick<CorporateAction, 'type' | 'value'> & Partial<CorporateAction>,
): CorporateAction => ({
  identifier,
  exDay,
  payDay: null,
  status: null,
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
  ...terms,
});

/** Returns the logarithm of the move of a price on a session; NaN without a price. */
const measureMove = (sm: SessionMarket, session: number, column: number): number =>
  Math.log(sm.closeAt(session, column) / sm.carriedClose(session - 1, column));

function listSplits(sm: SessionMarket, session: number, column: number): UnlistedEvent[] {
  const move = measureMove(sm, session, column);
  if (!(Math.abs(move) > SPLIT_MOVE)) return [];
  return RATIOS.flatMap((ratio) => [ratio, 1 / ratio])
    .filter((ratio) => Math.abs(move + Math.log(ratio)) < SPLIT_REST)
    .map((value) => ({
      action: createAction(sm.identifiers[column]!, sm.sessions[session]!, { type: 'SPLIT', value }),
      accepts: null,
      decimals: 0,
    }));
}

/** Sessions from which the usual moves of a security are measured, and fewest of them. */
const USUAL_SESSIONS = 60;
const USUAL_LEAST = 20;

/** Standard deviations of a fall that needs a reason. */
const UNUSUAL = 4;

/** Standard deviation of a normal distribution over its median absolute deviation. */
const MAD_FACTOR = 1.4826;

/** Sessions from the first price of a security to the session on which it is spun off. */
const NEW_SESSIONS = 10;

/**
 * Returns payments and spin-offs of securities that fall far more than they usually do, relative to the others: with the
 * payment the move needs no reason.
 */
function listFalls({ sm, session, held }: UnlistedInput): UnlistedEvent[] {
  const columns = [...held];
  const market = (at: number): number => findMedian(columns.map((column) => measureMove(sm, at, column)));
  const from = Math.max(1, session - USUAL_SESSIONS);
  const medians = Array.from({ length: session - from + 1 }, (_, k) => market(from + k));
  const children = sm.identifiers.flatMap((_, column) =>
    !held.has(column) &&
    sm.closeAt(session, column) > 0 &&
    !(sm.carriedClose(Math.max(0, session - NEW_SESSIONS), column) > 0)
      ? [column]
      : [],
  );
  return columns.flatMap((column) => {
    const usual = medians
      .slice(0, -1)
      .map((median, k) => measureMove(sm, from + k, column) - median)
      .filter((move) => !Number.isNaN(move));
    if (usual.length < USUAL_LEAST) return [];
    // Few moves determine either measure roughly, and each is too large rather than too small after large moves.
    const deviation = Math.min(
      MAD_FACTOR * findMedian(usual.map(Math.abs)),
      Math.hypot(...usual) / Math.sqrt(usual.length),
    );
    const [close, before] = [sm.closeAt(session, column), sm.carriedClose(session - 1, column)];
    const expected = before * Math.exp(medians.at(-1)!);
    if (!(deviation > 0) || !(Math.log(close / expected) < -UNUSUAL * deviation)) return [];
    const isUsual = (payment: number): boolean =>
      payment > 0 && Math.abs(Math.log((close + payment) / expected)) < UNUSUAL * deviation;
    const [identifier, day, fall] = [sm.identifiers[column]!, sm.sessions[session]!, expected - close];
    const payment = createAction(identifier, day, { type: 'SPECIAL_DIVIDEND', value: fall });
    return [
      { action: payment, accepts: isUsual, decimals: 2 },
      ...children.map((child) => {
        const price = sm.closeAt(session, child);
        const related = sm.identifiers[child]!;
        return {
          action: createAction(identifier, day, { type: 'SPIN_OFF', value: fall / price, related }),
          accepts: (ratio: number) => isUsual(ratio * price),
          decimals: 4,
        };
      }),
    ];
  });
}

const findMedian = (values: readonly number[]): number =>
  findUpperMedian(values.filter((value) => !Number.isNaN(value)));

/** Fewest dividends from which the time between them is known. */
const DIVIDENDS_LEAST = 3;

/** Range of the time from the dividend before to a missing one, and least time to the next one, in usual times. */
const DUE = [0.75, 1.25] as const;

/** Returns the dividend that a security pays regularly and that its table lacks near a day, with the amounts around it. */
function listMissingDividends({ market, identifiers }: SessionMarket, day: Day, column: number): UnlistedEvent[] {
  const own = groupDividends(market.actions).get(identifiers[column]!) ?? [];
  const position = own.findIndex(({ exDay }) => exDay > day);
  const [before, after] = position < 0 ? [own.at(-1), undefined] : [own[position - 1], own[position]];
  if (before === undefined || own.length < DIVIDENDS_LEAST) return [];
  const usual = findMedian(own.slice(1).map(({ exDay }, k) => exDay - own[k]!.exDay));
  const [since, left] = [(day - before.exDay) / usual, ((after?.exDay ?? Infinity) - day) / usual];
  if (!(since > DUE[0] && since < DUE[1] && left > DUE[0])) return [];
  const create = (value: number): CorporateAction => ({ ...before, exDay: day, payDay: null, value });
  const amounts = new Set([before.value, ...(after === undefined ? [] : [after.value])]);
  return [
    ...[...amounts].map((value) => ({ action: create(value), accepts: null, decimals: 0 })),
    {
      action: create(before.value),
      accepts: (value: number) => value > 0 && value < AMOUNT_MAX * before.value,
      decimals: 2,
    },
  ];
}

/** Returns the dividends of each security, in the order of the actions. */
function groupDividends(actions: readonly CorporateAction[]): ReadonlyMap<string, readonly CorporateAction[]> {
  const known = dividends.get(actions);
  if (known !== undefined) return known;
  const grouped = new Map<string, CorporateAction[]>();
  for (const action of actions) {
    if (action.type !== 'DIVIDEND' || action.status === 'cancelled') continue;
    const own = grouped.get(action.identifier);
    if (own === undefined) grouped.set(action.identifier, [action]);
    else own.push(action);
  }
  dividends.set(actions, grouped);
  return grouped;
}

const dividends = new WeakMap<readonly CorporateAction[], ReadonlyMap<string, readonly CorporateAction[]>>();

/** Largest ratio of a missing dividend to the one before. */
const AMOUNT_MAX = 2;
