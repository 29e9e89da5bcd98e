import type { GramHistory } from '#kernels/moments/rolling-gram.js';
import type { ActiveState } from '#kernels/optimisation/program/active-state.js';
import { addRebalanceDate, type Finding, type FindingCode } from '../base/findings.js';
import { type ErrorCode, Refusal } from '../base/refusals.js';
import { type Day, formatDay } from '../base/time.js';
import { findTextInForce, isInAnyText } from '../definition/amendments.js';
import { type BreachRule, computeRuleHeadroom, findBreachRule, TOLERANCE } from '../definition/compliance.js';
import type { IndexDocument } from '../definition/index-document.js';
import type { EventCause } from '../definition/index-schedule.js';
import type { OverlaySpec } from '../definition/overlays.js';
import type { DatedTreatment } from '../definition/treatment.js';
import type { SessionMarket } from '../market/session-market.js';
import type { StoredModel } from '../risk/stored-models.js';
import type { Book, OutsideMergers, SecurityCounts } from './book.js';
import type { DueRebalance, DueText, PhaseClose } from './rebalance-dates.js';

/** Composition that an index holds until a rebalance replaces it. */
export interface OutgoingComposition {
  readonly session: number;
  /** Columns, ascending, with the weights at the effective close. */
  readonly columns: Int32Array;
  readonly weights: Float64Array;
  /** Effective session of the rebalance. */
  readonly effective: number;
}

/** Decides the composition of an index on a session, from data up to that session. */
export interface Decider {
  /**
   * @param session decision session.
   * @param incumbents columns of the latest composition effective before the session; null before the first.
   * @param outgoing composition that the decision replaces; null before the first.
   * @param among columns to decide on instead of the universe, ascending.
   */
  decide(
    session: number,
    incumbents: Int32Array | null,
    outgoing?: OutgoingComposition | null,
    among?: Int32Array | null,
  ): Decision;
  /**
   * Returns the state on which later decisions depend, in addition to market and earlier compositions. Null or absent
   * if there is none.
   */
  memory?(): DecisionMemory | null;
  /** Candidates to replace constituents between reviews; absent if the decider has no rules. */
  readonly pool?: ReviewPool;
}

/** Securities to rank, with the constituents at the time of the ranking. */
export interface RankedSecurities {
  readonly columns: Int32Array;
  readonly constituents: Int32Array;
}

/** Securities that may enter an index between reviews, according to its rules. */
export interface ReviewPool {
  /**
   * Returns the securities that a review did not select, best ranked first. Returns an empty list if no rule ranks
   * securities.
   */
  ranking(session: number, incumbents: Int32Array | null): Int32Array;
  /** Returns true if the candidate passes all rules that do not rank. The remaining constituents count as selected. */
  passes(session: number, staying: Int32Array, candidate: number): boolean;
  /** Returns the values to which weights are proportional; NaN for a security without a value. */
  values(session: number, columns: Int32Array): Float64Array;
  /** Returns the fixed numbers of shares of securities. Returns undefined if the weighting has none. */
  fixedShares(session: number, columns: Int32Array): Float64Array | undefined;
  /**
   * Returns the securities that have a value of a datapoint, largest value first. The datapoint may depend on the
   * constituents.
   */
  ranked(session: number, field: string, securities: RankedSecurities): Int32Array;
}

/**
 * State of optimised decisions. Later decisions start from it, so that they are bit-identical to those of a full run.
 */
export interface DecisionMemory {
  /** Weights of the latest optimisation, with its session. */
  readonly solved: { readonly session: number; readonly columns: Int32Array; readonly weights: Float64Array } | null;
  /** Active set of the latest optimisation, with its securities. */
  readonly active: { readonly columns: Int32Array; readonly state: ActiveState } | null;
  /** Windows of the covariance estimates so far. */
  readonly moments: GramHistory | null;
}

export type Decision = DecidedComposition | FailedDecision;

