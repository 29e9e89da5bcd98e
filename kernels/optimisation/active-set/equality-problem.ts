import {
  type FourColumns,
  solveBackward,
  solveForward,
  solveForwardFour,
  solveForwardOfFour,
} from '../factors/algebra.js';
import type { Curvature } from '../factors/curvature.js';
import { factorSemidefinite, solveFactored } from '../factors/schur.js';
import {
  type ActiveState,
  FREE,
  IDLE,
  type Iterate,
  LOWER,
  OVER,
  PINNED,
  UNDER,
  UPPER,
} from '../program/active-state.js';
import { computeMetricTrace, createSparseRows, multiplyMetric } from '../program/metric.js';
import {
  computeNormForce,
  createLagrangianCurvature,
  type LagrangianCurvature,
  type Program,
  sumKinks,
} from '../program/program.js';

export interface Work {
  readonly free: Int32Array;
  freeCount: number;
  /** Indices of the active constraints of the equality problem: rows first, then kinks, then norms. */
  readonly active: Int32Array;
  activeCount: number;
  readonly diagonal: Float64Array;
  readonly offset: Float64Array;
  readonly product: Float64Array;
  readonly gradient: Float64Array;
  /** P (x - centre) at the point `forcedAt`. */
  readonly force: Float64Array;
  readonly forcedAt: Float64Array;
  hasForce: boolean;
  gradientScale: number;
  /** Minimum of `gradientScale`: the force of a move of a variable by 0.001 at the mean curvature. */
  readonly leastForce: number;
  readonly meanCurvature: number;
  readonly step: Float64Array;
  readonly change: Float64Array;
}

export function createActiveSetWork(program: Program): Work {
  const { n, rows, kinks, norms } = program;
  const count = rows.count + kinks.length + norms.length;
  const mean = computeMeanCurvature(program);
  return {
    free: new Int32Array(n),
    freeCount: 0,
    active: new Int32Array(count),
    activeCount: 0,
    diagonal: new Float64Array(n),
    offset: new Float64Array(n),
    product: new Float64Array(n),
    gradient: new Float64Array(n),
    force: new Float64Array(n),
    forcedAt: new Float64Array(n),
    hasForce: false,
    gradientScale: 0,
    leastForce: 1e-3 * mean,
    meanCurvature: mean > 0 ? mean : 1,
    step: new Float64Array(n),
    change: new Float64Array(count),
  };
}

export function computeMeanCurvature({ n, metric, curvature, ridge }: Program): number {
  if (metric === null || curvature === 0) return ridge;
  return ridge + (curvature * computeMetricTrace(metric)) / Math.max(n, 1);
}

/** Computes the gradient of the Lagrangian at the iterate, with the slopes of kinks on the sides of the state. */
function computeGradient(program: Program, state: ActiveState, iterate: Iterate, work: Work): void {
  const { n, metric, curvature, ridge, centre, linear, rows, kinks, norms } = program;
  const { x, rowMultipliers, kinkMultipliers, normMultipliers } = iterate;
  const { gradient, offset, product } = work;
  let largest = work.leastForce;
  const force = metric !== null && curvature !== 0 ? computeForce(program, x, work) : undefined;
  for (let i = 0; i < n; i++)
    gradient[i] = (force === undefined ? 0 : curvature * force[i]!) + ridge * (x[i]! - centre[i]!) + linear[i]!;
  for (let i = 0; i < n; i++) largest = Math.max(largest, Math.abs(gradient[i]!), Math.abs(linear[i]!));
  for (let r = 0; r < rows.count; r++) {
    const y = rowMultipliers[r]!;
    if (y === 0) continue;
    const from = r * n;
    for (let i = 0; i < n; i++) {
      const term = y * rows.coefficients[from + i]!;
      if (Math.abs(term) > largest) largest = Math.abs(term);
      gradient[i]! += term;
    }
  }
  for (let k = 0; k < kinks.length; k++) {
    const multiplier = kinkMultipliers[k]!;
    if (multiplier === 0) continue;
    for (let i = 0; i < n; i++) gradient[i]! += multiplier * computeSlope(program, state, k, i);
  }
  for (let q = 0; q < norms.length; q++) {
    const multiplier = normMultipliers[q]!;
    if (multiplier === 0) continue;
    const norm = norms[q]!;
    for (let i = 0; i < n; i++) offset[i] = x[i]! - norm.centre[i]!;
    const from = computeNormForce(program, norm, offset, product);
    for (let i = 0; i < n; i++) gradient[i]! += multiplier * from[i]!;
  }
  work.gradientScale = largest;
}

