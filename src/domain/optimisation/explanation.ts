import type { Engine } from '#kernels/engines/engine.js';
import { computeMetricDiagonal } from '#kernels/optimisation/program/metric.js';
import { computeNormForce } from '#kernels/optimisation/program/program.js';
import type { Finding } from '../base/findings.js';
import { type Composer, findCompositionInForce as inForceBefore, restoreDataDate } from '../books/compositions.js';
import { createIndexWeights } from '../books/rebalance.js';
import { describeExpression } from '../datapoints/expression-text.js';
import {
  explainConstituent,
  type ExplainedDatapoint,
  type Explanation,
  findComposition,
  findHolding,
  type Holding,
  type SecurityQuestion,
} from '../decide/explanation.js';
import { createIndexCrossSections } from '../decide/rule-decider.js';
import type { NormRow } from '../definition/constraint-class.js';
import { listReadFields } from '../definition/field-uses.js';
import { isDerivedDocument, readDefinitions } from '../definition/index-document.js';
import { readObjectiveType } from '../definition/optimisation.js';
import {
  createDerivedSolver,
  type DerivedSolve,
  findDecision,
  findTarget,
  listFindings,
  listHeldWeights,
  refuseInfeasible,
} from './derived-index.js';
import { applyMetric, type Problem, type RowWithOrigin } from './problem.js';
import { listRowSides, type RowSide } from './report.js';
import type { Solution } from './search.js';

/** Explanation of one weight of a derived index: weight in the parent, and the optimisation that changed it. */
export interface DerivedExplanation extends Holding {
  /**
   * True if the security may be held. This is the case if it is in the parent, or in the universe if the universe
   * provides the candidates.
   */
  readonly inUniverse: boolean;
  /** Datapoints of the security that constraint rows read. */
  readonly datapoints: readonly ExplainedDatapoint[];
  readonly sourceIndexId: string;
  readonly objective: string;
  /** Explanation of the weight in the parent, on the effective date of the optimised composition. */
  readonly source: SecurityExplanation;
  /** Solver state of the security; null if it is not a candidate. */
  readonly solve: SecuritySolve | null;
  readonly findings: readonly Finding[];
}

export type SecurityExplanation = Explanation | DerivedExplanation;

export function isDerivedExplanation(explanation: SecurityExplanation): explanation is DerivedExplanation {
  return 'source' in explanation;
}

/**
 * State of one security in the solution. Its weight is in equilibrium between the forces on it, or a bound or kink
 * holds it. free = centre - (pull + force) / stiffness; solved = min(upper, max(lower, free)), or the position of the
 * kink that holds the weight.
 */
export interface SecuritySolve {
  readonly sourceWeight: number;
  /** Sides of the rows that involve the security, in row order. */
  readonly rows: readonly SecurityRowSide[];
  /** Effective bounds on the weight, including bounds from a choice of securities. */
  readonly lower: number;
  readonly upper: number;
  /**
   * Reference weight of the objective. It is the parent weight for the tracking error, and zero for other objectives.
   */
  readonly centre: number;
  /**
   * Second derivative of the objective with respect to the weight. For the tracking error it is twice the variance of
   * the security, plus a small term that makes the solution unique.
   */
  readonly stiffness: number;
  /**
   * Derivative of the objective that comes from the other securities and from its linear term. For the tracking error
   * it is twice the sum of the covariances, each times the active weight of the other security.
   */
  readonly pull: number;
  /** Sum of the forces of all rows, and of the choice of securities. */
  readonly force: number;
  /** Equilibrium weight without bounds; null if the objective has no curvature in the weight. */
  readonly free: number | null;
  readonly heldBy: 'free' | 'lower' | 'upper' | 'fixed' | 'kink';
  /** Bound or kink that holds the weight; null in equilibrium. */
  readonly heldAt: number | null;
  /** Solved weight before the removal of weights that are zero up to rounding. */
  readonly solved: number;
  /**
   * Factor by which the other weights were scaled when weights that are only rounding were removed. 1 if nothing was
   * removed.
   */
  readonly scale: number;
}

export interface SecurityRowSide {
  readonly side: RowSide;
  /** Change of the row's value per unit of the weight; null if the row has none. */
  readonly coefficient: number | null;
  /** Derivative that the row adds to the objective, with respect to the weight. */
  readonly force: number;
}

/**
 * Explains the weight of one security in the composition in force on a day, by selection and weighting rules or by the
 * optimisation.
 * @throws Refusal NO_DATA_AT_DATE before the first rebalance, and refusals of running the definition
 * @cost of running the definition and its parents up to the day
 */
