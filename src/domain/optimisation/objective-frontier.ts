import { dot } from '../numbers/dot.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { ProgramAnswer } from '#kernels/optimisation/program-answer.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { Finding } from '../refusals/findings.js';
import { TRACKING } from '../objectives/objective.js';
import { outcomesAt, tailAverage, tailSize, type TailGoal } from '../objectives/tail.js';
import type { Restriction } from './assemble.js';
import { pointAt, withinTails, type FrontierInput, type FrontierPoint } from './frontier.js';
import type { FrontierRisk } from './frontier-risks.js';
import { solveTailGoal } from './goals/solve-tail-goal.js';
import { nonConvexRows, type Problem } from './problem.js';
import { restrictionOf, shortSide, supportOf } from './restriction.js';
import type { Solution } from './search.js';
import { withoutDust } from './solve-convex.js';
import { mixed, ofMost, tracedFrontier, withRow, type Trace } from './traced-frontier.js';
import { metered } from './work-meter.js';

/** A portfolio of the least risk of an objective at an expected return. */
export interface ObjectivePortfolio extends FrontierPoint {
  readonly risk_measure: FrontierRisk;
  readonly risk: number;
  /** [N] */
  readonly weights: Float64Array;
}

/** The risk that the objective of a problem makes small. */
export function frontierRisk({ goal, objective }: Pick<Problem, 'goal' | 'objective'>): FrontierRisk {
  if (goal.form === 'tail') return goal.measure === 'loss' ? 'cvar' : 'cdar';
  return objective.entry.type === TRACKING.entry.type ? 'tracking_error' : 'volatility';
}

export interface ObjectiveFrontierInput extends Omit<FrontierInput, 'riskFreeRate'> {
  /** The largest expected return, where the efficient frontier found it. */
  readonly most?: ProgramAnswer | undefined;
  /** The problem's answer. */
  readonly solution?: Pick<Solution, 'assembled' | 'answer'> | undefined;
}

/**
 * Portfolios of the least risk of the objective, costs aside, from the least of all to the largest expected return, equally
 * spaced in it. Null for objectives of the volatility, whose frontier is the efficient one, and where the rows have none
 * or the work for one is too much.
 *
 * @cost    as many warm solves as points; of tails fewer points where a solve is dear
 * @source  Rockafellar & Uryasev (2000), Journal of Risk 2(3), section 4, and Chekhlov, Uryasev & Zabarankin (2005),
 *   International Journal of Theoretical and Applied Finance 8(1), for frontiers of tails; Roll (1992), Journal of
 *   Portfolio Management 18(4), for that of the tracking error.
 */
export function objectiveFrontier(input: ObjectiveFrontierInput): readonly ObjectivePortfolio[] | null {
  const { problem, means, most, solution } = input;
  const measure = frontierRisk(problem);
  if (measure === 'volatility') return null;
  const { goal, index } = problem;
  const solver = metered(input.solver);
  const near = solution && { program: solution.assembled.program, answer: solution.answer };
  let before: Trace | undefined;
  return withinTails({
    ...input,
    solver,
    trace(program) {
      // Rows that limit tails need traces again and again.
      if (before !== undefined && solver.spent() > TRACES_WORK_MAX) return null;
      let least: readonly Float64Array[] | undefined;
      if (goal.form === 'tail') least = leastTails(solver, { problem, goal, base: program, means, most });
      else {
        const traced = tracedFrontier(solver, program, means, { centre: index, before, most, near });
        before = traced?.trace;
        least = traced?.solved.map(({ x }) => x);
      }
      const weights = least?.map(withoutDust);
      if (weights === undefined) return null;
      const found = weights.map((each): ObjectivePortfolio => {
        const point = pointAt(problem, means, each);
        const risk = goal.form === 'tail' ? tailAverage(outcomesAt(goal, each), tailSize(goal)) : point.tracking_error;
        return { ...point, risk_measure: measure, risk, weights: each };
      });
      return { found, weights };
    },
  });
}

/** Multiplications of a frontier of tails, some seconds: counted, so that the same request has the same points. */
const WORK_MAX = 2e9;

/** The same after which a frontier is traced no more with further planes below the tails of rows. */
const TRACES_WORK_MAX = 2e10;

