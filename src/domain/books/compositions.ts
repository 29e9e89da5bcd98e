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

/** What an index consists of from one rebalance to the next. */
export interface Composition {
  /** Effective date by the schedule. */
  readonly date: Day;
  /**
   * Later dates of the schedule, on closed days, that it executes as well because they map to the same session.
   */
  readonly also: readonly Day[];
  /** Session at whose close the weights take effect and whose prices the trades use. */
  readonly session: number;
  /** Session whose data the composition was decided from: that of the reference date. */
  readonly decision: number;
  /** Session whose closes turned weights into index shares; absent where that is the decision. */
  readonly pricing?: number;
  /** Day of the announcement where that is before the effective date, else null. */
  readonly announced: Day | null;
  /** Columns of its names, ascending, [n]. */
  readonly columns: Int32Array;
  /** Applied weights, fractions, [n]. */
  readonly weights: Float64Array;
  /** Weights before capping, [n]. */
  readonly uncapped: Float64Array;
  /** Weights decided, where they became index shares before the effective close. */
  readonly targets?: Pick<Composition, 'columns' | 'weights'> & Partial<Pick<Composition, 'uncapped'>>;
  /** Money that fixed numbers of shares are worth at the effective close; absent where weights decide. */
  readonly basket?: number;
  /** Share counts that the weights stand for at the effective close, where the index follows them between reviews. */
  readonly counts?: SecurityCounts;
  /** Money that a market value is divided by for a weight that no limit changes, at the effective close. */
  readonly worth?: number;
  /** Securities that the decision left out, best ranked first, where they may replace others. */
  readonly ranking?: Int32Array;
  /** Market value over that before, where securities enter with the shares of their own. */
  readonly entered?: number;
  /** Effective maximum weight, null without a cap. */
  readonly cap: number | null;
  /** Columns of the names held at the cap, ascending. */
  readonly capped: Int32Array;
  /** Weight moved off capped names, a fraction. */
  readonly redistributed: number;
  /** As its decision had it. */
  readonly trackingError?: number;
  /** Position of the text that it follows, where that is not the first. */
  readonly amendment?: number;
  /** What called for it, where that is not the schedule. */
  readonly cause?: EventCause;
  /** Securities that entered outside the decision of a review; absent where none did. */
  readonly swaps?: readonly ConstituentSwap[];
  /** Reviews that decided it, in their order; absent of the document's own `rebalance`. */
  readonly reviews?: readonly string[];
  /** Latest selection that it is based on, where reviews have weighted it again since. */
  readonly selected?: SelectedOn;
  /** Close of a rebalance that is spread over several. */
  readonly phase?: PhaseClose;
  /** Portfolios that the closes to come of the same phase mix; absent after the last. */
  readonly transition?: Transition;
}

/** A selection: the review that made it, and the session of its reference date. */
export interface SelectedOn {
  readonly review: string;
  readonly decision: number;
}

/** A portfolio at a close, and its market value beside that of another one. */
export interface Leg {
  /** Ascending. */
  readonly columns: Int32Array;
  readonly weights: Float64Array;
  readonly value: number;
  /** Share counts that it stands for, where the index follows them between reviews. */
  readonly counts?: SecurityCounts;
}

/** Index shares before a rebalance, and those that it leads to. */
export interface LegPair {
  readonly held: Leg;
  readonly target: Leg;
}

/** The two portfolios that the closes of a phase mix, as their shares are worth at the latest of them. */
export interface Transition {
  readonly applied: LegPair;
  /** The same without caps; absent where neither has any. */
  readonly uncapped?: LegPair;
  /** Caps of the target, which hold once it is reached. */
  readonly caps: Pick<Composition, 'cap' | 'capped' | 'redistributed'>;
  /** Fixed numbers of shares: values of the legs are their money, and the mix is a basket. */
  readonly isBasket: boolean;
}

export interface Compositions {
  readonly document: IndexDocument;
  readonly treatment: DatedTreatment;
  readonly sm: SessionMarket;
  /** Session of the first composition: the base date, or the first session with a price after it. */
  readonly first: number;
  /** Ascending by session; a rebalance that was skipped is absent. */
  readonly list: readonly Composition[];
  /** Warnings of the decisions and of skipped rebalances. */
  readonly findings: readonly Finding[];
  /** State that its decisions carry over to later ones; null where they carry none. */
  readonly memory: DecisionMemory | null;
  /** Mergers into securities that it does not hold; absent where it holds every acquirer. */
  readonly outside?: OutsideMergers | undefined;
  /** Of an overlay. */
  readonly overlay?: ComposedOverlay;
  /**
   * There where a breach has called for a rebalance after the last day: session of the breach, and the day of the
   * rebalance by the calendar, null beyond its coverage.
   */
  readonly called?: { readonly session: number; readonly effective: Day | null };
}

