import { computeFactorExposures } from './account-program.js';
import {
  setGoals,
  widenBounds,
  computeComplementarity,
  createGoals,
  createStep,
  findLongestStep,
  type Iterate,
  type InteriorStep,
} from './interior-steps.js';
import { createNewtonSystem } from './newton-system.js';
import type {
  Multipliers,
  NearPoint,
  PartialAnswer,
  Relaxation,
  RelaxedAnswer,
  SolutionOptions,
} from './relaxation.js';
import { createFarPoint, createNearPoint } from './starting-point.js';

/** Maximum number of steps; 15 to 25 are usual. */
const STEPS_MAX = 80;
/** Complementarity of a solution, as a fraction of the account value. */
const COMPLEMENTARITY_MAX = 1e-13;
/** Complementarity below which further steps only add rounding errors. */
const COMPLEMENTARITY_MIN = 1e-15;
/** Complementarity and residuals from which on the caller may end the iterations. */
const LOOSE_TOLERANCE = 1e-6;
/** Maximum residual of a solution; smaller residuals are lost to rounding. */
const RESIDUAL_MAX = 1e-10;
/** Maximum residual that counts as feasible if rounding errors stop the iterations. */
const RESIDUAL_ACCEPTED = 1e-9;
/** Fraction of the distance to the nearest bound that a step may take. */
const STEP_SHARE = 0.995;
const STEP_MIN = 1e-10; // Minimum step length; shorter steps make no progress.
/** Maximum distance at which a trade counts as at a bound with a positive multiplier. */
const CONTACT_MAX = 1e-9;
/** Maximum violation of rows and weight bounds during the search. */
const VIOLATION_MAX = 1e-7;
/** Price per unit of violation of a hard row; the multiplier of the variance row is unbounded near a limit of 0. */
export const HARD_PENALTY = 100;

/**
 * Solves the convex form of an account by a primal-dual interior-point method with predictor and corrector.
 *
 * Rows may be violated at a price, so an interior always exists. Weight bounds that the sizes of the trades imply are
 * omitted.
 *
 * @cost per step: n k^2 / 2 multiply-adds, and 60 per lot
 * @source Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 16.6; Mehrotra (1992).
 */
export function solveRelaxation(
  relaxation: Relaxation,
  { near = null, isEnough = () => false }: SolutionOptions = {},
): RelaxedAnswer {
  const state = createState(relaxation, near);
  let [status, step]: [RelaxedAnswer['status'], number] = ['stalled', 0];
  let isAsked = false;
  for (; step < STEPS_MAX; step++) {
    const { gap, worst } = state.measure();
    if (!isAsked && gap < LOOSE_TOLERANCE && worst < LOOSE_TOLERANCE) {
      isAsked = true;
      if (isEnough(state.partial())) {
        status = 'solved';
        break;
      }
    }
    if (gap < COMPLEMENTARITY_MAX && worst < (gap < COMPLEMENTARITY_MIN ? RESIDUAL_ACCEPTED : RESIDUAL_MAX)) {
      status = 'solved';
      break;
    }
    if (!state.advance()) break;
  }
  if (status === 'stalled') {
    const { gap, worst } = state.measure();
    if (gap < RESIDUAL_ACCEPTED && worst < RESIDUAL_ACCEPTED) status = 'solved';
  }
  return state.answer(status, step);
}

