import type { GramHistory } from '#kernels/moments/rolling-gram.js';
import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import type { Finding, FindingCode } from '../refusals/findings.js';
import type { ErrorCode, Refusal } from '../refusals/refusal.js';

/** Composition that an index holds until a rebalance takes effect. */
export interface Outgoing {
  /** Session at whose close it took effect. */
  readonly session: number;
  /** Columns, ascending, with their weights then. */
  readonly columns: Int32Array;
  readonly weights: Float64Array;
  /** Session at whose close the rebalance takes effect. */
  readonly effective: number;
}

/** Decides the composition of an index on a session from data dated on or before it. */
export interface Decider {
  /**
   * @param session decision session.
   * @param incumbents columns of the latest composition that was effective before the session, null before the first.
   * @param outgoing composition that the decision takes the place of, null before the first.
   * @param among columns that are decided upon instead of the universe, ascending.
   */
  decide(
    session: number,
    incumbents: Int32Array | null,
    outgoing?: Outgoing | null,
    among?: Int32Array | null,
  ): Decision;
  /**
   * What the decisions to come depend on besides the market and the compositions before; null or absent when there is
   * nothing.
   */
  memory?(): DecisionMemory | null;
  /** Securities of which constituents are replaced between reviews; absent where it decides by no rules. */
  readonly pool?: ReviewPool;
}

/** Securities that are ranked, and the constituents at that time. */
export interface Ranked {
  readonly columns: Int32Array;
  readonly constituents: Int32Array;
}

/** Securities that may enter an index between reviews, as its rules see them. */
export interface ReviewPool {
  /** Securities in the order in which a review left them out, best ranked first; none without a rule that ranks. */
  ranking(session: number, incumbents: Int32Array | null): Int32Array;
  /** Whether a security passes the rules that do not rank, beside the constituents that stay. */
  passes(session: number, staying: Int32Array, candidate: number): boolean;
  /** Values that the weighting is proportional to, NaN where it has none. */
  values(session: number, columns: Int32Array): Float64Array;
  /** The securities that have a value of a datapoint, which may ask for the constituents, largest first. */
  ranked(session: number, field: string, securities: Ranked): Int32Array;
}

/**
 * What is left of optimised decisions: those to come begin with it, so that they have the same bits as if none had been
 * left out.
 */
export interface DecisionMemory {
  /** The latest weights that were solved, and the session they were solved on. */
  readonly solved: { readonly session: number; readonly columns: Int32Array; readonly weights: Float64Array } | null;
  /** Active set of the latest solve, and its names. */
  readonly active: { readonly columns: Int32Array; readonly state: ActiveState } | null;
  /** Windows that the covariance was made over. */
  readonly moments: GramHistory | null;
}

export type Decision = Decided | Undecided;

export interface Decided {
  readonly kind: 'decided';
  /** Columns of the market, ascending. */
  readonly columns: Int32Array;
  /** Applied weights, one per column, negative for a short position; what their sum leaves of 1 is cash. */
  readonly weights: Float64Array;
  /** Weights before capping, one per column, with the same sum. */
  readonly uncapped: Float64Array;
  /** Effective maximum weight, null without a cap. */
  readonly cap: number | null;
  /** Columns held at the cap, ascending. */
  readonly capped: Int32Array;
  readonly redistributed: number;
  /** Money that fixed numbers of shares are worth which the weights stand for; absent where weights decide. */
  readonly basket?: number;
  /** See `Composition`. */
  readonly worth?: number;
  readonly ranking?: Int32Array;
  /** To the parent of a derived index, annualised, as its risk model forecast it; absent without a risk model. */
  readonly trackingError?: number;
  readonly findings: readonly Finding[];
}

/** Nothing survives, or the weights cannot be had. */
export interface Undecided {
  readonly kind: 'empty' | 'refused';
  readonly code: ErrorCode | FindingCode;
  readonly finding: Finding;
  /**
   * The refusal with all that is to be said, worked out when nothing came before it; absent where the finding is all.
   */
  readonly explain?: () => Refusal;
}
