/** Solved weights of a derived index from one rebalance to the next. */
export interface SolvedWeights {
  /** Columns, ascending. */
  readonly columns: Int32Array;
  readonly weights: Float64Array;
}
