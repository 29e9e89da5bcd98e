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
  /** Effective date by the schedule. */
  readonly date: Day;
  /** Later schedule dates, on closed days, that map to the same session. */
  readonly also: readonly Day[];
  /** Session at whose close the weights take effect, at the prices of that close. */
  readonly session: number;
  /** Session of the reference date, whose data the decision uses. */
  readonly decision: number;
  /** Session whose closes converted weights into index shares; absent if it is the decision session. */
  readonly pricing?: number;
  /** Day of the announcement if it is before the effective date, otherwise null. */
  readonly announced: Day | null;
  /** Columns of the constituents, ascending, [n]. */
  readonly columns: Int32Array;
  /** Decided weights that hold at the effective close, if constituents left after the decision. */
  readonly weights: Float64Array;
  /** Weights before capping, [n]. */
  readonly uncapped: Float64Array;
  /** Decided weights, if they became index shares before the effective close. */
  readonly targets?: Pick<Composition, 'columns' | 'weights'> & Partial<Pick<Composition, 'uncapped'>>;
  /** Decision of weights that hold at the effective close, if constituents left between the two. */
  readonly decided?: Pick<Composition, 'columns' | 'weights' | 'uncapped'>;
  /** Value in money of fixed numbers of shares at the effective close; absent if weights are decided. */
  readonly basket?: number;
  /** Share counts behind the weights at the effective close, if the index follows them between reviews. */
  readonly counts?: SecurityCounts;
  /** Amount of money that divides a market value to give a weight that no limit changes, at the effective close. */
  readonly worth?: number;
  /** Securities that the decision did not select, best ranked first, if they may replace others. */
  readonly ranking?: Int32Array;
  /** Market value after over market value before, if securities enter with their own shares. */
  readonly entered?: number;
  /** Effective maximum weight, null without a cap. */
  readonly cap: number | null;
  /** Columns of the constituents at the cap, ascending. */
  readonly capped: Int32Array;
  /** Weight moved off capped constituents, a fraction. */
  readonly redistributed: number;
  /** Tracking error according to the decision. */
  readonly trackingError?: number;
  /** Position of the version of the definition that it follows, if not the first. */
  readonly amendment?: number;
  /** Trigger, if not the schedule. */
  readonly cause?: EventCause;
  /** Securities that entered between reviews; absent if there are none. */
  readonly swaps?: readonly ConstituentSwap[];
  /** Reviews that decided it, in order; absent for the `rebalance` of the document itself. */
  readonly reviews?: readonly string[];
  /** Latest selection it is based on, if reviews have reweighted it since. */
  readonly selected?: SelectedOn;
  /** One close of a rebalance that is spread over several. */
  readonly phase?: PhaseClose;
  /** Portfolios that later closes of the same phase combine; absent after the last close. */
  readonly transition?: Transition;
}

/** Selection: its review, and the session of its reference date. */
export interface SelectedOn {
  readonly review: string;
  readonly decision: number;
}

/** Portfolio at a close, with its market value relative to that of another portfolio. */
export interface Leg {
  /** Ascending. */
  readonly columns: Int32Array;
  readonly weights: Float64Array;
  readonly value: number;
  /** Share counts behind it, if the index follows them between reviews. */
  readonly counts?: SecurityCounts;
}

/** Index shares before and after a rebalance. */
export interface LegPair {
  readonly held: Leg;
  readonly target: Leg;
}

/** The two portfolios that the closes of a phase mix, valued at the latest close. */
export interface Transition {
  readonly applied: LegPair;
  /** Portfolios without caps; absent if neither has any. */
  readonly uncapped?: LegPair;
  /** Caps of the target. They apply when the target is reached. */
  readonly caps: Pick<Composition, 'cap' | 'capped' | 'redistributed'>;
  /** True for fixed numbers of shares: the values of the legs are in money, and the combined portfolio is a basket. */
  readonly isBasket: boolean;
}

