import type { EventCause } from '../schedule/rebalance-causes.js';
import type { Day } from '../time/days.js';
import type { IndexDocument } from '../documents/index-document.js';
import type { DatedTreatment } from '../documents/treatment.js';
import type { Finding } from '../refusals/findings.js';
import type { SessionMarket } from '../market/session-market.js';
import type { StoredModel } from '../risk/stored-model.js';
import type { Decider, DecisionMemory } from './decider.js';
import type { OverlaySpec } from '../overlays/catalogue.js';
import type { Book } from './book.js';
import type { ConstituentSwap } from './constituent-swap.js';
import type { DueRebalance, DueText, PhaseClose } from './due-rebalances.js';
import type { OutsideMergers } from './merger-key.js';
import type { SecurityCounts } from './security-counts.js';

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
  readonly called?: { readonly session: number; readonly effective: Day | null };
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
  /** Returns the treatment of an index by date. */
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
  /** Returns a stored risk model by id. */
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