/** Computes C (x - centre), where C is the covariance. If few weights changed, it updates the previous product. */
function computeForce({ n, metric, centre }: Program, x: Float64Array, work: Work): Float64Array {
  const { offset, product, force, forcedAt } = work;
  let movedCount = work.hasForce ? 0 : n;
  for (let i = 0; i < n && movedCount < n / 2; i++) if (x[i] !== forcedAt[i]) movedCount++;
  if (movedCount < n / 2) {
    for (let i = 0; i < n; i++) offset[i] = x[i]! - forcedAt[i]!;
    multiplyMetric(metric!, offset, product);
    for (let i = 0; i < n; i++) force[i]! += product[i]!;
  } else {
    for (let i = 0; i < n; i++) offset[i] = x[i]! - centre[i]!;
    multiplyMetric(metric!, offset, force);
  }
  work.hasForce = true;
  for (let i = 0; i < n; i++) forcedAt[i] = x[i]!;
  return force;
}

/** Returns the slope of kink k at security i on its side; 0 for a security pinned to the kink. */
export function computeSlope({ n, kinks }: Program, state: ActiveState, k: number, i: number): number {
  const { at, left, right } = kinks[k]!;
  const side = state.names[i]!;
  if (side >= PINNED && kinks[side - PINNED]!.at[i] === at[i]) return 0;
  return state.sides[k * n + i] === -1 ? left[i]! : right[i]!;
}

/**
 * Returns the bound of an active row or kink less its value. For a norm, returns half the difference of the squares.
 */
export function computeShortfall(
  program: Program,
  state: ActiveState,
  { x }: Iterate,
  row: number,
  work: Work,
): number {
  const { n, rows, kinks, norms } = program;
  if (row < rows.count) {
    const bound = state.rows[row] === LOWER ? rows.lower[row]! : rows.upper[row]!;
    return bound - computeRowValue(rows.coefficients, row * n, x);
  }
  if (row < rows.count + kinks.length) {
    const kink = kinks[row - rows.count]!;
    return kink.limit! - sumKinks(kink, x);
  }
  const norm = norms[row - rows.count - kinks.length]!;
  const { offset, product } = work;
  for (let i = 0; i < n; i++) offset[i] = x[i]! - norm.centre[i]!;
  const from = computeNormForce(program, norm, offset, product);
  let square = 0;
  for (let i = 0; i < n; i++) square += offset[i]! * from[i]!;
  return (norm.radius * norm.radius - square) / 2;
}

export function computeRowValue(coefficients: Float64Array, from: number, x: Float64Array): number {
  let total = 0;
  for (let i = 0; i < x.length; i++) total += coefficients[from + i]! * x[i]!;
  return total;
}

interface ColumnSource {
  /** Returns true if the column of a key has changed since the last call. */
  readonly isNew: (key: number) => boolean;
  /** Writes the column of a key, [n]; returns the position of its first nonzero entry. */
  readonly write: (key: number, out: Float64Array) => number;
}

/** Columns L^-1 c and their mutual products. They are cached as long as the factor L is valid. */
export interface HalfColumns {
  /** Discards all columns and sets the factor. @param l [n x n], lower triangular, row-major */
  begin(l: Float64Array, n: number): void;
  /**
   * Computes the columns of some keys unless they are cached and unchanged. @cost (n - first)^2 / 2 per column that is
   * not cached, and its products
   */
  want(keys: readonly number[], source: ColumnSource): void;
  /** Writes the products of the current columns, lower triangle of [count x count]. */
  products(out: Float64Array): void;
  /** Computes out[a] = (column a)'x. */
  times(x: Float64Array, out: Float64Array): void;
  subtract(weights: Float64Array, x: Float64Array): void;
}

