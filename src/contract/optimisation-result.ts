import { WeightFigures } from './weight-figures.js';
import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { MODEL_SOURCES } from '#domain/risk/risk-model-document.js';
import { FRONTIER_RISKS } from '#domain/optimisation/frontier/frontier-risks.js';
import { Finding } from './common.js';
import { ExceededLimit } from './exceeded-limit.js';

export const WeightRow = defineObject(() => ({
  identifier: z.string(),
  weight: z.number().meta({ description: 'Optimised weight.' }),
  index_weight: z.number().meta({ description: 'Weight in the target index.' }),
  active_weight: z.number().meta({ description: 'weight - index_weight.' }),
  risk_contribution: z
    .number()
    .meta({ description: 'Contribution to the tracking error. The contributions add up to the tracking error.' }),
  variance_share: z.number().meta({ description: 'Fraction of the portfolio variance. The fractions add up to 1.' }),
  at_bound: z
    .enum(['lower', 'upper'])
    .nullable()
    .meta({ description: 'Binding bound of the position; null if no bound is binding.' }),
})).meta({ id: 'WeightRow' });

const riskAndReturn = { expected_return: z.number(), volatility: z.number(), tracking_error: z.number() };

const frontierPoint = {
  ...riskAndReturn,
  weights: z.record(z.string(), z.number()).optional().meta({
    description:
      'Weights of the securities held at the point. Absent in runs of earlier versions, as are portfolio and index.',
  }),
  risk_aversion: z.number().nullable().optional().meta({
    description:
      'Risk aversion for which max_utility has this solution, with these expected returns; null for the point with the least variance.',
  }),
};

export const FrontierPayload = defineObject(() => ({
  points: z.array(z.strictObject(frontierPoint)).meta({
    description:
      'Points from the least variance to the largest expected return within the constraints, equally spaced in expected return.',
  }),
  tangency: z
    .strictObject({ ...frontierPoint, sharpe: z.number() })
    .nullable()
    .meta({
      description:
        'Portfolio with the largest excess return over the risk-free rate per unit of volatility; null if no excess return is positive.',
    }),
  resampled: z
    .strictObject({
      draws: z.int().min(1).meta({ description: 'Number of draws with a frontier.' }),
      points: z.array(
        z.strictObject({
          ...riskAndReturn,
          weights: z
            .record(z.string(), z.number())
            .meta({ description: 'Mean weights over the draws, for securities with a weight.' }),
          spread: z
            .record(z.string(), z.number())
            .meta({ description: 'Standard deviations of the weights over the draws, for the same securities.' }),
        }),
      ),
    })
    .meta({ id: 'ResampledFrontier' })
    .nullable()
    .optional()
    .meta({
      description:
        'Points by rank, from the least variance of each draw to its largest expected return. Risk and return are computed with the original estimates. Null without `resampling`; absent in runs of earlier versions.',
    }),
  by_objective: z
    .array(
      z.strictObject({
        ...riskAndReturn,
        risk_measure: z.enum(FRONTIER_RISKS).meta({ description: 'Measure of `risk`, which the objective minimises.' }),
        risk: z.number().meta({
          description:
            'Minimum risk at the expected return: annualised tracking error; cvar and cdar as a fraction of value, per session.',
        }),
        weights: z.record(z.string(), z.number()).meta({ description: 'Weights of the holdings of the point.' }),
      }),
    )
    .nullable()
    .optional()
    .meta({
      description:
        'Frontier by the risk measure of the objective, without costs, from the optimum to the largest expected return, for min_tracking_error, min_cvar and min_cdar. For tail risk, it has 21, 11 or 6 points, depending on the computing time. Null for other objectives, whose frontier is `points`; absent in runs of earlier versions.',
    }),
  portfolio: z
    .strictObject(riskAndReturn)
    .optional()
    .meta({ description: 'Risk and return of the weights of the run.' }),
  index: z
    .strictObject(riskAndReturn)
    .optional()
    .meta({ description: 'Risk and return of the weights of the index, which may violate the constraints.' }),
})).meta({ id: 'FrontierPayload' });

const clientRow = {
  id: z.string().meta({ description: 'Id of the constraint in the request; empty if it has none.' }),
  index: z.int().min(0).meta({ description: 'Position of the constraint in the request.' }),
  type: z.string(),
};

