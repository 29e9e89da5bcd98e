import type { GramHistory } from '#kernels/moments/rolling-gram.js';
import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import type { Finding, FindingCode } from '../refusals/findings.js';
import type { ErrorCode, Refusal } from '../refusals/refusal.js';

/** Composition that an index holds until a rebalance replaces it. */
export interface OutgoingComposition {
  /** Effective session of the composition. */
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