/** Creates an empty cache of columns. @param most  maximum length of a column */
function createHalfColumns(most: number): HalfColumns {
  const columns: Float64Array[] = [];
  const firsts: number[] = [];
  const slots = new Map<number, number>();
  /** Products of each cached column with itself and with the columns before it in the cache. */
  const products: Float64Array[] = [];
  const zeroColumn = new Float64Array(most);
  let presentSlots: number[] = [];
  let triangle: Float64Array = new Float64Array(0);
  let n = 0;

  function findSlot(key: number): number {
    const slot = slots.size;
    slots.set(key, slot);
    if (columns.length === slot) {
      columns.push(new Float64Array(most));
      products.push(new Float64Array(slot + 1));
      firsts.push(0);
    }
    return slot;
  }

  /** Computes the products of a cached column with up to four cached columns. */
  function setProducts(slot: number, others: readonly number[]): void {
    const column = columns[slot]!;
    const [a, b, c, d] = selectFour(others);
    let [ra, rb, rc, rd] = [0, 0, 0, 0];
    for (let p = firsts[slot]!; p < n; p++) {
      const value = column[p]!;
      ra += value * a[p]!;
      rb += value * b[p]!;
      rc += value * c[p]!;
      rd += value * d[p]!;
    }
    [ra, rb, rc, rd].forEach((value, s) => {
      const otherSlot = others[s];
      if (otherSlot !== undefined) products[Math.max(slot, otherSlot)]![Math.min(slot, otherSlot)] = value;
    });
  }

  /** Returns up to four cached columns, and columns of zeros in place of missing ones. */
  function selectFour(some: readonly number[]): FourColumns {
    const [a, b, c, d] = some;
    const getColumn = (slot: number | undefined) => (slot === undefined ? zeroColumn : columns[slot]!);
    return [getColumn(a), getColumn(b), getColumn(c), getColumn(d)];
  }

  return {
    begin(l, order) {
      triangle = l;
      n = order;
      slots.clear();
      presentSlots = [];
    },
    want(keys, { isNew, write }) {
      const newSlots: number[] = [];
      presentSlots = keys.map((key) => {
        const earlierSlot = slots.get(key);
        if (earlierSlot !== undefined && !isNew(key)) return earlierSlot;
        const slot = earlierSlot ?? findSlot(key);
        firsts[slot] = write(key, columns[slot]!);
        newSlots.push(slot);
        return slot;
      });
      const inTurn = newSlots.toSorted((a, b) => firsts[a]! - firsts[b]! || a - b);
      for (let position = 0; position < inTurn.length; position += 4) {
        const slotGroup = inTurn.slice(position, position + 4);
        const shape = { n, from: firsts[slotGroup[0]!]! };
        if (slotGroup.length === 1) solveForwardOfFour(triangle, columns[slotGroup[0]!]!, shape);
        else solveForwardFour(triangle, selectFour(slotGroup), shape);
      }
      const isMade = new Set(newSlots);
      for (const slot of newSlots) {
        const otherSlots = Array.from({ length: slots.size }, (_, other) => other).filter(
          (other) => !isMade.has(other) || other <= slot,
        );
        for (let position = 0; position < otherSlots.length; position += 4)
          setProducts(slot, otherSlots.slice(position, position + 4));
      }
    },
    products(out) {
      const count = presentSlots.length;
      for (let a = 0; a < count; a++) {
        const slot = presentSlots[a]!;
        for (let b = 0; b <= a; b++) {
          const otherSlot = presentSlots[b]!;
          out[a * count + b] = slot < otherSlot ? products[otherSlot]![slot]! : products[slot]![otherSlot]!;
        }
      }
    },
    times(x, out) {
      presentSlots.forEach((slot, a) => {
        const column = columns[slot]!;
        let total = 0;
        for (let p = firsts[slot]!; p < n; p++) total += column[p]! * x[p]!;
        out[a] = total;
      });
    },
    subtract(weights, x) {
      presentSlots.forEach((slot, a) => {
        const column = columns[slot]!;
        const weight = weights[a]!;
        if (weight !== 0) for (let p = firsts[slot]!; p < n; p++) x[p]! -= weight * column[p]!;
      });
    },
  };
}