export const SensitivityRow = defineObject(() => ({
  ...clientRow,
  parameter: z.string().meta({ description: 'Parameter that is relaxed, while all others are unchanged.' }),
  from: z.number().meta({ description: 'Value in the run.' }),
  to: z.number().meta({ description: 'Value after relaxing the parameter by one step.' }),
  change: z.number().meta({ description: 'to - from.' }),
  effect: z.number().nullable().meta({
    description:
      'Change of objective_value if the problem is solved again with the other value. Null if the work limit for explanations of tail risk is reached.',
  }),
  shadow_price: z
    .number()
    .meta({ description: 'Change of objective_value per unit of the parameter, for a small change of the parameter.' }),
  sentence: z.string().meta({ description: 'Description of the effect, in the measure of the objective.' }),
})).meta({ id: 'SensitivityRow' });

export const ConstraintCost = defineObject(() => ({
  ...clientRow,
  objective_without: z.number().nullable().meta({
    description: 'objective_value of the problem without the constraint. If it is null, `reason` states why.',
  }),
  cost: z.number().nullable().meta({
    description: 'Deterioration of objective_value due to the constraint; 0 if the constraint is not binding.',
  }),
  reason: z.enum(['no_answer', 'work_spent']).nullable().optional().meta({
    description:
      'Reason why objective_without and cost are null: the problem without the constraint has no solution, or the work limit for explanations of tail risk is reached. Otherwise null; absent in runs of earlier versions.',
  }),
  sentence: z.string().meta({ description: 'Description of the effect, in the measure of the objective.' }),
})).meta({ id: 'ConstraintCost' });

const SolvedConstraint = defineObject(() => ({
  label: z.string().meta({ description: 'Label of the bound, as in the binding constraints.' }),
  id: z.string().meta({ description: 'Id of the constraint in the request; empty if it has none.' }),
  index: z.int().min(0).nullable().meta({
    description: 'Position of the constraint in the request; null if the service added it.',
  }),
  type: z.string(),
  side: z.enum(['lower', 'upper', 'eq']).meta({ description: 'Bound; `eq` for an equality.' }),
  unit: z.enum(['fraction', 'count', 'value']).meta({ description: 'Unit of `value`, `limit` and `slack`.' }),
  value: z.number().meta({ description: 'Value of the solution.' }),
  limit: z.number().meta({ description: 'Bound of the value.' }),
  slack: z.number().min(0).meta({ description: 'Distance from the value to the bound; 0 beyond a soft bound.' }),
  binding: z.boolean().meta({ description: 'True if the bound is binding.' }),
})).meta({ id: 'SolvedConstraint', description: 'Value and bound of one side of a constraint at the solution.' });

export const NextName = defineObject(() => ({
  identifier: z.string(),
  marginal: z.number().meta({ description: 'Change of objective_value per unit of weight of the security.' }),
  expected_return: z
    .number()
    .nullable()
    .meta({ description: 'Annualised expected return of the security by the model of the run.' }),
  entry_return: z.number().nullable().meta({
    description:
      'Minimum expected return at which the security would be held, with all other expected returns unchanged; null if neither the objective nor a binding ExpectedReturn constraint uses expected returns.',
  }),
})).meta({ id: 'NextName' });

const TailOutcome = defineObject(() => ({
  scenarios: z.int().min(1).meta({ description: 'Number of scenarios: sessions or draws.' }),
  average: z.number().meta({ description: 'Average of the worst scenarios, which is the objective without costs.' }),
  level: z.number().meta({ description: 'Smallest loss in the average, which is the value at risk.' }),
  largest: z.number().meta({ description: 'The worst loss.' }),
})).meta({
  id: 'TailOutcome',
  description: 'Losses of one session, or drawdowns, of the solution, as fractions of value; positive for a loss.',
});

const WorstCase = defineObject(() => ({
  nominal: z.number().meta({ description: 'Objective with the estimates, in the measure of the objective.' }),
  expected_return: z.number().nullable().meta({
    description:
      'Smallest expected return in the uncertainty set, annualised and before costs; null without expected returns.',
  }),
  volatility: z.number().meta({ description: 'Largest volatility in the uncertainty set, annualised.' }),
})).meta({
  id: 'WorstCase',
  description: 'Figures of the weights with the estimates, and in the worst case of the uncertainty sets.',
});

const MeasuringRisk = defineObject(() => ({
  model_id: z.string().nullable().meta({ description: 'Stored risk model; null for an estimate of the run.' }),
  estimator: z
    .enum(MODEL_SOURCES)
    .meta({ description: 'Estimator of the covariance; `imported` for an imported model.' }),
  settings: z
    .record(z.string(), z.union([z.string(), z.number()]).nullable())
    .meta({ description: 'Parameters of the estimator, as requested or by default.' }),
  start: z.string().meta({ description: 'Date of the first return.' }),
  end: z.string().meta({ description: 'Date of the last return.' }),
  sessions: z
    .int()
    .min(1)
    .meta({ description: 'Number of returns, which is the number of sessions on which every security has a return.' }),
})).meta({ id: 'MeasuringRisk', description: 'Risk model of an optimisation.' });

