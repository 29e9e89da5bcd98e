import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import type { PathStart } from '#kernels/optimisation/path/follow-path.js';
import { checkKkt } from '#kernels/optimisation/program/kkt.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { ProgramResult } from '#kernels/optimisation/program-answer.js';
import { scalePrices } from './prices.js';
import type { RatioPoint } from './solve-ratio.js';
import type { TailStart } from './solve-tail.js';

/** Optimum of a goal within the rows of a program. */
export interface GoalSolution {
  /**
   * Program whose optimality conditions the solution satisfies. Curved parts of the objective are replaced by their
   * tangents.
   */
  readonly program: Program;
  readonly answer: ProgramResult;
  /** Change of the minimised objective per unit of the program's objective. */
  readonly priceScale: number;
  /** Factor on the penalties of soft rows in the program. */
  readonly penaltyScale: number;
  /** Remaining optimality gap of a tail; 0 for other goals. */
  readonly open?: number;
  /** Start for a search from similar weights; only for a tail. */
  readonly tail?: TailStart;
}

export interface GoalOptions {
  readonly warm?: ActiveState | undefined;
  readonly effort?: 'quick' | 'thorough' | undefined;
  /** Optimum of a program with the same rows, whose norm multipliers are the initial ones. */
  readonly near?: PathStart | undefined;
  /** Optimum of a program that differs only in the bounds of a few securities. */
  readonly beside?: Pick<ProgramResult, 'point' | 'state'> | undefined;
  /** Similar weights with their worst scenarios; only for a tail. */
  readonly tail?: TailStart | undefined;
  /** Constant subtracted from a numerator: the penalty of soft norm and tail rows at their widened limits. */
  readonly charge?: number;
}

/** Accuracy of portfolios with curved costs, risk budgets or norm rows. */
export const CURVED_ACCURACY = 1e-12;

/** Returns the options of a solve from given start weights. */
export function setStart({ warm, effort }: GoalOptions, start: Float64Array) {
  return { start, warm, ...(effort === undefined ? {} : { effort }) };
}

/** Scales a portfolio to a larger investment; the ratio is unchanged. */
export function scaleSolution(
  scale: number,
  { program, answer }: RatioPoint,
): Pick<GoalSolution, 'program' | 'answer'> {
  const scaleValues = (values: Float64Array) => values.map((value) => value * scale);
  const { x, rowMultipliers, kinkMultipliers, normMultipliers } = answer.point;
  const point = {
    x: scaleValues(x),
    rowMultipliers: scaleValues(rowMultipliers),
    kinkMultipliers: kinkMultipliers.map((value, k) => (program.kinks[k]!.limit === null ? value : value * scale)),
    normMultipliers,
  };
  const scaledProgram = { ...scalePrices(program, scale), linear: scaleValues(program.linear) };
  return { program: scaledProgram, answer: { ...answer, point, kkt: checkKkt(scaledProgram, point) } };
}