export interface DecidedComposition {
  readonly kind: 'decided';
  /** Market columns, ascending. */
  readonly columns: Int32Array;
  /** Applied weights, one per column, negative for a short position; 1 less the sum is cash. */
  readonly weights: Float64Array;
  /** Weights without caps, one per column, with the sum of the applied weights. */
  readonly uncapped: Float64Array;
  /** Effective maximum weight; null without a cap. */
  readonly cap: number | null;
  /** Columns whose weight equals the cap, ascending. */
  readonly capped: Int32Array;
  readonly redistributed: number;
  /** Money value of the fixed numbers of shares that give the weights; absent if weights are decided. */
  readonly basket?: number;
  /** Fixed numbers of shares that give the weights, [n]; absent if weights are decided. */
  readonly fixedShares?: Float64Array;
  /** Market value of the whole composition; a market value divided by it is a weight. */
  readonly worth?: number;
  readonly ranking?: Int32Array;
  /**
   * Tracking error to the parent of a derived index, as forecast by the risk model, annualised. Absent without a risk
   * model.
   */
  readonly trackingError?: number;
  readonly findings: readonly Finding[];
}

/** Number of securities after a step of a selection. */
export interface StepCount {
  /** Number of the step; 0 for the universe. */
  readonly position: number;
  readonly ruleId: string | null;
  readonly ruleType: string | null;
  readonly remaining: number;
}

/** Decision without a composition: no security is selected, or the weights cannot be computed. */
export interface FailedDecision {
  readonly kind: 'empty' | 'refused';
  readonly code: ErrorCode | FindingCode;
  readonly finding: Finding;
  /** Universe and applied rules, with the securities that remain; absent if the decider has no rules. */
  readonly waterfall?: readonly StepCount[];
  /**
   * Returns the detailed refusal; called only if no earlier composition exists. Absent if the finding has all details.
   */
  readonly explain?: () => Refusal;
}

/** Rules by which securities enter an index between reviews. */
export const SWAP_RULES = {
  next_ranked: 'the best-ranked security that the last review did not select replaced a constituent that left',
  reserve: 'the first security of `events.reserve` with a price replaced a constituent that left',
  fast_exit: '`events.fast_exit` removed a constituent that was ranked too low',
  fast_entry: '`events.fast_entry` added a new security that was ranked high enough',
} as const;
export type SwapRule = keyof typeof SWAP_RULES;

/** Swap between reviews: a security that entered, and the constituent that it replaced. */
export interface ConstituentSwap {
  readonly rule: SwapRule;
  /** Column that entered. */
  readonly entered: number;
  /** Column that left. */
  readonly left: number;
  /** Session whose data decided the change. */
  readonly decision: number;
  /** Session whose data ranked the security that entered. Null if it came from the reserve list. */
  readonly ranked: number | null;
  /** Rank of the security that entered; 1 is the best. */
  readonly rank: number;
  /**
   * Rank of the replaced constituent in the ranking that selected its replacement. Null if the constituent left through
   * a corporate action or has no value.
   */
  readonly leftRank: number | null;
}

/** Security that replaces a constituent, with its rank. */
export interface RankedCandidate {
  readonly column: number;
  readonly rank: number;
}