export const OptimisationRunResult = defineObject(() => ({
  run_id: z.string(),
  index_id: z.string(),
  constraint_set_id: z.string(),
  start: z.string().meta({ description: 'First date of the prices of the constituents.' }),
  end: z.string().meta({ description: 'Last date of the prices of the constituents.' }),
  rebalance_date: z.string().meta({ description: 'Rebalance whose weights are the target.' }),
  risk_model: MeasuringRisk.optional().meta({
    description: 'Risk model of objective, constraints and results. Absent in runs of earlier versions.',
  }),
  converged: z
    .boolean()
    .meta({ description: 'True if the optimality conditions are satisfied for the original constraints.' }),
  heuristic: z.boolean().meta({
    description:
      'True if a non-convex constraint required a second solution with a restricted selection. The solution is then feasible, but not proven optimal.',
  }),
  holdings: z.int().min(0),
  gross_holdings: z.int().min(0).optional(),
  iterations: z.int().min(0),
  objective_type: z.string(),
  objective_value: z.number().meta({
    description:
      'Objective in its measure, including costs: variance, utility, return, Sharpe ratio, diversification ratio, weighted correlation, average loss or drawdown of the worst scenarios, or the distance from parity, ln(volatility / product of (w/b)^b) less its value at parity.',
  }),
  objective: z.number().meta({
    description:
      'Annualised variance of the active weights for any objective, which is the square of tracking_error. The run optimises objective_value.',
  }),
  bound: z.number().nullable().meta({
    description:
      'Bound of the objective over all feasible weights. If a constraint limits the number of securities and the objective is quadratic or max_return, the bound is proven over all selections of securities. Otherwise, it is the value without the non-convex constraints, less the gap of the proof for tail risk.',
  }),
  gap: z.number().nullable().meta({ description: 'Distance between the value and the bound, relative to the value.' }),
  proof: z
    .enum(['quick', 'thorough'])
    .optional()
    .meta({ description: 'Requested effort to prove a selection of securities. Absent in runs of earlier versions.' }),
  expected_return: z
    .number()
    .nullable()
    .meta({ description: 'Annualised expected return before costs; null without expected returns.' }),
  volatility: z.number().meta({ description: 'Annualised volatility by the risk model of the run.' }),
  costs: z
    .number()
    .nullable()
    .meta({ description: 'Trading costs as a fraction of value; null if no costs were requested.' }),
  tail: TailOutcome.nullable().optional().meta({
    description:
      'Scenarios of `min_cvar` or `min_cdar`; null for other objectives, absent in runs of earlier versions.',
  }),
  worst_case: WorstCase.nullable().optional().meta({
    description: 'Figures for `uncertainty`; otherwise null, absent in runs of earlier versions.',
  }),
  before: WeightFigures.optional().meta({
    description: 'Figures of the index weights. Absent in runs of earlier versions.',
  }),
  tracking_error: z.number(),
  turnover: z.number().meta({ description: 'One-way turnover against the index weights.' }),
  active_sum: z.number().meta({ description: 'Sum of the active weights; zero if the portfolio is fully invested.' }),
  solver_message: z.string(),
  weights: z.array(WeightRow).meta({ description: 'Every security, beginning with the largest active position.' }),
  binding: z.array(z.record(z.string(), z.string()).nullable()).meta({
    description: 'Binding constraints: id, index, type, label, side, unit and shadow_price as text.',
  }),
  exceeded: z.array(ExceededLimit).optional().meta({
    description: 'Soft bounds that the weights violate. Absent in runs of earlier versions.',
  }),
  constraints: z.array(SolvedConstraint).optional().meta({
    description:
      'Every side of every constraint. If it limits several securities or groups, it has the value and the bound of the one that is nearest to its bound. Absent in runs of earlier versions.',
  }),
  sensitivities: z.array(SensitivityRow).optional().meta({
    description:
      'Effect of relaxing each binding bound: fractions by one percentage point, counts by one, other bounds by one hundredth. At most 20 bounds, the most expensive first. If constraints select securities, the selection does not change. This field and the next two fields are absent in runs of earlier versions.',
  }),
  constraint_costs: z.array(ConstraintCost).optional().meta({
    description: 'Cost of each of the first 20 constraints of the request.',
  }),
  next_names: z.array(NextName).optional().meta({
    description:
      'At most 10 securities that are excluded only by their lower bound of 0, beginning with the security that is closest to a positive weight.',
  }),
  frontier: FrontierPayload.nullable(),
  findings: z.array(Finding),
})).meta({ id: 'OptimisationRunResult' });
export type OptimisationRunResult = z.infer<typeof OptimisationRunResult>;
