/** Solved weights of a derived index between rebalances. */
export interface SolvedWeights {
  /** Market columns, ascending. */
  readonly columns: Int32Array;
  readonly weights: Float64Array;
}
