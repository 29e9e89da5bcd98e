import { FEASIBILITY_TOLERANCE, findLeastViolation } from '#kernels/optimisation/feasibility.js';
import { type Certificate, measureInfeasibility } from '#kernels/optimisation/program/optimality.js';
import { computeNormForce, type Program } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { type AssembledProgram, assembleProgram, type Assembly, createTangentPlanes } from './assembly.js';
import { checkTailLimits, type TailLimitState } from './convex-solve.js';
import { describeRow, type Origin, type Problem, type RowWithOrigin } from './problem.js';

/**
 * Proof that rows are infeasible. It consists of multipliers (`certificate`), or of one security with contradictory
 * bounds (`crossed`).
 */
export interface ConflictProof {
  readonly assembled: AssembledProgram;
  /** Returns true if a row is part of the proof. */
  readonly includes: (origin: Origin) => boolean;
  readonly certificate: Certificate | null;
  readonly crossed: number | null;
}

/** Set of conflicting rows, with the proof. */
export interface Conflict {
  readonly origins: readonly Origin[];
  readonly proof: ConflictProof;
}

export interface ConflictRow {
  readonly id: string;
  readonly index: number | null;
  readonly type: string;
  readonly label: string;
  /** Multiplier of the row in the proof. All multipliers sum to 1. */
  readonly multiplier: number;
}

/**
 * Finds a set of conflicting rows of which none can be removed. Returns null if no conflict can be proven.
 * @param includes selects the rows to consider. Default: all rows.
 * @param trying solver for the tests of single rows after the first proof. If it fails, the tested row remains in the
 *   set.
 * @cost a linear program per row, and the least average of each tail
 */
export function findConflict(
  solver: Solver,
  problem: Problem,
  { includes, trying = solver }: { readonly includes?: (origin: Origin) => boolean; readonly trying?: Solver } = {},
): Conflict | null {
  const proof = proveInfeasibility(solver, problem, { includes });
  return proof === null ? null : findIrreducibleSet(trying, problem, { origins: listOrigins(problem, proof), proof });
}

/** Returns a proof that the rows of an assembly are infeasible. Returns null if none is found. */
export function proveInfeasibility(solver: Solver, problem: Problem, assembly: Assembly): ConflictProof | null {
  return checkFeasibility(solver, problem, assembly).proof;
}

export interface FeasibilityCheck {
  readonly proof: ConflictProof | null;
  /** Weights that satisfy all rows, if the check found some: only for norm or tail rows. Otherwise null. */
  readonly weights: Float64Array | null;
}

/** Returns a proof that the rows of an assembly are infeasible, or weights that satisfy them. May find neither. */
export function checkFeasibility(solver: Solver, problem: Problem, assembly: Assembly): FeasibilityCheck {
  const { includes = () => true } = assembly;
  let tails: TailLimitState | undefined;
  for (let round = 0; round < PLANES_MAX; round++) {
    const assembledProgram = assembleProgram(problem, { ...assembly, withTracking: true });
    const { program } = assembledProgram;
    const crossedPosition = findCrossedBounds(program);
    if (crossedPosition !== null)
      return {
        proof: { assembled: assembledProgram, includes, certificate: null, crossed: crossedPosition },
        weights: null,
      };
    const { certificate, x, isReliable } = findLeastViolation(solver, program);
    if (certificate !== null)
      return { proof: { assembled: assembledProgram, includes, certificate, crossed: null }, weights: null };
    // A program that is feasible with the known planes may be infeasible with the tangent planes at its solution.
    if (createTangentPlanes(problem, assembly, x).length === 0)
      return { proof: null, weights: isReliable && program.norms.length > 0 ? x : null };
    if (tails === undefined) {
      tails = checkTailLimits(solver, problem, assembly);
      if (tails.weights !== undefined) return { proof: null, weights: tails.weights };
    } else if (!tails.isOpen || !isReliable) break;
  }
  return { proof: null, weights: null };
}

/** Maximum number of programs with added cutting planes for tails. */
const PLANES_MAX = 200;

/**
 * Returns the margin by which a proof holds in another assembly of the rows. If it is zero or less, the proof does not
 * hold there.
 */
export function computeGap({ certificate, crossed }: ConflictProof, { program }: AssembledProgram): number {
  if (crossed !== null)
    return program.lower.reduce((most, lower, i) => Math.max(most, lower - program.upper[i]!), -Infinity);
  return measureInfeasibility(program, certificate!); // a proof without crossed bounds has a certificate
}

