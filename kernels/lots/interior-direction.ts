import { createGoals, setGoals, type InteriorStep } from './interior-steps.js';
import { computeVarianceWeight, type InteriorState } from './interior-state.js';
import { createNewtonSystem } from './newton-system.js';

/** Newton directions of a state. */
export interface Directions {
  /** Factors the Newton system of the current iterate. @returns false if it is singular */
  factor(): boolean;
  /**
   * Computes the step to a complementarity of `goal`.
   * @param predictor step whose second-order terms are subtracted, or null
   */
  compute(step: InteriorStep, goal: number, predictor: InteriorStep | null): void;
}

export function createDirections(state: InteriorState): Directions {
  const { relaxation, hasVariance, bounds, size, z, zl, zu, w, y, slack, excess, values } = state;
  const { penalties, boundSlack, boundPrice, gradient, limitSlope } = state;
  const { program, trades, rows } = relaxation;
  const { n, specific, taxWeight } = program;
  const { count, start, sign } = trades;
  const m = y.length;
  const system = createNewtonSystem(relaxation, { hasVariance });
  const [curvature, extra] = [new Float64Array(n), new Float64Array(n)];
  const [barrier, rhs] = [new Float64Array(count), new Float64Array(count)];
  const [slackTerm, residual] = [new Float64Array(m), new Float64Array(m)];
  const goals = createGoals(count, m, bounds.length);

  function factor(): boolean {
    const scale = computeVarianceWeight(state);
    for (let i = 0; i < n; i++) curvature[i] = 2 * scale * specific[i]!;
    bounds.forEach(({ security }, b) => void (curvature[security]! += boundPrice[b]! / boundSlack[b]!));
    for (let j = 0; j < count; j++) barrier[j] = zl[j]! / z[j]! + zu[j]! / (size[j]! - z[j]!);
    for (let j = 0; j < m; j++)
      slackTerm[j] = slack[j]! / y[j]! + (penalties[j] === Infinity ? 0 : excess[j]! / (penalties[j]! - y[j]!));
    return system.factor({ kappa: 2 * scale, curvature, barrier, slack: slackTerm, variance: limitSlope });
  }

  function compute(step: InteriorStep, goal: number, predictor: InteriorStep | null): void {
    setGoals(goals, goal, predictor);
    extra.fill(0);
    bounds.forEach(({ security, sign: way, limit }, b) => {
      const boundResidual = way * (w[security]! - limit) + boundSlack[b]!;
      extra[security]! += way * ((goals.bound[b]! + boundPrice[b]! * boundResidual) / boundSlack[b]! - boundPrice[b]!);
    });
    for (let i = 0; i < n; i++)
      for (let j = start[i]!; j < start[i + 1]!; j++)
        rhs[j] = gradient[j]! + sign[j]! * extra[i]! - goals.lower[j]! / z[j]! + goals.upper[j]! / (size[j]! - z[j]!);
    for (let j = 0; j < m; j++) {
      const multiplierSlack = penalties[j]! - y[j]!;
      residual[j] = values[j]! - excess[j]! + goals.slack[j]! / y[j]!;
      if (multiplierSlack < Infinity) residual[j]! -= goals.excess[j]! / multiplierSlack - excess[j]!;
    }
    let sum = taxWeight;
    for (let j = 0; j < rows.length; j++) sum -= rows[j]!.tax * y[j]!;
    step.dt = system.solve({ gradient: rhs, residual, sum, dz: step.dz, dy: step.dy });
    completeStep(step);
  }

  /** Computes the changes of the remaining unknowns from the solution of the reduced system. */
  function completeStep({ dz, dy, dw, dzl, dzu, ds, de, db, dp }: InteriorStep): void {
    for (let i = 0; i < n; i++) {
      let change = 0;
      for (let j = start[i]!; j < start[i + 1]!; j++) {
        const tradeStep = dz[j]!;
        change += sign[j]! * tradeStep;
        dzl[j] = (goals.lower[j]! - zl[j]! * tradeStep) / z[j]! - zl[j]!;
        dzu[j] = (goals.upper[j]! + zu[j]! * tradeStep) / (size[j]! - z[j]!) - zu[j]!;
      }
      dw[i] = change;
    }
    for (let j = 0; j < m; j++) {
      const multiplierSlack = penalties[j]! - y[j]!;
      ds[j] = (goals.slack[j]! - slack[j]! * dy[j]!) / y[j]! - slack[j]!;
      de[j] = multiplierSlack < Infinity ? (goals.excess[j]! + excess[j]! * dy[j]!) / multiplierSlack - excess[j]! : 0;
    }
    bounds.forEach(({ security, sign: way, limit }, b) => {
      db[b] = -way * dw[security]! - way * (w[security]! - limit) - boundSlack[b]!;
      dp[b] = (goals.bound[b]! - boundPrice[b]! * db[b]!) / boundSlack[b]! - boundPrice[b]!;
    });
  }

  return { factor, compute };
}