/** Constituents of an index from one rebalance to the next. */
export interface Composition {
  /** Scheduled effective date. */
  readonly date: Day;
  /** Later schedule dates that fall on closed days and map to this session. */
  readonly also: readonly Day[];
  /** Session at whose close the weights take effect, at the prices of that close. */
  readonly session: number;
  /** Session of the reference date. The decision uses data up to this session. */
  readonly decision: number;
  /** Session whose closes converted weights into index shares. Absent if it is the decision session. */
  readonly pricing?: number;
  /** Day of the announcement if it is before the effective date; otherwise null. */
  readonly announced: Day | null;
  /** Columns of the constituents, ascending, [n]. */
  readonly columns: Int32Array;
  /** Weights at the effective close, [n]. Constituents that left after the decision have been removed. */
  readonly weights: Float64Array;
  /** Weights without caps, [n]. */
  readonly uncapped: Float64Array;
  /** Decided weights. Present if they were converted into index shares before the effective close. */
  readonly targets?: Pick<Composition, 'columns' | 'weights'> & Partial<Pick<Composition, 'uncapped'>>;
  /**
   * Decided weights. Present if constituents left between the decision and the effective close and no index shares were
   * fixed.
   */
  readonly decided?: Pick<Composition, 'columns' | 'weights' | 'uncapped'>;
  /** Money value of the fixed numbers of shares at the effective close; absent if weights are decided. */
  readonly basket?: number;
  /** Fixed numbers of shares that give the weights at the effective close, [n]; absent if weights are decided. */
  readonly fixedShares?: Float64Array;
  /** Share counts that give the weights at the effective close, if the index follows share counts between reviews. */
  readonly counts?: SecurityCounts;
  /**
   * Market value of the whole composition at the effective close: a market value divided by it is a weight. Present
   * for weights that no limit changed.
   */
  readonly worth?: number;
  /** Unselected securities that may replace constituents, best ranked first. */
  readonly ranking?: Int32Array;
  /** Ratio of market value after to before the entry of securities with their own index shares. */
  readonly entered?: number;
  /** Effective maximum weight; null without a cap. */
  readonly cap: number | null;
  /** Columns of the constituents at the cap, ascending. */
  readonly capped: Int32Array;
  /** Sum of the weight that caps moved away from constituents, as a fraction. */
  readonly redistributed: number;
  /** Forecast tracking error of the decision. */
  readonly trackingError?: number;
  /** Position of the definition version that the rebalance follows; absent for the first version. */
  readonly amendment?: number;
  /** Trigger; absent for a scheduled rebalance. */
  readonly cause?: EventCause;
  /** Securities that entered between reviews; absent if there are none. */
  readonly swaps?: readonly ConstituentSwap[];
  /** Reviews that decided the composition, in order; absent for the `rebalance` of the document. */
  readonly reviews?: readonly string[];
  /** Latest selection of constituents, if later reviews only reweighted them. */
  readonly selected?: SelectionReference;
  /** Close of a rebalance that is spread over several closes. */
  readonly phase?: PhaseClose;
  /** Portfolios that the remaining closes of the rebalance combine; absent after the last close. */
  readonly transition?: Transition;
}

/** Selection of constituents: the review, and the session of the reference date. */
export interface SelectionReference {
  readonly review: string;
  readonly decision: number;
}

/** Portfolio at a close, with its market value relative to another portfolio. */
export interface PhasePortfolio {
  /** Market columns, ascending. */
  readonly columns: Int32Array;
  readonly weights: Float64Array;
  readonly value: number;
  /** Fixed numbers of shares that give the weights, [n]. */
  readonly fixedShares?: Float64Array;
  /** Share counts that give the weights, if the index follows share counts between reviews. */
  readonly counts?: SecurityCounts;
}

/** Old and new portfolio of a rebalance, in index shares. */
export interface PortfolioPair {
  readonly held: PhasePortfolio;
  readonly target: PhasePortfolio;
}

/** Old and new portfolio of a rebalance that is spread over several closes, valued at the latest close. */
export interface Transition {
  readonly applied: PortfolioPair;
  /** Portfolios without caps; absent if neither portfolio has caps. */
  readonly uncapped?: PortfolioPair;
  /** Caps of the target portfolio, which apply once it is reached. */
  readonly caps: Pick<Composition, 'cap' | 'capped' | 'redistributed'>;
  /**
   * True for fixed numbers of shares. The values of the portfolios are then in money, and the combined portfolio is a
   * fixed number of shares too.
   */
  readonly isBasket: boolean;
}

export interface Compositions {
  readonly document: IndexDocument;
  readonly treatment: DatedTreatment;
  readonly sm: SessionMarket;
  /** Session of the first composition: the base date, or the first later session with a price. */
  readonly first: number;
  /** Compositions in session order, without skipped rebalances. */
  readonly list: readonly Composition[];
  /** Warnings of decisions and of skipped rebalances. */
  readonly findings: readonly Finding[];
  /** State that decisions pass on to later decisions; null if there is none. */
  readonly memory: DecisionMemory | null;
  /**
   * Mergers by which securities leave the index, because it does not hold the acquirer. Absent if the index holds every
   * acquirer.
   */
  readonly outside?: OutsideMergers | undefined;
  /** Underlying indices; only for an overlay. */
  readonly overlay?: ComposedOverlay;
  /**
   * Rebalance that a breach triggered and that takes effect after the last day: session of the breach, and effective
   * day. The day is null if the calendar does not cover it. Absent without such a rebalance.
   */
  readonly called?: { readonly session: number; readonly effective: Day | null; readonly review?: string };
}

