import type { GramHistory } from '#kernels/moments/rolling-gram.js';
import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import type { Finding, FindingCode } from '../refusals/findings.js';
import type { ErrorCode, Refusal } from '../refusals/refusal.js';

/** Composition that an index holds until a rebalance takes effect. */
export interface Outgoing {
  /** Session at whose close it took effect. */
  readonly session: number;
  /** Columns, ascending, with their weights at that close. */
  readonly columns: Int32Array;
  readonly weights: Float64Array;
  /** Session at whose close the rebalance takes effect. */
  readonly effective: number;
}

/** Decides the composition of an index on a session from data dated on or before it. */
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
    outgoing?: Outgoing | null,
    among?: Int32Array | null,
  ): Decision;
  /**
   * State on which later decisions depend, besides the market and earlier compositions; null or absent if there is
   * none.
   */
  memory?(): DecisionMemory | null;
  /** Securities that replace constituents between reviews; absent if the decider has no rules. */
  readonly pool?: ReviewPool;
}

/** Ranked securities, and the constituents at that time. */
export interface Ranked {
  readonly columns: Int32Array;
  readonly constituents: Int32Array;
}

/** Securities that may enter an index between reviews, according to its rules. */
export interface ReviewPool {
  /** Securities that a review did not select, best ranked first; empty without a rule that ranks. */
  ranking(session: number, incumbents: Int32Array | null): Int32Array;
  /** Returns true if a security and the remaining constituents pass the rules that do not rank. */
  passes(session: number, staying: Int32Array, candidate: number): boolean;
  /** Values to which weights are proportional; NaN if there is none. */
  values(session: number, columns: Int32Array): Float64Array;
  /** Returns the securities with a value of a datapoint (which may depend on the constituents), largest first. */
  ranked(session: number, field: string, securities: Ranked): Int32Array;
}

/** State of optimised decisions. Later decisions start from it, so that they have the same bits as in a full run. */
export interface DecisionMemory {
  /** Latest solved weights, and their session. */
  readonly solved: { readonly session: number; readonly columns: Int32Array; readonly weights: Float64Array } | null;
  /** Active set of the latest solve, and its securities. */
  readonly active: { readonly columns: Int32Array; readonly state: ActiveState } | null;
  /** Windows over which the covariance was estimated. */
  readonly moments: GramHistory | null;
}

export type Decision = Decided | Undecided;

export interface Decided {
  readonly kind: 'decided';
  /** Columns of the market, ascending. */
  readonly columns: Int32Array;
  /** Applied weights, one per column, negative for a short position; the difference of their sum from 1 is cash. */
  readonly weights: Float64Array;
  /** Weights before capping, one per column, with the same sum. */
  readonly uncapped: Float64Array;
  /** Effective maximum weight, null without a cap. */
  readonly cap: number | null;
  /** Columns held at the cap, ascending. */
  readonly capped: Int32Array;
  readonly redistributed: number;
  /** Value in money of the fixed numbers of shares behind the weights; absent if weights are decided. */
  readonly basket?: number;
  /** See `Composition`. */
  readonly worth?: number;
  readonly ranking?: Int32Array;
  /**
   * Annualised tracking error to the parent of a derived index, as its risk model forecasts it; absent without a risk
   * model.
   */
  readonly trackingError?: number;
  readonly findings: readonly Finding[];
}

/** Result if no security is selected, or the weights cannot be computed. */
export interface Undecided {
  readonly kind: 'empty' | 'refused';
  readonly code: ErrorCode | FindingCode;
  readonly finding: Finding;
  /** Returns the detailed refusal, computed only if no composition exists before; absent if the finding is complete. */
  readonly explain?: () => Refusal;
}
