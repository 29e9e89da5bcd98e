import { findConstraintClass } from '../../constraints/catalogue.js';
import type { Limit, ProgramRow } from '../../constraints/program-row.js';
import type { Origin } from '../problem.js';
import type { RowSide } from '../report.js';
import { solveConvex } from '../solve-convex.js';
import type { Solvers } from '../solvers.js';
import { describeChange, convertToObjectiveTerms } from './change-sentence.js';
import type { ExplainedInput } from './explained-input.js';
import { fixHeldSecurities } from './fixed-securities.js';
import { computeSlopeToSide, SMALL_FRACTION } from './one-sided-prices.js';
import { createWeighing, WORK_LIMIT_REACHED } from './weighing.js';

/** Effect of a change of one parameter on the objective, from solving the problem again. */
export interface Sensitivity {
  /** Client's id of the row, empty without an id, and its position. */
  readonly id: string;
  readonly index: number;
  readonly type: string;
  readonly parameter: string;
  readonly from: number;
  readonly to: number;
  /** Difference `to - from`. */
  readonly change: number;
  /** Change of the objective; null if the work limit was reached before the problem was solved again. */
  readonly effect: number | null;
  /** Effect per unit of the parameter for an infinitely small change. */
  readonly shadowPrice: number;
  readonly sentence: string;
}

/** Maximum number of parameters that are changed, largest effect first. Each needs a solve. */
export const SENSITIVITIES_MAX = 20;

/** Step of a parameter by unit: a percentage point, one security, or one hundredth of the value. */
const STEP_BY_UNIT = { fraction: 0.01, count: 1, value: 0.01 } as const;

/** Parameter of a binding row. */
interface BindingParameter {
  readonly origin: Origin;
  readonly parameter: string;
  readonly from: number;
  readonly to: number;
  readonly shadowPrice: number;
  /** True if one of the bounds that the parameter sets follows from other bounds. */
  readonly isDependent: boolean;
}

export interface SensitivityOptions {
  /** Maximum number of multiplications of all solves together. Default: a limit only for tails. */
  readonly workMax?: number | undefined;
  /** Row sides whose multipliers are not prices. */
  readonly dependent?: ReadonlySet<RowSide>;
}

/**
 * Computes how the objective changes when each binding bound is loosened by a percentage point, one security, or a
 * hundredth of another value. The held securities stay fixed if any row chooses securities.
 * @cost of at most `SENSITIVITIES_MAX` solves, and as many with a small change of parameters of dependent sides
 */
export function computeSensitivities(
  solvers: Solvers,
  { problem, solution, sides }: ExplainedInput,
  { workMax, dependent = new Set() }: SensitivityOptions = {},
): Sensitivity[] {
  const weighing = createWeighing(solvers, problem, workMax);
  const restriction = fixHeldSecurities(problem, solution.weights);
  const warm = solution.answer.state;
  return listBounds(sides, dependent).flatMap((bound): Sensitivity[] => {
    const { origin, parameter, from, to } = bound;
    const repeatedSolution = weighing.find(({ solver }) =>
      solveConvex(solver, problem.withParameters([{ origin, parameter, to }]), { restriction, warm }),
    );
    if (repeatedSolution === undefined) return [];
    const effect =
      repeatedSolution === WORK_LIMIT_REACHED
        ? null
        : convertToObjectiveTerms(problem, repeatedSolution.objective - solution.objective);
    const changeText =
      repeatedSolution === WORK_LIMIT_REACHED
        ? 'was not solved: the work limit for explanations was reached'
        : describeChange(
            problem,
            convertToObjectiveTerms(problem, solution.objective),
            convertToObjectiveTerms(problem, repeatedSolution.objective),
          );
    const heldPhrase =
      restriction === undefined || repeatedSolution === WORK_LIMIT_REACHED ? '' : ', with the same securities held';
    const stepText = `${to > from ? 'Raising' : 'Lowering'} ${describeParameter(parameter)} of ${origin.name} from ${formatValue(origin, from)} to ${formatValue(origin, to)}`;
    return [
      {
        id: origin.id,
        index: origin.index!, // rows of the request have an index
        type: origin.type,
        parameter,
        from,
        to,
        change: to - from,
        effect,
        shadowPrice: bound.isDependent ? (computeSmallestSlope(bound) ?? bound.shadowPrice) : bound.shadowPrice,
        sentence: `${stepText} ${changeText}${heldPhrase}.`,
      },
    ];
  });

  function computeSmallestSlope({ origin, parameter, from, to }: BindingParameter): number | undefined {
    const stepSize = SMALL_FRACTION * (to - from);
    const nearChange = { origin, parameter, to: from + stepSize };
    return computeSlopeToSide(weighing, { problem: problem.withParameters([nearChange]), solution }, stepSize);
  }
}