/** Factor of the curvature on a set of variables. It can be used as long as few of these variables have been fixed. */
interface FactoredVariables {
  readonly curvature: Curvature;
  /** Variables fixed since the factorisation, by position in the factor. */
  readonly heldPlaces: readonly number[];
  /** Variables of the factor; only the first `count()` entries are valid. */
  readonly names: Int32Array;
  count(): number;
  /** Returns true if the free variables of the workspace are almost all of the factored variables. */
  serves(): boolean;
  /**
   * Factors the curvature on the free variables of the workspace.
   * @returns  true if it is positive definite on them
   */
  begin(curvature: LagrangianCurvature): boolean;
  /** Returns true if the factor is a complete triangle, as the columns require. */
  isWhole(): boolean;
  /** Discards the factor, so that it is not used for later states. */
  forget(): void;
  /** Computes the products of the columns L^-1 c of some keys, lower triangle of [count x count]. */
  products(keys: readonly number[], source: ColumnSource, out: Float64Array): void;
  /**
   * Solves with the factor and the columns of the last products.
   * @param step     Right-hand sides of the free variables, [F]; overwritten with their steps.
   * @param change   Distances of the fixed variables and active constraints from their bounds, [held + m]; overwritten
   *                 with the steps of their multipliers.
   * @param schur    Factor of the matrix of products.
   * @param skipped  1 for linearly dependent columns, [held + m].
   */
  solve(step: Float64Array, change: Float64Array, schur: Float64Array, skipped: Uint8Array): void;
}

/**
 * Maximum fraction of the factored variables that may be fixed. Above it, a new factorisation of the free variables is
 * cheaper.
 */
const FIXED_FRACTION_MAX = 0.1;

/**
 * Minimum ratio of the smallest to the largest squared pivot. Below it, fixing a variable subtracts large numbers with
 * a small difference.
 */
const PIVOT_MIN = 1e-5;

/** Returns true if a factor is accurate enough to solve for other sets of variables. @param l  [n x n] */
function isWellConditioned(l: Float64Array, n: number): boolean {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (let i = 0; i < n; i++) {
    const pivot = l[i * n + i]! ** 2;
    least = Math.min(least, pivot);
    most = Math.max(most, pivot);
  }
  return least > PIVOT_MIN * most;
}

function createFactoredVariables(curvature: Curvature, work: Work): FactoredVariables {
  const n = work.free.length;
  const names = new Int32Array(n);
  const places = new Int32Array(n);
  const right = new Float64Array(n);
  const heldPlaces: number[] = [];
  const halves = createHalfColumns(n);
  let projection = new Float64Array(0);
  let triangle: Float64Array | undefined;
  let order = 0;
  let isKept = false;

  return {
    curvature,
    heldPlaces,
    names,
    count: () => order,
    serves() {
      const { free, freeCount } = work;
      if (!isKept || triangle === undefined || freeCount > order || freeCount < (1 - FIXED_FRACTION_MAX) * order)
        return false;
      heldPlaces.length = 0;
      let p = 0;
      for (let place = 0; place < order; place++) {
        if (p < freeCount && free[p] === names[place]) p++;
        else heldPlaces.push(place);
      }
      return p === freeCount;
    },
    begin({ metric, scale, ridge }) {
      const { diagonal, free, freeCount } = work;
      heldPlaces.length = 0;
      diagonal.fill(ridge);
      order = freeCount;
      const isDefinite = curvature.factor(metric, scale, diagonal, free, freeCount);
      triangle = isDefinite ? curvature.triangle() : undefined;
      isKept = triangle !== undefined && isWellConditioned(triangle, order);
      if (triangle === undefined) return isDefinite;
      for (let p = 0; p < order; p++) {
        names[p] = free[p]!;
        places[names[p]!] = p;
      }
      halves.begin(triangle, order);
      return true;
    },
    isWhole: () => triangle !== undefined,
    forget() {
      isKept = false;
    },
    products(keys, source, out) {
      halves.want(keys, source);
      halves.products(out);
    },
    solve(step, change, schur, skipped) {
      const { free, freeCount } = work;
      const count = change.length;
      if (projection.length < count) projection = new Float64Array(count);
      const shape = { n: order, stride: order };
      // The right-hand side of a fixed variable belongs to its multiplier.
      right.fill(0, 0, order);
      for (let p = 0; p < freeCount; p++) right[places[free[p]!]!] = step[p]!;
      solveForward(triangle!, right, shape); // A usable factor is a complete triangle.
      halves.times(right, projection);
      for (let a = 0; a < count; a++) change[a] = projection[a]! - change[a]!;
      solveFactored(schur, count, change, skipped);
      halves.subtract(change, right);
      solveBackward(triangle!, right, shape);
      for (let p = 0; p < freeCount; p++) step[p] = right[places[free[p]!]!]!;
    },
  };
}