/** Overlay with its underlying indices. */
export interface ComposedOverlay {
  readonly spec: OverlaySpec;
  readonly sources: readonly Compositions[];
  /** Book up to the last day of the composer; absent during construction. */
  readonly book?: Book;
}

/**
 * Composes indices from their definitions: an index, the parents in its universe or derivation, and a benchmark. Each
 * index is composed once.
 */
export interface Composer {
  document(indexId: string): IndexDocument;
  /** Returns the market aligned to the sessions of the index calendar. */
  market(indexId: string): SessionMarket;
  treatment(indexId: string): DatedTreatment;
  /** Returns the columns of the index universe that are priceable on a session, ascending. */
  universe(indexId: string, session: number): Int32Array;
  /**
   * Returns the decider of an index.
   * @param by version of the definition and review. Default: the first version and its `rebalance`.
   */
  decider(indexId: string, by?: DueText): Decider;
  /** Returns the composer for another version of an index definition, by position. */
  under(indexId: string, amendment: number): Composer;
  /**
   * Returns one number per column: 1 if the security is a member of the index universe on a session, with or without a
   * price, otherwise 0.
   */
  members(indexId: string, session: number): Uint8Array;
  /** Returns the mergers by which securities leave an index. Returns undefined if the index holds every acquirer. */
  outsideMergers(indexId: string): OutsideMergers | undefined;
  /**
   * Returns every composition effective on or before the last day of the composer.
   * @throws Refusal EMPTY_INDEX, NO_DATA_IN_RANGE, CALENDAR_NOT_COVERED, and refusals of deciders
   */
  compositions(indexId: string): Compositions;
  /**
   * Returns the latest composition that was decided on or before a session. It may be one of the known compositions
   * that were not decided here.
   */
  decidedOn(indexId: string, session: number): Composition | undefined;
  /**
   * Returns the compositions before a decision on a session, ascending: those up to the last day of the composer, and
   * those that earlier decisions of its notice period let take effect later.
   */
  knownBefore(indexId: string, session: number): readonly Composition[];
  /**
   * Returns the state that earlier decisions of an index passed on. Returns null if this composer made all decisions.
   */
  memory(indexId: string): DecisionMemory | null;
  /**
   * Returns the columns of the latest composition that took effect before a session. A decision on that session uses
   * them as incumbents.
   */
  incumbents(indexId: string, session: number): Int32Array | null;
  /**
   * Returns the incumbents of an earlier review of an index. While the index is composed, they come from the
   * compositions that the decision in progress knows. Returns null before the first composition.
   */
  earlierIncumbents(indexId: string, session: number): Int32Array | null;
  /** Makes a decision of an index, with the compositions before it for `earlierIncumbents`. */
  decideKnowing<T>(indexId: string, known: readonly Composition[], decide: () => T): T;
  riskModel(modelId: string): StoredModel;
  /** Returns the compositions of every index requested so far. */
  composed(): readonly Compositions[];
  /**
   * Returns the market and session for a decision on an index. The market differs from this composer's market if
   * another version of the data was known on the session.
   * @throws Refusal NO_DATA_KNOWN
   */
  seatOf(indexId: string, session: number): DecisionData;
  /** Returns the state that decisions so far pass on to later decisions. Returns null if there is none. */
  left(indexId: string): DecisionMemory | null;
}

/** Composer on the version of the data for a decision, and the last session in that version. */
export interface DecisionData {
  readonly composer: Composer;
  readonly session: number;
}

/** Index with known compositions; only later compositions are decided. */
export interface ResumedIndex {
  /** Session of the first composition of the index. */
  readonly first: number;
  readonly before: readonly Composition[];
  readonly due: readonly DueRebalance[];
  readonly memory: DecisionMemory | null;
}

export type DeciderFactory = (document: IndexDocument, composer: Composer) => Decider;

/** Returns a composition as it was decided, before prices and exits up to the effective close changed it. */
export function restoreDecided(
  composition: Composition,
): Pick<Composition, 'columns' | 'weights'> & Partial<Pick<Composition, 'uncapped'>> {
  const { targets, decided, columns, weights, uncapped } = composition;
  return targets ?? decided ?? { columns, weights, uncapped };
}