export function explainWeight(
  composer: Composer,
  indexId: string,
  question: SecurityQuestion & { readonly engine: Engine },
): SecurityExplanation {
  const document = composer.document(indexId);
  if (!isDerivedDocument(document)) return explainConstituent(composer, indexId, question);
  const { column, engine } = question;
  const inForce = findComposition(composer, indexId, question.asOf);
  const { composition, before } = inForce;
  const { source_index_id: sourceIndexId, objective } = document.derivation;
  const parents = composer.compositions(sourceIndexId);
  const parent = findDecision(parents.list, composition.decision);
  if (parent === undefined)
    throw new Error(`the index ${indexId} holds weights that its parent ${sourceIndexId} never had`);
  const solver = createDerivedSolver({ document, composer, engine });
  const { decision } = composition;
  const previous = before.findLast((earlier) => earlier.decision < decision) ?? null;
  const heldBefore = inForceBefore(before, composition.session - 1);
  const outgoingComposition = heldBefore === undefined ? null : { ...heldBefore, effective: composition.session };
  const target = findTarget(restoreDataDate(parent, decision), decision, parents.sm);
  const solve = solver.solve(target, { previous, outgoing: outgoingComposition });
  if (solve.outcome.kind !== 'solved') throw refuseInfeasible(solver.solvers, solve);
  const source = explainWeight(composer, sourceIndexId, { ...question, asOf: parents.sm.sessions[parent.session]! });
  const position = solve.columns.indexOf(column);
  return {
    ...findHolding(inForce, column, listHeldWeights(solve)),
    inUniverse: position >= 0,
    datapoints:
      position < 0
        ? []
        : listReadDatapoints({
            composer,
            indexId,
            column,
            session: decision,
            reads: listReadFields(document.derivation, composer.market(indexId).identifiers),
          }),
    sourceIndexId,
    objective: readObjectiveType(objective),
    source,
    solve: position < 0 ? null : explainSecurity(solve, solve.outcome.solution, position),
    findings: listFindings(solve, composer.market(sourceIndexId)),
  };
}

interface ReadFieldsInput {
  readonly composer: Composer;
  readonly indexId: string;
  readonly column: number;
  readonly session: number;
  readonly reads: ReturnType<typeof listReadFields>;
}

function listReadDatapoints({ composer, indexId, column, session, reads }: ReadFieldsInput): ExplainedDatapoint[] {
  const market = composer.market(indexId);
  const document = composer.document(indexId);
  const { currency } = document;
  const indexWeights = createIndexWeights(composer, indexId);
  const columns = Int32Array.of(column);
  const cross = createIndexCrossSections({
    market,
    treatment: composer.treatment(indexId),
    currency,
    datapoints: readDefinitions(document),
  })
    .at(session, columns)
    .given({ incumbents: null, indexWeights: (id, basis) => indexWeights(id, session, basis) });
  return reads.map(({ path, use: { field } }) => ({
    path,
    field: describeExpression(field),
    value: cross.values(field, columns)[0]!,
    read: cross.read(field, column),
  }));
}

/** Distance below which a weight counts as at a bound or kink, relative to 1 + |bound|. */
const CONTACT_TOLERANCE = 1e-9;

function isAtBound(value: number, bound: number): boolean {
  return Number.isFinite(bound) && Math.abs(value - bound) <= CONTACT_TOLERANCE * (1 + Math.abs(bound));
}

function explainSecurity({ problem }: DerivedSolve, solution: Solution, i: number): SecuritySolve {
  const { program } = solution.assembled;
  const { metric, curvature, centre } = program;
  const { x } = solution.answer.point;
  const xi = x[i]!;
  const otherWeights = x.map((value, j) => (j === i ? 0 : value - centre[j]!));
  const units = solution.priceScale;
  const pull = units * (curvature * applyMetric(metric!, otherWeights)[i]! + program.linear[i]!); // a solved program has a metric
  const stiffness = units * (curvature * computeMetricDiagonal(metric!)[i]! + program.ridge);
  const forces = listForces(solution, i);
  const force = forces.reduce((sum, entry) => sum + entry.force, 0);
  const [lower, upper] = [program.lower[i]!, program.upper[i]!];
  const kink = program.kinks.find(({ at, left, right }) => left[i] !== right[i] && isAtBound(xi, at[i]!))?.at[i];
  const bindingSide =
    lower === upper
      ? 'fixed'
      : isAtBound(xi, lower)
        ? 'lower'
        : isAtBound(xi, upper)
          ? 'upper'
          : kink !== undefined
            ? 'kink'
            : 'free';
  const weight = solution.weights[i]!;
  return {
    sourceWeight: problem.index[i]!,
    rows: listRowSides(problem, solution).flatMap((side) => listSideOfRow({ problem, solution, i, forces }, side)),
    lower,
    upper,
    stiffness,
    pull,
    force,
    centre: centre[i]!,
    free: stiffness > 0 ? centre[i]! - (pull + force) / stiffness : null,
    heldBy: bindingSide,
    heldAt: { free: null, lower, upper, fixed: lower, kink: kink ?? null }[bindingSide],
    solved: xi,
    scale: weight === 0 ? 1 : weight / xi,
  };
}