/** Points of a frontier, as many as the work allows. */
const POINTS = [21, 11, 6] as const;

interface TailTrace extends Pick<ObjectiveFrontierInput, 'problem' | 'means' | 'most'> {
  readonly goal: TailGoal;
  readonly base: Program;
}

/** The least tails at expected returns; undefined where there are none, or a single one takes too long. */
function leastTails(inner: Solver, { problem, goal, base, means, most: known }: TailTrace): Float64Array[] | undefined {
  const solver = metered(inner);
  const alone = { ...problem, costs: null, robustness: null };
  const first = solveTailGoal(solver, alone, goal, base, undefined);
  const count = POINTS.find((points) => points * solver.spent() <= WORK_MAX);
  const last = ofMost(solver, base, means, known);
  if (first === undefined || count === undefined || last.status !== 'solved') return undefined;
  const [least, most] = [first.answer.point.x, last.point.x];
  const from = dot(means, least);
  const to = Math.max(dot(means, most), from);
  let { start } = first;
  return Array.from({ length: count }, (_, k) => {
    if (k === 0) return least;
    const rows = withFloor(base, means, from + ((to - from) * k) / (count - 1));
    const found = solveTailGoal(solver, alone, goal, rows, start);
    start = found?.start ?? start;
    return found?.answer.point.x ?? mixed(least, most, k / (count - 1));
  });
}

/** The programme with a least expected return. */
function withFloor(base: Program, means: Float64Array, least: number): Program {
  const program = withRow(base, means);
  const { rows } = program;
  const last = rows.count - 1;
  return {
    ...program,
    rows: { ...rows, lower: rows.lower.with(last, least), upper: rows.upper.with(last, Infinity) },
  };
}

/** What keeps the choice of an answer: the names held, and those above triggers; undefined where no row chooses. */
export function keptChoice(problem: Problem, weights: Float64Array): Restriction | undefined {
  const rows = nonConvexRows(problem).map(({ row }) => row);
  if (rows.length === 0) return undefined;
  const large = rows.flatMap((row) =>
    row.form === 'concentration'
      ? [Uint8Array.from(weights, (weight) => (weight > row.trigger + TRIGGERED ? 1 : 0))]
      : [],
  );
  return restrictionOf(rows, {
    held: supportOf(weights),
    short: shortSide(weights),
    large,
    isFinal: true,
  });
}

/** How far a weight may be above a trigger by rounding. */
const TRIGGERED = 1e-10;

/** Objectives whose frontier is that of another one. */
const WITHOUT_OWN: Readonly<Record<string, string>> = {
  risk_parity: 'budgets of risk have one answer within the rows, and no frontier',
  max_diversification: 'the ratio has no expected return; its answer is told among the points as portfolio',
  max_decorrelation: 'correlations have no expected return; its answer is told among the points as portfolio',
};

export interface Traced {
  readonly problem: Problem;
  readonly hasFrontier: boolean;
  readonly hasOwn: boolean;
}

/** What is told of the frontiers of a run: what they are not of, the names they are of, and those that are not there. */
export function frontierFindings({ problem, hasFrontier, hasOwn }: Traced): Finding[] {
  const info = (severity: Finding['severity'], message: string): Finding => ({
    severity,
    code: 'FRONTIER_SCOPE',
    message,
    path: '',
  });
  if (!hasFrontier)
    return [
      info(
        'warning',
        'There is no frontier: the solver found no least variance or no largest expected return within the rows.',
      ),
    ];
  const { type } = problem.objective.entry;
  const other = WITHOUT_OWN[type];
  const choosing = [...new Set(nonConvexRows(problem).map(({ origin }) => origin.type))];
  return [
    ...(other === undefined
      ? []
      : [info('info', `The frontier is that of mean and variance, not of ${type}: ${other}.`)]),
    ...(frontierRisk(problem) === 'volatility' || hasOwn
      ? []
      : [
          info(
            'warning',
            `There is no frontier by the risk of ${type}: its work, which is counted, would be too much.`,
          ),
        ]),
    ...(choosing.length === 0
      ? []
      : [
          info(
            'info',
            `The frontier is among the names of the answer: ${choosing.join(', ')} chose them, and other names may do better at other returns.`,
          ),
        ]),
  ];
}