/**
 * Returns the session from which on a composition is known. A review that keeps the constituents may have an earlier
 * reference date than their selection.
 */
export const findKnownSession = ({ decision, selected }: Composition): number =>
  Math.max(decision, selected?.decision ?? decision);

/** Returns true if a review or a breach decided the composition. Such a composition replaces all weights. */
export const isReview = ({ cause }: Composition): boolean => cause === undefined || cause === 'breach';

/**
 * Returns a composition as known on a session. Before the effective session this is the decision; prices and exits
 * after the session have no effect.
 */
export function restoreDataDate(composition: Composition, session: number): Composition {
  return composition.session > session ? { ...composition, ...restoreDecided(composition) } : composition;
}

/** Returns the composition in force at the close of a session: the latest composition effective at or before it. */
export function findCompositionInForce<C extends Pick<Composition, 'session'>>(
  list: readonly C[],
  session: number,
): C | undefined {
  for (let i = list.length - 1; i >= 0; i--) if (list[i]!.session <= session) return list[i];
  return undefined;
}

export function findRuleText(composer: Composer, indexId: string, day: Day): BreachRule | null {
  const { calendar } = composer.market(indexId);
  const { document } = findTextInForce(composer.document(indexId), calendar, day);
  return findBreachRule(document);
}

/** Returns true if breaches trigger rebalances in any version of an index definition. */
export function isWatched(document: IndexDocument): boolean {
  return isInAnyText(document, (text) => findBreachRule(text) !== null);
}

/**
 * Returns a warning if decided weights violate the rule whose breaches trigger rebalances. Such a rebalance does not
 * end the breach.
 */
export function warnOfExceededLimit(composer: Composer, indexId: string, composition: Composition): Finding[] {
  const { columns, weights, date, session } = composition;
  const rule = findRuleText(composer, indexId, composer.market(indexId).sessions[session]! + 1);
  if (rule === null) return [];
  const { market, identifiers } = composer.market(indexId);
  const names = Array.from(columns, (column) => identifiers[column]!);
  const headroom = computeRuleHeadroom({ rule, market, names }, date, weights);
  if (headroom >= -TOLERANCE) return [];
  const beyond = Number((-headroom * 100).toPrecision(6));
  const message = `The weights decided for ${formatDay(date)} are beyond ${rule.name} by ${beyond} percentage points, so the rebalance does not end the breach.`;
  const path = 'pipeline.treatment.on_breach';
  return addRebalanceDate([{ severity: 'warning', code: 'LIMIT_NOT_KEPT', message, path }], date);
}

/**
 * Returns the compositions of an index up to the last day of its composer. Returns undefined if its universe has no
 * price yet.
 */
export function composeAsKnown(composer: Composer, indexId: string): Compositions | undefined {
  try {
    return composer.compositions(indexId);
  } catch (failure) {
    if (failure instanceof Refusal && failure.code === 'NO_DATA_IN_RANGE') return undefined;
    throw failure;
  }
}

/**
 * Returns the refusal for a day before the first rebalance of an index.
 * @param title subject of the sentence, for example `The index X`.
 */
export function refuseBeforeFirstRebalance(title: string, { base_date }: IndexDocument, asOf: Day): Refusal {
  const day = formatDay(asOf);
  const why =
    base_date > day
      ? `its base date is ${base_date}`
      : `from its base date ${base_date} to that day the data contains no price for its universe`;
  return new Refusal('NO_DATA_AT_DATE', `${title} has no rebalance on or before ${day}: ${why}.`, { as_of: day });
}

/** Weight change that rounding alone may cause. Sums of uncapped weights differ by about 1e-15. */
const ROUNDING = 1e-12;

/**
 * Returns the sum of the weight reductions from raw to applied weights, as fractions, [n] each. Returns 0 if the sum is
 * only rounding.
 */
export function sumMovedWeight(raw: Float64Array, applied: Float64Array): number {
  let movedWeight = 0;
  for (let i = 0; i < raw.length; i++) {
    const reduction = raw[i]! - applied[i]!;
    if (reduction > 0) movedWeight += reduction;
  }
  return movedWeight > ROUNDING ? movedWeight : 0;
}