/**
 * Curvatures of two sets of securities: the set that was factored first, and the last set. Later states may return to
 * the first set.
 */
export type Curvatures = readonly [Curvature, Curvature];

/**
 * Linear equations of an equality problem: free variables with their curvature, and active rows with their gradients.
 */
export interface EqualitySystem {
  /**
   * Factors the equations of the free variables and active rows in the workspace.
   * @param proximal  Fraction of the mean curvature that is added to the curvature of each variable.
   * @returns         True if the curvature is positive definite on the free variables.
   * @cost            |F|^3 / 6 for |F| free variables; |F|^2 / 6 per variable that is no longer free if most of the
   *                  previously factored variables are still free.
   */
  factor(state: ActiveState, iterate: Iterate, proximal: number): boolean;
  /**
   * Computes the steps of variables and multipliers in place, from the gradient of the free variables (`step`, [F]) and
   * the distance of active rows from their bounds (`change`, [m]).
   * @cost |F|^2 + m |F|
   */
  solve(step: Float64Array, change: Float64Array): void;
}

/** Minimum number of active rows for which kernels compute their columns, with a separate factor for each state. */
const MANY_ROWS = 240;

/**
 * Creates the equations of a program.
 * @source  Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 16.2: the range-space method. A variable
 *          that is no longer free is an additional row of the existing factor.
 */
export function createEqualitySystem(program: Program, curvatures: Curvatures, work: Work): EqualitySystem {
  const { rows, kinks, norms } = program;
  const firstName = rows.count + kinks.length + norms.length;
  const first = createFactoredVariables(curvatures[0], work);
  const last = createFactoredVariables(curvatures[1], work);
  let currentFactor: FactoredVariables = first;
  let columns = new Float64Array(0);
  let solvedColumns = new Float64Array(0);
  let schur = new Float64Array(0);
  let isSkipped = new Uint8Array(0);
  let change = new Float64Array(0);
  let isMany = false;
  const columnRows = createSparseRows();
  const solvedRows = createSparseRows();

  function factorVariables(iterate: Iterate, proximal: number): boolean {
    isMany = work.activeCount >= MANY_ROWS;
    const isPlain = !isMany && proximal === 0 && norms.every((_, q) => iterate.normMultipliers[q] === 0);
    if (isPlain) {
      const servingFactor = [first, last].find((factored) => factored.serves());
      if (servingFactor !== undefined) {
        currentFactor = servingFactor;
        return true;
      }
    } else {
      first.forget();
      last.forget();
    }
    const regularisedCurvature = { scale: program.curvature, ridge: program.ridge + proximal * work.meanCurvature };
    currentFactor = isPlain && first.count() > 0 ? last : first;
    const isDefinite = currentFactor.begin(
      createLagrangianCurvature(program, regularisedCurvature, iterate.normMultipliers),
    );
    if (!isPlain) currentFactor.forget();
    return isDefinite;
  }

  /** Computes the products of the columns L^-1 c of fixed securities and active rows. */
  function factorHalves(state: ActiveState, iterate: Iterate): void {
    const { names } = currentFactor;
    const keys = currentFactor.heldPlaces.map((position) => firstName + position);
    for (let a = 0; a < work.activeCount; a++) keys.push(work.active[a]!);
    const count = currentFactor.count();
    const source = {
      // Gradients of kinks and norms change with the state and the point.
      isNew: (key: number) => key >= rows.count && key < firstName,
      write(key: number, out: Float64Array) {
        if (key >= firstName) {
          out.fill(0, 0, count);
          out[key - firstName] = 1;
          return key - firstName;
        }
        const computeGradient = findRowGradient(program, state, iterate, key);
        for (let p = 0; p < count; p++) out[p] = computeGradient(names[p]!);
        return 0;
      },
    };
    currentFactor.products(keys, source, schur);
  }

  /** Computes the columns H^-1 c of the active rows, [free x active], and their products with c. */
  function factorWhole(state: ActiveState, iterate: Iterate): void {
    const { free, freeCount: f, active, activeCount: m } = work;
    if (m === 0) return;
    if (columns.length < f * m) {
      columns = new Float64Array(f * m);
      solvedColumns = new Float64Array(f * m);
    }
    for (let a = 0; a < m; a++) {
      const computeGradient = findRowGradient(program, state, iterate, active[a]!);
      for (let p = 0; p < f; p++) columns[p * m + a] = computeGradient(free[p]!);
    }
    currentFactor.curvature.solveWithProducts(columns, m, solvedColumns, schur);
    columnRows.read(columns, f, m);
    solvedRows.read(solvedColumns, f, m);
  }

  function solveWhole(step: Float64Array, wanted: Float64Array): void {
    const { freeCount: f, activeCount: m } = work;
    currentFactor.curvature.solve(step, 1);
    if (m === 0) return;
    for (let a = 0; a < m; a++) wanted[a] = -wanted[a]!;
    columnRows.addColumns(step, wanted);
    solveFactored(schur, m, wanted, isSkipped);
    for (let p = 0; p < f; p++) step[p] = solvedRows.less(p, step[p]!, wanted);
  }

  return {
    factor(state, iterate, proximal) {
      if (!factorVariables(iterate, proximal)) return false;
      const total = currentFactor.heldPlaces.length + work.activeCount;
      if (schur.length < total * total) schur = new Float64Array(total * total);
      if (isSkipped.length < total) isSkipped = new Uint8Array(total);
      if (change.length !== total) change = new Float64Array(total);
      if (currentFactor.isWhole() && !isMany) factorHalves(state, iterate);
      else factorWhole(state, iterate);
      factorSemidefinite(schur, total, isSkipped, { algebra: currentFactor.curvature.algebra });
      return true;
    },
    solve(step, wanted) {
      if (!currentFactor.isWhole() || isMany) {
        solveWhole(step, wanted);
        return;
      }
      const heldCount = currentFactor.heldPlaces.length;
      change.fill(0, 0, heldCount);
      for (let a = 0; a < work.activeCount; a++) change[heldCount + a] = wanted[a]!;
      currentFactor.solve(step, change, schur, isSkipped);
      for (let a = 0; a < work.activeCount; a++) wanted[a] = change[heldCount + a]!;
    },
  };
}