export interface Compositions {
  readonly document: IndexDocument;
  readonly treatment: DatedTreatment;
  readonly sm: SessionMarket;
  /** Session of the first composition: the base date, or the first session with a price after it. */
  readonly first: number;
  /** Ascending by session; skipped rebalances are absent. */
  readonly list: readonly Composition[];
  /** Warnings of the decisions and of skipped rebalances. */
  readonly findings: readonly Finding[];
  /** State that its decisions carry over to later ones; null if there is none. */
  readonly memory: DecisionMemory | null;
  /** Mergers into securities that the index does not hold; absent if it holds every acquirer. */
  readonly outside?: OutsideMergers | undefined;
  /** Present for an overlay. */
  readonly overlay?: ComposedOverlay;
  /**
   * Present if a breach triggered a rebalance after the last day: session of the breach, and the day of the rebalance
   * by the calendar, null beyond its coverage.
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

/** Runs definitions: an index, the parents of its universe or derivation, and a benchmark, each once. */
export interface Composer {
  document(indexId: string): IndexDocument;
  /** The market on the sessions of the index's calendar. */
  market(indexId: string): SessionMarket;
  /** Treatment of an index by date. */
  treatment(indexId: string): DatedTreatment;
  /** Columns of the index's universe that are priceable on a session, ascending. */
  universe(indexId: string, session: number): Int32Array;
  /** @param by version of the definition and review that it follows. Default: the first version and its `rebalance`. */
  decider(indexId: string, by?: DueText): Decider;
  /** Composer on another version of an index, by position. */
  under(indexId: string, amendment: number): Composer;
  /** 1 for the members of the universe of an index on a session, by column, with or without a price. */
  members(indexId: string, session: number): Uint8Array;
  /** Mergers by which securities leave an index; undefined if it holds every acquirer. */
  outsideMergers(indexId: string): OutsideMergers | undefined;
  /**
   * Returns every composition effective on or before the last day of the composer.
   * @throws Refusal EMPTY_INDEX, NO_DATA_IN_RANGE, CALENDAR_NOT_COVERED, and refusals of deciders
   */
  compositions(indexId: string): Compositions;
  /** Returns the composition in force at the close of a session, including compositions known before. */
  inForce(indexId: string, session: number): Composition | undefined;
  /** Returns the latest composition decided on or before a session, among all known ones. */
  decidedOn(indexId: string, session: number): Composition | undefined;
  /** Returns the state carried over from earlier decisions of an index; null if this composer made all of them. */
  memory(indexId: string): DecisionMemory | null;
  /** Returns the columns of the latest composition effective before a session: the incumbents of a decision on it. */
  incumbents(indexId: string, session: number): Int32Array | null;
  /** Returns a stored risk model that definitions use. */
  riskModel(modelId: string): StoredModel;
  /** Returns the compositions of every requested index. */
  composed(): readonly Compositions[];
  /**
   * Returns the market on which an index is decided on a session. It differs from this market if another version of the
   * data was known then.
   * @throws Refusal NO_DATA_KNOWN
   */
  seatOf(indexId: string, session: number): DecisionSeat;
  /** Returns the state that decisions so far pass to later ones; null if there is none. */
  left(indexId: string): DecisionMemory | null;
}

/** Version of the data that a decision sees, and its last session. */
export interface DecisionSeat {
  readonly composer: Composer;
  readonly session: number;
}

/** Index with some known compositions; only later ones are decided. */
export interface ResumedIndex {
  /** Session of the very first composition. */
  readonly first: number;
  readonly before: readonly Composition[];
  readonly due: readonly DueRebalance[];
  readonly memory: DecisionMemory | null;
}

export type DeciderFactory = (document: IndexDocument, composer: Composer) => Decider;

/** Returns a composition as it was decided: before prices and exits up to the effective close changed its weights. */
export function restoreDecided(
  composition: Composition,
): Pick<Composition, 'columns' | 'weights'> & Partial<Pick<Composition, 'uncapped'>> {
  const { targets, decided, columns, weights, uncapped } = composition;
  return targets ?? decided ?? { columns, weights, uncapped };
}

/** Returns true if a review or a breach decided the composition, which replaces all weights. */
export const isReview = ({ cause }: Composition): boolean => cause === undefined || cause === 'breach';

/**
 * Returns a composition as known on a session. Before it takes effect, this is the decision, without later prices and
 * exits.
 */
export function restoreKnownOn(composition: Composition, session: number): Composition {
  return composition.session > session ? { ...composition, ...restoreDecided(composition) } : composition;
}

/** Returns the composition in force at the close of a session: the latest one effective at or before it. */
export function findInForce<C extends Pick<Composition, 'session'>>(
  list: readonly C[],
  session: number,
): C | undefined {
  for (let i = list.length - 1; i >= 0; i--) if (list[i]!.session <= session) return list[i];
  return undefined;
}
