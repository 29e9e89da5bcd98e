import { findConstraintClass } from '../../constraints/catalogue.js';
import type { Limit, ProgramRow } from '../../constraints/program-row.js';
import type { Origin } from '../problem.js';
import type { RowSide } from '../report.js';
import { solveConvex } from '../solve-convex.js';
import type { Solvers } from '../name-search.js';
import { changeSentence, ownTerms } from './change-sentence.js';
import type { ExplainedInput } from './explained-input.js';
import { heldChoice } from './held-choice.js';
import { slopeTo, SMALL } from './one-sided-prices.js';
import { createWeighing, SPENT } from './weighing.js';

/** What another value of one parameter does to the objective: the problem solved again. */
export interface Sensitivity {
  /** The client's id of the row, empty when there is none, and its position. */
  readonly id: string;
  readonly index: number;
  readonly type: string;
  readonly parameter: string;
  readonly from: number;
  readonly to: number;
  /** `to - from`. */
  readonly change: number;
  /** Change of the objective, in its own terms; null where the work is spent before the problem is solved again. */
  readonly effect: number | null;
  /** The same per unit of the parameter for an infinitely small change. */
  readonly shadowPrice: number;
  readonly sentence: string;
}

/** Parameters that are moved, those of the largest effect first: each is a solve. */
export const SENSITIVITIES_MAX = 20;

/** Steps by unit: a percentage point, one name. A bound in other units moves by a hundredth of itself. */
const STEP = { fraction: 0.01, count: 1, value: 0.01 } as const;

/** A parameter of a row that binds. */
interface Bound {
  readonly origin: Origin;
  readonly parameter: string;
  readonly from: number;
  readonly to: number;
  readonly shadowPrice: number;
  /** Whether one of the bounds that it moves is implied by others. */
  readonly isDependent: boolean;
}

export interface SensitivityOptions {
  /** Multiplications of all solves together; only those of tails have a limit unless given. */
  readonly workMax?: number | undefined;
  /** Sides whose multipliers are no prices. */
  readonly dependent?: ReadonlySet<RowSide>;
}

/**
 * What loosening each bound that binds by a percentage point (one name, a hundredth of other values) does to the
 * objective. Where rows choose names, the names held stay held.
 * @cost of at most `SENSITIVITIES_MAX` solves, and as many with a small change of parameters of dependent sides
 */
export function sensitivitiesOf(
  solvers: Solvers,
  { problem, solution, sides }: ExplainedInput,
  { workMax, dependent = new Set() }: SensitivityOptions = {},
): Sensitivity[] {
  const weighing = createWeighing(solvers, problem, workMax);
  const restriction = heldChoice(problem, solution.weights);
  const warm = solution.answer.state;
  return boundsOf(sides, dependent).flatMap((bound): Sensitivity[] => {
    const { origin, parameter, from, to } = bound;
    const again = weighing.find(({ solver }) =>
      solveConvex(solver, problem.withParameters([{ origin, parameter, to }]), { restriction, warm }),
    );
    if (again === undefined) return [];
    const effect = again === SPENT ? null : ownTerms(problem, again.objective - solution.objective);
    const change =
      again === SPENT
        ? 'was not solved: the work for explanations is spent'
        : changeSentence(problem, ownTerms(problem, solution.objective), ownTerms(problem, again.objective));
    const held = restriction === undefined || again === SPENT ? '' : ', with the same names held';
    const step = `${to > from ? 'Raising' : 'Lowering'} ${parameter} of ${origin.name} from ${valueText(origin, from)} to ${valueText(origin, to)}`;
    return [
      {
        id: origin.id,
        index: origin.index!, // a client's row
        type: origin.type,
        parameter,
        from,
        to,
        change: to - from,
        effect,
        shadowPrice: bound.isDependent ? (smallSlope(bound) ?? bound.shadowPrice) : bound.shadowPrice,
        sentence: `${step} ${change}${held}.`,
      },
    ];
  });

  function smallSlope({ origin, parameter, from, to }: Bound): number | undefined {
    const by = SMALL * (to - from);
    const near = { origin, parameter, to: from + by };
    return slopeTo(weighing, { problem: problem.withParameters([near]), solution }, by);
  }
}

/** Parameters behind the bounds that cost something, the dearest step first. */
function boundsOf(sides: readonly RowSide[], dependent: ReadonlySet<RowSide>): Bound[] {
  const bounds = new Map<string, Bound>();
  for (const each of sides) {
    const { placed, side, isBinding, shadowPrice } = each;
    const { origin, row } = placed;
    const limit = side === 'eq' ? null : limitOf(row, side);
    const parameter = limit?.parameter ?? null;
    if (!isBinding || shadowPrice === 0 || origin.index === null || limit === null || parameter === null) continue;
    const from = origin.params[parameter];
    // Names that a lower bound of zero keeps out are the next names.
    if (typeof from !== 'number' || (row.form === 'name' && side === 'lower' && from === 0)) continue;
    const key = `${origin.index} ${parameter}`;
    const price = shadowPrice * slopeOf(row, limit);
    const known = bounds.get(key);
    const outward = (side === 'upper' ? 1 : -1) * (limit.slope < 0 ? -1 : 1);
    const to = steppedTo(origin, { parameter, from, outward });
    if (to === undefined) continue;
    const isDependent = known?.isDependent === true || dependent.has(each);
    bounds.set(key, { origin, parameter, from, to, shadowPrice: price + (known?.shadowPrice ?? 0), isDependent });
  }
  const weight = ({ from, to, shadowPrice }: Bound) => Math.abs((to - from) * shadowPrice);
  return [...bounds.values()].toSorted((a, b) => weight(b) - weight(a)).slice(0, SENSITIVITIES_MAX);
}

function limitOf(row: ProgramRow, side: 'lower' | 'upper'): Limit | null {
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

/** Change of the bound that a shadow price is of, per unit of the parameter; a norm's is of the parameter already. */
function slopeOf(row: ProgramRow, limit: Limit): number {
  if (row.form === 'norm') return 1;
  return row.form === 'linear' && row.average !== undefined ? row.average.scale : limit.slope;
}

interface Stepping {
  readonly parameter: string;
  readonly from: number;
  readonly outward: number;
}

/** The value a step further out, undefined where the class does not accept it. */
function steppedTo({ type, unit, params }: Origin, { parameter, from, outward }: Stepping): number | undefined {
  const size = unit === 'value' && from !== 0 ? STEP.value * Math.abs(from) : STEP[unit];
  const to = Number((from + outward * size).toPrecision(12));
  const accepted = findConstraintClass(type)!.params.safeParse({ ...params, [parameter]: to }).success; // of a valid row
  return accepted ? to : undefined;
}

function valueText({ unit }: Origin, value: number): string {
  const rounded = (number: number) => String(Number(number.toPrecision(6)));
  return unit === 'fraction' ? `${rounded(100 * value)} %` : rounded(value);
}
