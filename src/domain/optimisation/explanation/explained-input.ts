import type { Problem } from '../problem.js';
import type { RowSide } from '../report.js';
import type { ConvexSolution } from '../solve-convex.js';

/** An answer that is explained. */
export interface ExplainedInput {
  readonly problem: Problem;
  readonly solution: ConvexSolution;
  readonly sides: readonly RowSide[];
}