function findRowGradient(program: Program, state: ActiveState, { x }: Iterate, row: number): (name: number) => number {
  const { n, rows, kinks, norms } = program;
  if (row < rows.count) {
    const from = row * n;
    return (name) => rows.coefficients[from + name]!;
  }
  if (row < rows.count + kinks.length) return (name) => computeSlope(program, state, row - rows.count, name);
  const norm = norms[row - rows.count - kinks.length]!;
  const offset = x.map((value, i) => value - norm.centre[i]!);
  const force = computeNormForce(program, norm, offset, new Float64Array(n));
  return (name) => force[name]!;
}

/** Maximum number of Newton corrections with one factorisation. */
const REFINEMENTS_MAX = 3;

/** Number of Newton corrections with a factor that is regularised by a proximal term. */
const REFINEMENTS_REGULARISED = 12;

/** Largest gradient of a free security at which no refinement is needed, relative to the largest force. */
const REFINED_GRADIENT = 1e-15;

/**
 * Proximal terms, relative to the mean curvature, that are tried in order if the curvature is singular on the free
 * securities.
 */
const PROXIMAL_SHARES = [0, 1e-9, 1e-6];

/** Maximum number of Newton steps in one state. More than two steps are needed only while norms are active. */
const NEWTON_MAX = 30;

/**
 * Moves securities that are not free to the value of their state. Sets the multipliers of inactive constraints to zero
 * and those of violated constraints to their penalty. Lists the free securities and the active constraints.
 */