/** Returns the security whose bounds contradict each other most. Returns null if there is none. */
function findCrossedBounds({ lower, upper, n }: Program): number | null {
  let result: number | null = null;
  let worstGap = FEASIBILITY_TOLERANCE;
  for (let i = 0; i < n; i++) {
    if (lower[i]! - upper[i]! <= worstGap) continue;
    worstGap = lower[i]! - upper[i]!;
    result = i;
  }
  return result;
}

/** Splits a proof by contradictory bounds into one proof per security. Returns any other proof unchanged. */
export function groupProofsBySecurity(proof: ConflictProof): readonly ConflictProof[] {
  const {
    crossed,
    assembled: { program },
  } = proof;
  if (crossed === null) return [proof];
  return Array.from(program.lower.keys()).flatMap((i) =>
    program.lower[i]! - program.upper[i]! > FEASIBILITY_TOLERANCE ? [{ ...proof, crossed: i }] : [],
  );
}

/**
 * Returns the margin as `computeGap` does. For a proof by contradictory bounds, it is only the margin of its security.
 */
export function computeRowGap(proof: ConflictProof, assembled: AssembledProgram): number {
  const { crossed } = proof;
  return crossed === null
    ? computeGap(proof, assembled)
    : assembled.program.lower[crossed]! - assembled.program.upper[crossed]!;
}

/** Fraction of the largest multiplier below which a row is not part of a proof. */
const FORCE_TOLERANCE = 1e-9;

/** Returns the rows that a proof uses, in row order. */
function listOrigins(problem: Problem, proof: ConflictProof): Origin[] {
  const strengths = computeRowStrengths(problem, proof);
  const largest = Math.max(...strengths.values());
  return problem.origins.filter((origin) => (strengths.get(origin) ?? 0) > FORCE_TOLERANCE * largest);
}

/** Returns the largest multiplier of each row in a proof, over its members and sides. */
function computeRowStrengths(problem: Problem, proof: ConflictProof): Map<Origin, number> {
  return new Map(
    [...listUses(problem, proof)].map(([origin, uses]) => [
      origin,
      Math.max(...uses.map(({ multiplier }) => multiplier)),
    ]),
  );
}

interface ProofRowUse {
  readonly placed: RowWithOrigin;
  readonly side: 'lower' | 'upper';
  readonly multiplier: number;
}

function listUses(
  problem: Problem,
  { assembled, includes, certificate, crossed }: ConflictProof,
): Map<Origin, ProofRowUse[]> {
  const uses = new Map<Origin, ProofRowUse[]>();
  const addUse = (rowWithOrigin: RowWithOrigin | undefined, side: ProofRowUse['side'], multiplier: number) => {
    if (rowWithOrigin === undefined || !(multiplier > 0)) return;
    const proofRowUses = uses.get(rowWithOrigin.origin);
    if (proofRowUses === undefined) uses.set(rowWithOrigin.origin, [{ placed: rowWithOrigin, side, multiplier }]);
    else proofRowUses.push({ placed: rowWithOrigin, side, multiplier });
  };
  const { program } = assembled;
  if (crossed !== null) {
    addUse(findBoundRow(crossed, 'lower'), 'lower', 1);
    addUse(findBoundRow(crossed, 'upper'), 'upper', 1);
    return uses;
  }
  const { rows, kinks, norms } = certificate!; // a proof without crossed bounds has a certificate
  rows.forEach((y, r) => addUse(assembled.linear[r], y > 0 ? 'upper' : 'lower', Math.abs(y)));
  kinks.forEach((price, k) => addUse(assembled.kinks[k], 'upper', price));
  norms.forEach((weight, q) => {
    const rowWithOrigin = assembled.norms[q];
    addUse(
      rowWithOrigin,
      rowWithOrigin?.row.form === 'norm' ? rowWithOrigin.row.side : 'upper',
      weight * (program.norms[q]?.radius ?? 0),
    );
  });
  const { forces, size } = computeForces(program, certificate!);
  for (let i = 0; i < program.n; i++) {
    // A weight bound balances the remaining force on a security.
    const down = computeSlopeNextTo(program, kinks, forces[i]!, i, 'lower');
    const up = computeSlopeNextTo(program, kinks, forces[i]!, i, 'upper');
    if (down > FORCE_TOLERANCE * size) addUse(findBoundRow(i, 'lower'), 'lower', down);
    if (up < -FORCE_TOLERANCE * size) addUse(findBoundRow(i, 'upper'), 'upper', -up);
  }
  return uses;

  function findBoundRow(i: number, side: 'lower' | 'upper'): RowWithOrigin | undefined {
    const bound = program[side][i]!;
    if (!Number.isFinite(bound)) return undefined;
    return problem.rows.find(
      ({ row, origin }) =>
        row.form === 'name' &&
        row.name === i &&
        origin.soft === null &&
        includes(origin) &&
        Math.abs((row[side]?.value ?? Infinity) - bound) <= 1e-15 * (1 + Math.abs(bound)),
    );
  }
}