/** An overlay with what lies beneath it. */
export interface ComposedOverlay {
  readonly spec: OverlaySpec;
  readonly sources: readonly Compositions[];
  /** Up to the last day of the composer; absent while it is made. */
  readonly book?: Book;
}

/** Runs definitions: an index, the parents of its universe or derivation, a benchmark, each once. */
export interface Composer {
  document(indexId: string): IndexDocument;
  /** The market on the sessions of the index's calendar. */
  market(indexId: string): SessionMarket;
  /** Treatment of an index by date. */
  treatment(indexId: string): DatedTreatment;
  /** Columns of the index's universe that are priceable on a session, ascending. */
  universe(indexId: string, session: number): Int32Array;
  /** @param by the text and the review that it follows. Default: the first text and the document's own rebalance. */
  decider(indexId: string, by?: DueText): Decider;
  /** The same on a text of an index, by its position. */
  under(indexId: string, amendment: number): Composer;
  /** By column, 1 for the members of the universe of an index on a session, priced or not. */
  members(indexId: string, session: number): Uint8Array;
  /** Mergers by which securities leave an index; undefined where it holds every acquirer. */
  outsideMergers(indexId: string): OutsideMergers | undefined;
  /**
   * Every composition effective on or before the composer's last day.
   * @throws Refusal EMPTY_INDEX, NO_DATA_IN_RANGE, CALENDAR_NOT_COVERED, and what deciders refuse
   */
  compositions(indexId: string): Compositions;
  /** The composition in force at the close of a session; those that were known before count as well. */
  inForce(indexId: string, session: number): Composition | undefined;
  /** The latest composition decided on or before a session, of all that are known. */
  decidedOn(indexId: string, session: number): Composition | undefined;
  /** State carried over from earlier decisions of an index; null where all of them are made here. */
  memory(indexId: string): DecisionMemory | null;
  /** Columns of the latest composition effective before a session: the incumbents of a decision on it. */
  incumbents(indexId: string, session: number): Int32Array | null;
  /** A stored risk model that definitions use. */
  riskModel(modelId: string): StoredModel;
  /** The compositions of every index that was asked for. */
  composed(): readonly Compositions[];
  /**
   * Where a decision of an index on a session is made: here, unless another content of the market was known then.
   * @throws Refusal NO_DATA_KNOWN
   */
  seatOf(indexId: string, session: number): DecisionSeat;
  /** State that the decisions made so far leave to those to come; null where they leave none. */
  left(indexId: string): DecisionMemory | null;
}

/** The content that a decision sees, and its last session of it. */
export interface DecisionSeat {
  readonly composer: Composer;
  readonly session: number;
}

/** An index of which some compositions are known: only those due after them are decided. */
export interface ResumedIndex {
  /** Session of the first composition of all. */
  readonly first: number;
  readonly before: readonly Composition[];
  readonly due: readonly DueRebalance[];
  readonly memory: DecisionMemory | null;
}

export type DeciderFactory = (document: IndexDocument, composer: Composer) => Decider;

/** What was known of a composition when it was decided: its weights before they drifted to the effective close. */
export function asDecided({ targets, columns, weights }: Composition): Pick<Composition, 'columns' | 'weights'> {
  return targets ?? { columns, weights };
}

/** Whether a review or a breach decided a composition, so that all its weights are new. */
export const isReview = ({ cause }: Composition): boolean => cause === undefined || cause === 'breach';

/** A composition as it is known on a session: until it takes effect as decided, without prices and exits up to then. */
export function asKnownOn(composition: Composition, session: number): Composition {
  return composition.session > session ? { ...composition, ...asDecided(composition) } : composition;
}

/** The composition in force at the close of a session: the latest effective at or before it. */
export function inForce<C extends Pick<Composition, 'session'>>(list: readonly C[], session: number): C | undefined {
  for (let i = list.length - 1; i >= 0; i--) if (list[i]!.session <= session) return list[i];
  return undefined;
}