export function fixSecurities(
  { n, lower, upper, kinks, rows }: Program,
  state: ActiveState,
  { x, rowMultipliers, kinkMultipliers, normMultipliers }: Iterate,
  work: Work,
): void {
  work.freeCount = 0;
  for (let i = 0; i < n; i++) {
    const side = state.names[i]!;
    if (side === FREE && lower[i]! < upper[i]!) work.free[work.freeCount++] = i;
    else if (side >= PINNED) x[i] = kinks[side - PINNED]!.at[i]!;
    else x[i] = side === UPPER ? upper[i]! : lower[i]!;
  }
  work.activeCount = 0;
  for (let r = 0; r < rows.count; r++) {
    const side = state.rows[r]!;
    if (side === IDLE) rowMultipliers[r] = 0;
    else if (side === OVER || side === UNDER) rowMultipliers[r] = side === OVER ? rows.penalty[r]! : -rows.penalty[r]!;
    else work.active[work.activeCount++] = r;
  }
  for (let k = 0; k < kinks.length; k++) {
    const side = state.kinks[k]!;
    if (side === IDLE) kinkMultipliers[k] = 0;
    else if (side === OVER) kinkMultipliers[k] = kinks[k]!.limit === null ? 1 : kinks[k]!.penalty;
    else work.active[work.activeCount++] = rows.count + k;
  }
  for (let q = 0; q < normMultipliers.length; q++) {
    if (state.norms[q] === IDLE) normMultipliers[q] = 0;
    else work.active[work.activeCount++] = rows.count + kinks.length + q;
  }
}

export interface EqualityProblem {
  readonly program: Program;
  readonly state: ActiveState;
  readonly iterate: Iterate;
  readonly work: Work;
  readonly system: EqualitySystem;
}

/**
 * Solves the equality problem of the state and computes the gradient at its solution. Returns false if the problem is
 * singular, or if norms prevent convergence. The solution has rounding errors. `refineState` removes them once the
 * state is final.
 */
export function solveState(problem: EqualityProblem): boolean {
  const { program, state, iterate, work, system } = problem;
  const isCurved = state.norms.some((held) => held !== IDLE);
  computeGradient(program, state, iterate, work);
  for (let newton = 0; newton < (isCurved ? NEWTON_MAX : 1); newton++) {
    const proximal = PROXIMAL_SHARES.find((share) => system.factor(state, iterate, share));
    if (proximal === undefined) return false;
    let largestMove = performNewtonStep(problem);
    for (let refinement = 1; refinement < (proximal > 0 ? REFINEMENTS_REGULARISED : 1); refinement++)
      largestMove = performNewtonStep(problem);
    if (!Number.isFinite(largestMove)) return false;
    if (isCurved && largestMove <= 1e-15) break;
  }
  return true;
}

/** Removes the rounding errors of a solution by corrections with the current factors. */
export function refineState(problem: EqualityProblem): void {
  const { work } = problem;
  for (
    let refinement = 0;
    refinement < REFINEMENTS_MAX && findFreeResidual(work) > REFINED_GRADIENT * work.gradientScale;
    refinement++
  )
    performNewtonStep(problem);
}

/** Returns the largest gradient magnitude on the free securities; zero at an exact solution. */
function findFreeResidual({ gradient, free, freeCount }: Work): number {
  let largestResidual = 0;
  for (let p = 0; p < freeCount; p++) largestResidual = Math.max(largestResidual, Math.abs(gradient[free[p]!]!));
  return largestResidual;
}

/**
 * Performs one Newton step with the current factors and updates the gradient; returns the largest change of a security.
 */
function performNewtonStep({ program, state, iterate, work, system }: EqualityProblem): number {
  const { freeCount: f, activeCount: m, free, active, step, change } = work;
  for (let p = 0; p < f; p++) step[p] = -work.gradient[free[p]!]!;
  for (let a = 0; a < m; a++) change[a] = computeShortfall(program, state, iterate, active[a]!, work);
  system.solve(step, change);
  let largestMove = 0;
  for (let p = 0; p < f; p++) {
    const freeStep = step[p]!;
    iterate.x[free[p]!]! += freeStep;
    largestMove = Math.max(largestMove, Math.abs(freeStep));
    if (Number.isNaN(freeStep)) return Number.NaN;
  }
  for (let a = 0; a < m; a++) addMultiplier(program, iterate, active[a]!, change[a]!);
  computeGradient(program, state, iterate, work);
  return largestMove;
}

function addMultiplier({ rows, kinks }: Program, iterate: Iterate, row: number, change: number): void {
  if (row < rows.count) iterate.rowMultipliers[row]! += change;
  else if (row < rows.count + kinks.length) iterate.kinkMultipliers[row - rows.count]! += change;
  else iterate.normMultipliers[row - rows.count - kinks.length]! += change;
}