/**
 * Returns the net force of a proof's rows and norms on each security. Also returns the magnitude of the largest single
 * force.
 */
function computeForces(
  program: Program,
  { rows, kinks, norms, around }: Certificate,
): { forces: Float64Array; size: number } {
  const { n } = program;
  const forces = new Float64Array(n);
  let size = 0;
  const addForces = (multiplier: number, values: ArrayLike<number>, from: number) => {
    for (let i = 0; i < n; i++) {
      const term = multiplier * values[from + i]!;
      forces[i]! += term;
      size = Math.max(size, Math.abs(term));
    }
  };
  for (let r = 0; r < program.rows.count; r++)
    if (rows[r] !== 0 && !Number.isFinite(program.rows.penalty[r]!))
      addForces(rows[r]!, program.rows.coefficients, r * n);
  program.norms.forEach((norm, q) => {
    if (norms[q] === 0) return;
    const offset = around.map((value, i) => value - norm.centre[i]!);
    addForces(norms[q]!, computeNormForce(program, norm, offset, new Float64Array(n)), 0);
  });
  for (const price of kinks) size = Math.max(size, price);
  return { forces, size };
}

/** Returns the slope of a proof's sum just outside a weight bound, including kinks. */
function computeSlopeNextTo(
  { lower, upper, kinks }: Program,
  prices: Float64Array,
  force: number,
  i: number,
  side: 'lower' | 'upper',
): number {
  return kinks.reduce((total, { at, left, right }, k) => {
    const isRight = side === 'lower' ? lower[i]! > at[i]! : upper[i]! >= at[i]!;
    return total + Math.max(prices[k]!, 0) * (isRight ? right[i]! : left[i]!);
  }, force);
}

/** Removes rows one by one while the remaining rows still conflict. */
function findIrreducibleSet(solver: Solver, problem: Problem, start: Conflict): Conflict {
  let { origins, proof } = start;
  for (const origin of start.origins) {
    if (!origins.includes(origin)) continue;
    const otherOrigins = new Set(origins.filter((otherOrigin) => otherOrigin !== origin));
    const certificateWithout = proveInfeasibility(solver, problem, {
      includes: (otherOrigin) => otherOrigins.has(otherOrigin),
    });
    if (certificateWithout === null) continue;
    const usedOrigins = new Set(listOrigins(problem, certificateWithout));
    origins = origins.filter((otherOrigin) => usedOrigins.has(otherOrigin));
    proof = certificateWithout;
  }
  const retainedOrigins = new Set(origins);
  const finalProof = proveInfeasibility(solver, problem, { includes: (origin) => retainedOrigins.has(origin) });
  return { origins, proof: finalProof ?? proof };
}

export function listConflictRows(problem: Problem, { origins, proof }: Conflict): ConflictRow[] {
  const uses = listUses(problem, proof);
  const strengths = origins.map((origin) =>
    Math.max(0, ...(uses.get(origin) ?? []).map(({ multiplier }) => multiplier)),
  );
  const total = strengths.reduce((sum, value) => sum + value, 0);
  return origins.map((origin, k) => ({
    id: origin.id,
    index: origin.index,
    type: origin.type,
    label: formatConflictLabel(origin, uses.get(origin) ?? []),
    multiplier: total > 0 ? strengths[k]! / total : 1 / origins.length,
  }));
}

/**
 * Returns the label of a row in a conflict with its strongest side. The label contains the member if the proof uses
 * only one.
 */
function formatConflictLabel(origin: Origin, uses: readonly ProofRowUse[]): string {
  const strongestUse = uses.toSorted((a, b) => b.multiplier - a.multiplier)[0];
  if (strongestUse === undefined) return origin.name;
  const side = origin.kind === 'eq' ? 'eq' : strongestUse.side;
  if (uses.length === 1) return describeRow(strongestUse.placed, side);
  return `${origin.name}:${side}`;
}
