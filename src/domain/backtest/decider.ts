import type { Finding, FindingCode } from '../findings.js';
import type { ErrorCode } from '../refusal.js';

/** Decides the composition of an index on a session from data dated on or before it. */
export interface Decider {
  /**
   * @param session decision session.
   * @param incumbents columns of the latest composition that was effective before the session, null before the first.
   */
  decide(session: number, incumbents: Int32Array | null): Decision;
}

export type Decision = Decided | Undecided;

export interface Decided {
  readonly kind: 'decided';
  /** Columns of the market, ascending. */
  readonly columns: Int32Array;
  /** Applied weights, one per column, summing to 1. */
  readonly weights: Float64Array;
  /** Weights before capping, one per column, summing to 1. */
  readonly uncapped: Float64Array;
  /** Effective maximum weight, null without a cap. */
  readonly cap: number | null;
  /** Columns held at the cap, ascending. */
  readonly capped: Int32Array;
  readonly redistributed: number;
  readonly findings: readonly Finding[];
}

/** Nothing survives, or the weights cannot be had. */
export interface Undecided {
  readonly kind: 'empty' | 'refused';
  readonly code: ErrorCode | FindingCode;
  readonly finding: Finding;
}