function createState(relaxation: Relaxation, near: NearPoint | null) {
  const { program, trades, rows } = relaxation;
  const { n, k, loadings, specific, target, held, aversion, varianceLimit, taxWeight } = program;
  const { count, start, sign, size, short, long, cost } = trades;
  const hasVariance = Number.isFinite(varianceLimit);
  const mRows = rows.length;
  const m = mRows + (hasVariance ? 1 : 0);
  const system = createNewtonSystem(relaxation, { hasVariance });
  const penalties = Float64Array.from({ length: m }, (_, j) =>
    j < mRows && rows[j]!.tax === 1 ? Infinity : Math.min(j < mRows ? rows[j]!.penalty : Infinity, HARD_PENALTY),
  );
  const z = new Float64Array(count);
  const [zl, zu] = [new Float64Array(count), new Float64Array(count)];
  const w = new Float64Array(n);
  const active = new Float64Array(n);
  const exposures = new Float64Array(k);
  const slope = new Float64Array(n); // gradient of the variance
  const limitSlope = new Float64Array(hasVariance ? n : 0); // gradient of the variance row, which is relative to the limit
  const y = new Float64Array(m);
  const [slack, excess] = [new Float64Array(m), new Float64Array(m)];
  const values = new Float64Array(m);
  const bounds = widenBounds(relaxation);
  const [boundSlack, boundPrice] = [new Float64Array(bounds.length), new Float64Array(bounds.length)];
  let t = 0;
  let mu = 0;

  const [curvature, barrier, gradient, weightGradient] = [n, count, count, n].map(
    (length) => new Float64Array(length),
  ) as [Float64Array, Float64Array, Float64Array, Float64Array];
  const iterate: Iterate = { size, z, zl, zu, y, slack, excess, penalties, boundSlack, boundPrice };
  const [slackTerm, residual] = [new Float64Array(m), new Float64Array(m)];
  const [predictor, corrector] = [createStep(count, n, m, bounds.length), createStep(count, n, m, bounds.length)];

  function initialise(): void {
    const first = near === null ? createFarPoint(relaxation, penalties) : createNearPoint(relaxation, penalties, near);
    z.set(first.traded);
    y.set(first.prices);
    mu = first.gap / (2 * count + 1);
    evaluate();
    for (let j = 0; j < mRows; j++) if (rows[j]!.tax === 1) t = Math.max(t, values[j]! + first.aboveTax);
    evaluate();
    for (let j = 0; j < m; j++) {
      slack[j] = Math.max(-values[j]!, mu / y[j]!, first.slack);
      excess[j] = penalties[j] === Infinity ? 0 : mu / (penalties[j]! - y[j]!);
    }
    bounds.forEach(({ security, sign: way, limit }, b) => {
      boundSlack[b] = Math.max(way * (limit - w[security]!), 1e-4);
      boundPrice[b] = mu / boundSlack[b]!;
    });
    if (near !== null) computeDualGradient();
    // Near a solution the multipliers of bounds follow from the gradient.
    for (let j = 0; j < count; j++) {
      const [room, own] = [size[j]! - z[j]!, gradient[j]!];
      zl[j] = near === null ? mu / z[j]! : (own + Math.hypot(own, (2 * mu) / Math.min(z[j]!, room))) / 2;
      zu[j] = near === null ? mu / room : zl[j]! - own;
    }
  }

  function evaluate(): void {
    let s = 0;
    let l = 0;
    let c = 0;
    for (let i = 0; i < n; i++) {
      let weight = held[i]!;
      for (let j = start[i]!; j < start[i + 1]!; j++) {
        const traded = z[j]!;
        weight += sign[j]! * traded;
        s += short[j]! * traded;
        l += long[j]! * traded;
        c += cost[j]! * traded;
      }
      w[i] = weight;
      active[i] = weight - target[i]!;
    }
    computeFactorExposures(program, active, exposures);
    let variance = 0;
    for (let f = 0; f < k; f++) variance += exposures[f]! * exposures[f]!;
    for (let i = 0; i < n; i++) {
      let own = specific[i]! * active[i]!;
      variance += own * active[i]!;
      for (let f = 0; f < k; f++) own += loadings[i * k + f]! * exposures[f]!;
      slope[i] = 2 * own;
    }
    for (let j = 0; j < mRows; j++) {
      const row = rows[j]!;
      let value = row.constant + row.short * s + row.long * l + row.cost * c - row.tax * t;
      if (row.weights !== null) for (let i = 0; i < n; i++) value += row.weights[i]! * w[i]!;
      values[j] = value;
    }
    if (!hasVariance) return;
    for (let i = 0; i < n; i++) limitSlope[i] = slope[i]! / varianceLimit;
    values[mRows] = variance / varianceLimit - 1;
  }

  const computeAversion = (): number => aversion + findVariancePrice();

  function measure(): { gap: number; worst: number } {
    let complementarity = 0;
    let pairs = 2 * count + m + bounds.length;
    let worst = 0;
    for (let j = 0; j < count; j++) complementarity += zl[j]! * z[j]! + zu[j]! * (size[j]! - z[j]!);
    for (let j = 0; j < m; j++) {
      complementarity += y[j]! * slack[j]!;
      if (penalties[j]! < Infinity) {
        complementarity += (penalties[j]! - y[j]!) * excess[j]!;
        pairs++;
      }
      worst = Math.max(worst, Math.abs(values[j]! + slack[j]! - excess[j]!));
    }
    for (let b = 0; b < bounds.length; b++) {
      const { security, sign: way, limit } = bounds[b]!;
      complementarity += boundSlack[b]! * boundPrice[b]!;
      worst = Math.max(worst, Math.abs(way * (w[security]! - limit) + boundSlack[b]!));
    }
    mu = complementarity / pairs;
    computeDualGradient();
    for (let j = 0; j < count; j++)
      worst = Math.max(worst, Math.abs(gradient[j]! - zl[j]! + zu[j]!) * Math.min(1, size[j]!));
    return { gap: complementarity, worst };
  }

  /** Computes the gradient of the Lagrangian in the trades, without the multipliers of their bounds. */
  function computeDualGradient(): void {
    const scale = computeAversion();
    let ps = 0;
    let pl = 0;
    let pc = 1;
    for (let i = 0; i < n; i++) weightGradient[i] = scale * slope[i]!;
    for (let j = 0; j < mRows; j++) {
      const row = rows[j]!;
      ps += y[j]! * row.short;
      pl += y[j]! * row.long;
      pc += y[j]! * row.cost;
      if (row.weights !== null) for (let i = 0; i < n; i++) weightGradient[i]! += y[j]! * row.weights[i]!;
    }
    bounds.forEach(({ security, sign: way }, b) => void (weightGradient[security]! += way * boundPrice[b]!));
    for (let i = 0; i < n; i++)
      for (let j = start[i]!; j < start[i + 1]!; j++)
        gradient[j] = sign[j]! * weightGradient[i]! + ps * short[j]! + pl * long[j]! + pc * cost[j]!;
  }

  function factor(): boolean {
    const scale = computeAversion();
    for (let i = 0; i < n; i++) curvature[i] = 2 * scale * specific[i]!;
    bounds.forEach(({ security }, b) => void (curvature[security]! += boundPrice[b]! / boundSlack[b]!));
    for (let j = 0; j < count; j++) barrier[j] = zl[j]! / z[j]! + zu[j]! / (size[j]! - z[j]!);
    for (let j = 0; j < m; j++)
      slackTerm[j] = slack[j]! / y[j]! + (penalties[j] === Infinity ? 0 : excess[j]! / (penalties[j]! - y[j]!));
    return system.factor({ kappa: 2 * scale, curvature, barrier, slack: slackTerm, variance: limitSlope });
  }

  const rhs = new Float64Array(count);
  const extra = new Float64Array(n);
  const goals = createGoals(count, m, bounds.length);

  function computeDirection(step: InteriorStep): void {
    extra.fill(0);
    bounds.forEach(({ security, sign: way, limit }, b) => {
      const left = way * (w[security]! - limit) + boundSlack[b]!;
      extra[security]! += way * ((goals.bound[b]! + boundPrice[b]! * left) / boundSlack[b]! - boundPrice[b]!);
    });
    for (let i = 0; i < n; i++)
      for (let j = start[i]!; j < start[i + 1]!; j++)
        rhs[j] = gradient[j]! + sign[j]! * extra[i]! - goals.lower[j]! / z[j]! + goals.upper[j]! / (size[j]! - z[j]!);
    for (let j = 0; j < m; j++) {
      const room = penalties[j]! - y[j]!;
      residual[j] = values[j]! - excess[j]! + goals.slack[j]! / y[j]!;
      if (room < Infinity) residual[j]! -= goals.excess[j]! / room - excess[j]!;
    }
    let sum = taxWeight;
    for (let j = 0; j < mRows; j++) sum -= rows[j]!.tax * y[j]!;
    step.dt = system.solve({ gradient: rhs, residual, sum, dz: step.dz, dy: step.dy });
    completeStep(step);
  }

  /** Computes the changes of the remaining unknowns from the solution of the reduced system. */
  function completeStep({ dz, dy, dw, dzl, dzu, ds, de, db, dp }: InteriorStep): void {
    for (let i = 0; i < n; i++) {
      let change = 0;
      for (let j = start[i]!; j < start[i + 1]!; j++) {
        const own = dz[j]!;
        change += sign[j]! * own;
        dzl[j] = (goals.lower[j]! - zl[j]! * own) / z[j]! - zl[j]!;
        dzu[j] = (goals.upper[j]! + zu[j]! * own) / (size[j]! - z[j]!) - zu[j]!;
      }
      dw[i] = change;
    }
    for (let j = 0; j < m; j++) {
      const room = penalties[j]! - y[j]!;
      ds[j] = (goals.slack[j]! - slack[j]! * dy[j]!) / y[j]! - slack[j]!;
      de[j] = room < Infinity ? (goals.excess[j]! + excess[j]! * dy[j]!) / room - excess[j]! : 0;
    }
    bounds.forEach(({ security, sign: way, limit }, b) => {
      db[b] = -way * dw[security]! - way * (w[security]! - limit) - boundSlack[b]!;
      dp[b] = (goals.bound[b]! - boundPrice[b]! * db[b]!) / boundSlack[b]! - boundPrice[b]!;
    });
  }

  function move(step: InteriorStep, primal: number, dual: number): void {
    for (let j = 0; j < count; j++) {
      z[j]! += primal * step.dz[j]!;
      zl[j]! += dual * step.dzl[j]!;
      zu[j]! += dual * step.dzu[j]!;
    }
    for (let j = 0; j < m; j++) {
      slack[j]! += primal * step.ds[j]!;
      excess[j]! += primal * step.de[j]!;
      y[j]! += dual * step.dy[j]!;
    }
    for (let b = 0; b < bounds.length; b++) {
      boundSlack[b]! += primal * step.db[b]!;
      boundPrice[b]! += dual * step.dp[b]!;
    }
    t += primal * step.dt;
    evaluate();
  }

  const findVariancePrice = (): number => (hasVariance ? y[mRows]! / varianceLimit : 0);
  const multipliers = (): Multipliers => ({ exposures, variance: findVariancePrice(), rows: y.subarray(0, mRows) });

  initialise();
  return {
    measure,
    partial: (): PartialAnswer => ({ traded: z, weights: w, multipliers: multipliers() }),
    /** Performs one step. @returns false if there is no progress */
    advance(): boolean {
      if (!factor()) return false;
      setGoals(goals, 0, null);
      computeDirection(predictor);
      const reach = findLongestStep(iterate, predictor, 1);
      const ahead = Math.max(0, computeComplementarity(iterate, predictor, reach));
      const ratio = ahead / mu;
      const centring = Math.max(1e-8, ratio * ratio * ratio);
      setGoals(goals, centring * mu, predictor);
      computeDirection(corrector);
      const { primal, dual } = findLongestStep(iterate, corrector, STEP_SHARE);
      const length = Math.min(primal, dual); // The objective is nonlinear, so primal and dual take the same step length.
      // Without permitted trades, the prices of an account exceed the range of doubles.
      if (
        !(length > STEP_MIN) ||
        !Number.isFinite(computeComplementarity(iterate, corrector, { primal: length, dual: length }))
      )
        return false;
      move(corrector, length, length);
      return true;
    },
    answer(status: RelaxedAnswer['status'], count: number): RelaxedAnswer {
      for (let j = 0; j < trades.count; j++) {
        if (z[j]! < zl[j]! * 1e-3 && z[j]! < CONTACT_MAX) z[j] = 0;
        else if (size[j]! - z[j]! < CONTACT_MAX && size[j]! - z[j]! < zu[j]! * 1e-3) z[j] = size[j]!;
      }
      evaluate();
      const violations = Float64Array.from(values, (value) => Math.max(0, value));
      const isViolated = violations.some(
        (value, j) => value > VIOLATION_MAX && (j === mRows || (rows[j]!.tax === 0 && rows[j]!.penalty === Infinity)),
      );
      const isBeyond = bounds.some(({ security, sign: way, limit }) => way * (w[security]! - limit) > VIOLATION_MAX);
      return {
        status: isViolated || isBeyond ? 'infeasible' : status,
        traded: z,
        weights: w,
        multipliers: multipliers(),
        violations,
        steps: count,
      };
    },
  };
}
