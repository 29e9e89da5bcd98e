import type { Problem } from '../problem.js';
import type { RowSide } from '../report.js';
import type { ConvexSolution } from '../solve-convex.js';

/** Problem with the solution to be explained. */
export interface ExplainedInput {
  readonly problem: Problem;
  readonly solution: ConvexSolution;
  readonly sides: readonly RowSide[];
}