/** Returns the parameters that set bounds with a nonzero price, largest effect of a step first. */
function listBounds(sides: readonly RowSide[], dependent: ReadonlySet<RowSide>): BindingParameter[] {
  const bounds = new Map<string, BindingParameter>();
  for (const rowSide of sides) {
    const { placed, side, isBinding, shadowPrice } = rowSide;
    const { origin, row } = placed;
    const limit = side === 'eq' ? null : findLimit(row, side);
    const parameter = limit?.parameter ?? null;
    if (!isBinding || shadowPrice === 0 || origin.index === null || limit === null || parameter === null) continue;
    const from = origin.params[parameter];
    // Securities that only a lower bound of zero excludes are reported by `listNextSecurities`.
    if (typeof from !== 'number' || (row.form === 'name' && side === 'lower' && from === 0)) continue;
    const key = `${origin.index} ${parameter}`;
    const price = shadowPrice * computeSlope(row, limit);
    const bindingParameter = bounds.get(key);
    const outward = (side === 'upper' ? 1 : -1) * (limit.slope < 0 ? -1 : 1);
    const to = solveAtStep(origin, { parameter, from, outward });
    if (to === undefined) continue;
    const isDependent = bindingParameter?.isDependent === true || dependent.has(rowSide);
    bounds.set(key, {
      origin,
      parameter,
      from,
      to,
      shadowPrice: price + (bindingParameter?.shadowPrice ?? 0),
      isDependent,
    });
  }
  const computeEffect = ({ from, to, shadowPrice }: BindingParameter) => Math.abs((to - from) * shadowPrice);
  return [...bounds.values()].toSorted((a, b) => computeEffect(b) - computeEffect(a)).slice(0, SENSITIVITIES_MAX);
}

function findLimit(row: ProgramRow, side: 'lower' | 'upper'): Limit | null {
  switch (row.form) {
    case 'name':
    case 'linear':
      return row[side];
    case 'distance':
    case 'norm':
    case 'tail':
      return row.limit;
    default:
      return null;
  }
}

/**
 * Returns the change of the priced bound per unit of the parameter. It is 1 for a norm, because its price is already
 * per unit of the parameter.
 */
function computeSlope(row: ProgramRow, limit: Limit): number {
  if (row.form === 'norm') return 1;
  return row.form === 'linear' && row.average !== undefined ? row.average.scale : limit.slope;
}

interface ParameterStep {
  readonly parameter: string;
  readonly from: number;
  readonly outward: number;
}

/**
 * Returns the value of a parameter after one loosening step. Returns undefined if the class does not accept the value.
 */
function solveAtStep({ type, unit, params }: Origin, { parameter, from, outward }: ParameterStep): number | undefined {
  const size = unit === 'value' && from !== 0 ? STEP_BY_UNIT.value * Math.abs(from) : STEP_BY_UNIT[unit];
  const to = Number((from + outward * size).toPrecision(12));
  const isAccepted = findConstraintClass(type)!.params.safeParse({ ...params, [parameter]: to }).success; // rows have been validated
  return isAccepted ? to : undefined;
}

function formatValue({ unit }: Origin, value: number): string {
  const formatRounded = (number: number) => String(Number(number.toPrecision(6)));
  return unit === 'fraction' ? `${formatRounded(100 * value)}%` : formatRounded(value);
}

/** Describes a parameter, for example `the lower bound`. */
const describeParameter = (parameter: string): string =>
  `the ${parameter.replaceAll('_', ' ')}${parameter === 'lower' || parameter === 'upper' ? ' bound' : ''}`;