interface Force {
  /** Row that exerts the force; undefined for a choice of securities. */
  readonly placed: RowWithOrigin | undefined;
  /** Side of the row that exerts the force. */
  readonly side: 'lower' | 'upper';
  readonly force: number;
}

/**
 * Returns the contribution of each part of the program to the derivative of the objective with respect to one weight.
 */
function listForces({ assembled, answer, priceScale }: Solution, i: number): Force[] {
  const { program, linear, kinks, norms } = assembled;
  const { x, rowMultipliers, kinkMultipliers, normMultipliers } = answer.point;
  const { n, rows } = program;
  const rowForces = linear.map((rowWithOrigin, r): Force => ({
    placed: rowWithOrigin,
    side: rowMultipliers[r]! > 0 ? 'upper' : 'lower',
    force: priceScale * rowMultipliers[r]! * rows.coefficients[r * n + i]!,
  }));
  // A kink sum with a limit is an upper bound. A kink sum with a penalty is a soft lower bound if its left side has a
  // slope.
  const kinkForces = program.kinks.map(({ at, left, right, limit }, k): Force => {
    const side = limit === null && left[i] !== 0 ? 'lower' : 'upper';
    return {
      placed: kinks[k],
      side,
      force: priceScale * kinkMultipliers[k]! * (x[i]! > at[i]! ? right[i]! : left[i]!),
    };
  });
  const normForces = program.norms.map((norm, q): Force => {
    const offset = x.map((value, j) => value - norm.centre[j]!);
    const slope = computeNormForce(program, norm, offset, new Float64Array(n))[i]!;
    return { placed: norms[q], side: (norms[q]!.row as NormRow).side, force: priceScale * normMultipliers[q]! * slope }; // norms of the program come from norm rows
  });
  return [...rowForces, ...kinkForces, ...normForces].filter(({ force }) => force !== 0);
}

interface SideInput {
  readonly problem: Problem;
  readonly solution: Solution;
  /** Position of the security. */
  readonly i: number;
  readonly forces: readonly Force[];
}

/** Returns one side of a row for a security that the row involves. Returns an empty list for other securities. */
function listSideOfRow({ problem, solution, i, forces }: SideInput, side: RowSide): SecurityRowSide[] {
  const { row, origin } = side.placed;
  const { weights } = solution;
  const sumForces = (isOfRow: (placed: RowWithOrigin | undefined) => boolean): number =>
    forces.reduce(
      (total, force) =>
        isOfRow(force.placed) && (side.side === 'eq' || force.side === side.side) ? total + force.force : total,
      0,
    );
  switch (row.form) {
    case 'name': {
      if (row.name !== i) return [];
      // Soft bounds on one side of a row form one sum over securities. The force here is only that on this security.
      const force = origin.soft === null ? 0 : sumForces((rowWithOrigin) => rowWithOrigin?.origin === origin);
      return [{ side, coefficient: 1, force }];
    }
    case 'linear': {
      const force = sumForces((rowWithOrigin) => rowWithOrigin === side.placed);
      if (row.average === undefined)
        return row.coefficients[i] === 0 ? [] : [{ side, coefficient: row.coefficients[i]!, force }];
      const { numerator, denominator } = row.average;
      const investedWeight = denominator.reduce((total, value, j) => total + value * weights[j]!, 0);
      if (numerator[i] === 0 && denominator[i] === 0) return [];
      return [
        {
          side,
          coefficient: investedWeight === 0 ? null : (numerator[i]! - side.value * denominator[i]!) / investedWeight,
          force,
        },
      ];
    }
    case 'distance': {
      const step = weights[i]! - row.reference[i]!;
      return [
        {
          side,
          coefficient: step === 0 ? null : Math.sign(step) * row.scale,
          force: sumForces((rowWithOrigin) => rowWithOrigin === side.placed),
        },
      ];
    }
    case 'norm': {
      const force = sumForces((rowWithOrigin) => rowWithOrigin === side.placed);
      if (row.side === 'lower' || side.value === 0) return [{ side, coefficient: null, force }];
      const offset = weights.map((value, j) => value - (row.centre?.[j] ?? 0));
      const slope = row.metric === 'covariance' ? applyMetric(problem.metric, offset)[i]! : offset[i]!;
      return [{ side, coefficient: slope / side.value, force }];
    }
    case 'tail':
      return [{ side, coefficient: null, force: sumForces((rowWithOrigin) => rowWithOrigin === side.placed) }];
    case 'count':
      return row.members.includes(i) ? [{ side, coefficient: null, force: 0 }] : [];
    case 'threshold':
    case 'concentration':
      return [{ side, coefficient: null, force: 0 }];
  }
}
