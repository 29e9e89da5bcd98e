import { z } from 'zod';
import { callOnce } from '#base/once.js';
import { defineObject, Id } from '#domain/base/schema.js';
import { ConstraintRow } from '#domain/definition/constraint-class.js';
import { ConstraintSet } from '#domain/definition/constraint-sets.js';
import { CONSTRAINT_CLASSES } from '#domain/definition/constraints.js';
import { RETURNS_CLASSES } from '#domain/definition/expected-returns.js';
import { DerivationPayload } from '#domain/definition/index-document.js';
import { type Measure, MEASURE_FORMS, OBJECTIVE_CLASSES } from '#domain/definition/objectives.js';
import {
  FRONTIER_RISKS,
  OptimisationPreviewRequest,
  OptimisationRequest,
} from '#domain/definition/optimisation-requests.js';
import { CostsSpec, optimisationFields, ScenarioViews, UncertaintySpec } from '#domain/definition/optimisation.js';
import { MODEL_SOURCES } from '#domain/risk/risk-models.js';
import { SavedIndex } from './indices/definitions.js';
import { ExceededLimit, PooledScenariosPayload, PreviewResponse, WeightFiguresPayload } from './indices/previews.js';
import { createJobStatus } from './jobs.js';
import {
  compositionErrors,
  FindingPayload,
  listingQuery,
  purgeQuery,
  skippedFields,
  TypeSpecPayload,
  ValidationReport,
} from './payloads.js';
import { defineRoutes } from './route.js';

export const SavedConstraintSet = defineObject(() => ({
  constraint_set: ConstraintSet,
  findings: z.array(FindingPayload).meta({ description: 'Warnings that did not prevent the save.' }),
})).meta({ id: 'SavedConstraintSet' });

export const ConstraintSetCollection = defineObject(() => ({
  constraint_sets: z.array(ConstraintSet),
  ...skippedFields,
})).meta({ id: 'ConstraintSetCollection' });
export type ConstraintSetCollection = z.infer<typeof ConstraintSetCollection>;

const WeightRowPayload = defineObject(() => ({
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
  before: WeightFiguresPayload.optional().meta({
    description: 'Figures of the index weights. Absent in runs of earlier versions.',
  }),
  tracking_error: z.number(),
  turnover: z.number().meta({ description: 'One-way turnover against the index weights.' }),
  active_sum: z.number().meta({ description: 'Sum of the active weights; zero if the portfolio is fully invested.' }),
  solver_message: z.string(),
  weights: z
    .array(WeightRowPayload)
    .meta({ description: 'Every security, beginning with the largest active position.' }),
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
  scenario_views: PooledScenariosPayload.nullable().optional().meta({
    description:
      'Probabilities of the scenarios for `scenario_views`; otherwise null, absent in runs of earlier versions.',
  }),
  findings: z.array(FindingPayload),
})).meta({ id: 'OptimisationRunResult' });
export type OptimisationRunResult = z.infer<typeof OptimisationRunResult>;

export const ConstraintTypes = defineObject(() => ({
  types: z
    .record(z.string(), z.array(z.string()))
    .meta({ description: 'Parameter names of each constraint class, in form order.' }),
  specs: z.array(TypeSpecPayload).meta({ description: 'Constraint classes with all details.' }),
})).meta({ id: 'ConstraintTypes' });
export type ConstraintTypes = z.infer<typeof ConstraintTypes>;

/**
 * Creates the schema of constraint rows by class. It is only for the documentation; the service validates rows with its
 * own messages.
 */
const getConstraintRowSchema = callOnce(() => {
  const [first, ...others] = CONSTRAINT_CLASSES.map(({ type, help, params }) =>
    ConstraintRow.extend({
      type: z.literal(type),
      params: params.meta({ id: `${type}Params`, description: help }).prefault({}),
    }).meta({ id: `${type}Row` }),
  );
  return z.discriminatedUnion('type', [first!, ...others]).meta({ id: 'ConstraintRowBody' });
});
const ConstraintSetBody = defineObject(() => ({
  ...ConstraintSet.shape,
  constraints: z.array(getConstraintRowSchema()).max(500).default([]),
})).meta({
  id: 'ConstraintSetBody',
  description: 'A ConstraintSet with the parameters of every constraint class.',
});

/** Creates the schema of objectives by class. It is only for the documentation as well. */
function createObjectiveBody() {
  const [first, ...others] = OBJECTIVE_CLASSES.map(({ type, help, params }) =>
    params.extend({ type: z.literal(type) }).meta({ id: `${toPascalCase(type)}Objective`, description: help }),
  );
  return z
    .union([
      z.enum(OBJECTIVE_CLASSES.map(({ type }) => type) as [string, ...string[]]), // the catalogue is not empty
      z.discriminatedUnion('type', [first!, ...others]),
    ])
    .meta({
      id: 'Objective',
      description: 'Objective of the optimisation: its type, or an object with the type and its parameters.',
    });
}

/** Creates the schema of expected returns by class. It is only for the documentation as well. */
function createReturnsBody() {
  const [first, ...others] = RETURNS_CLASSES.map(({ type, help, params }) =>
    params.extend({ type: z.literal(type) }).meta({ id: `${toPascalCase(type)}Returns`, description: help }),
  );
  return z
    .discriminatedUnion('type', [first!, ...others])
    .meta({ id: 'ExpectedReturns', description: 'Annualised expected returns of the securities.' });
}

/** Converts snake case to Pascal case: `max_sharpe` becomes `MaxSharpe`. */
function toPascalCase(type: string): string {
  return type.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function copyDescription<S extends z.ZodType>(schema: S, { description }: z.ZodType): S {
  return description === undefined ? schema : schema.meta({ description });
}

const getOptimisationFields = callOnce(() => ({
  objective: createObjectiveBody().default('min_tracking_error'),
  expected_returns: createReturnsBody().nullable().default(null).meta({
    description:
      'Expected returns are required for max_utility, max_return and max_sharpe. A run also uses them for its frontier.',
  }),
  uncertainty: UncertaintySpec.nullable().default(null),
  costs: CostsSpec.nullable().default(null),
  scenario_views: copyDescription(ScenarioViews.nullable().default(null), optimisationFields.scenario_views),
  risk_model: copyDescription(optimisationFields.risk_model.unwrap().default(null), optimisationFields.risk_model),
  candidates: copyDescription(optimisationFields.candidates.unwrap().default('parent'), optimisationFields.candidates),
}));

const ObjectiveTypeSpec = defineObject(() => ({
  ...TypeSpecPayload.shape,
  measure: defineObject(() => ({
    name: z.string().meta({ description: 'Term for the figure in the sentences of a run.' }),
    form: z.enum(Object.keys(MEASURE_FORMS) as [Measure['form'], ...Measure['form'][]]).meta({
      description: `Relation of the figure to \`objective_value\`. ${Object.entries(MEASURE_FORMS)
        .map(([form, meaning]) => `\`${form}\`: ${meaning}`)
        .join('; ')}.`,
    }),
  })).meta({
    id: 'ObjectiveMeasure',
    description: 'Figure in which a run reports the objective and its changes.',
  }),
})).meta({ id: 'ObjectiveTypeSpec' });

export const ObjectiveTypes = defineObject(() => ({
  objectives: z.array(ObjectiveTypeSpec).meta({ description: 'Objectives of an optimisation.' }),
  expected_returns: z.array(TypeSpecPayload).meta({ description: 'Models of expected returns.' }),
})).meta({ id: 'ObjectiveTypes' });
export type ObjectiveTypes = z.infer<typeof ObjectiveTypes>;

export const OptimiseRequest = defineObject(() => ({
  id: Id.meta({ description: 'Id of the new index.' }),
  name: z.string().min(1).max(200).meta({ description: 'Display name.' }),
  description: z
    .string()
    .max(10_000)
    .nullable()
    .default(null)
    .meta({ description: 'Description of the new index, free text. It is not copied from the parent.' }),
  ...getOptimisationFields(),
  constraints: z
    .array(getConstraintRowSchema())
    .max(500)
    .default([])
    .meta({ description: 'Constraints. Without constraints, the portfolio is long-only and fully invested.' }),
  relax: DerivationPayload.shape.relax,
})).meta({ id: 'OptimiseRequest' });

export const OptimisationRunRequest = defineObject(() => ({
  ...OptimisationRequest.shape,
  ...getOptimisationFields(),
})).meta({
  id: 'OptimisationRunRequest',
});

const OptimisationPreviewBody = defineObject(() => ({
  ...OptimisationPreviewRequest.shape,
  ...getOptimisationFields(),
  constraints: z
    .array(getConstraintRowSchema())
    .max(500)
    .default([])
    .meta({ description: 'Constraints. Without constraints, the portfolio is long-only and fully invested.' }),
})).meta({ id: 'OptimisationPreviewRequest' });

export const OptimisationJobStatus = createJobStatus('OptimisationJobStatus', 'optimise', OptimisationRunResult);

const setPath = defineObject(() => ({ constraint_set_id: Id.meta({ description: 'Id of the constraint set.' }) }));
const example = {
  id: 'core',
  name: 'Core limits',
  constraints: [
    { id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.05 } },
    { id: 'sec', type: 'ActiveGroupBounds', params: { field: 'SECTOR', lower: -0.02, upper: 0.02 } },
    { id: 'turn', type: 'Turnover', params: { limit: 0.15, reference: 'index', priority: 2 } },
    { id: 'n', type: 'Cardinality', params: { maximum: 90 } },
  ],
};
const tag = 'optimise';

export const optimiseRoutes = defineRoutes(tag, {
  listConstraintSets: {
    method: 'GET',
    path: '/optimise/constraint-sets',
    call: 'optimisations.listSets',
    scope: 'read',
    summary: 'Lists the stored constraint sets, by id.',
    query: listingQuery,
    success: { status: 200, description: 'The sets.', schema: ConstraintSetCollection },
  },
  createConstraintSet: {
    method: 'POST',
    path: '/optimise/constraint-sets',
    call: 'optimisations.createSet',
    scope: 'write',
    summary: 'Stores a new constraint set.',
    versioned: true,
    description: 'An existing id is refused with the finding DUPLICATE_ID. Use PUT to replace a definition.',
    body: { schema: ConstraintSetBody, document: true, example },
    success: { status: 200, description: 'The stored set with its warnings.', schema: SavedConstraintSet },
  },
  validateConstraintSet: {
    method: 'POST',
    path: '/optimise/constraint-sets/validate',
    call: 'optimisations.validateSet',
    onStore: 'query',
    scope: 'read',
    summary: 'Validates a constraint set. Nothing is stored.',
    body: { schema: ConstraintSetBody, document: true, report: true, example },
    success: { status: 200, description: 'The report.', schema: ValidationReport },
  },
  getConstraintSet: {
    method: 'GET',
    path: '/optimise/constraint-sets/{constraint_set_id}',
    scope: 'read',
    summary: 'Returns a stored constraint set, in the form that PUT accepts.',
    params: setPath,
    success: { status: 200, description: 'The set.', schema: ConstraintSet },
    errors: ['CONSTRAINT_SET_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  putConstraintSet: {
    method: 'PUT',
    path: '/optimise/constraint-sets/{constraint_set_id}',
    call: 'optimisations.replaceSet',
    scope: 'write',
    summary: 'Stores or replaces a constraint set.',
    versioned: true,
    params: setPath,
    body: { schema: ConstraintSetBody, document: true, example },
    success: { status: 200, description: 'The stored set with its warnings.', schema: SavedConstraintSet },
    errors: ['ID_MISMATCH'],
  },
  deleteConstraintSet: {
    method: 'DELETE',
    path: '/optimise/constraint-sets/{constraint_set_id}',
    call: 'optimisations.removeSet',
    scope: 'write',
    summary: 'Deletes a constraint set.',
    versioned: true,
    params: setPath,
    query: purgeQuery,
    success: { status: 204, description: 'Deleted.' },
    errors: ['CONSTRAINT_SET_NOT_FOUND'],
  },
  listConstraintTypes: {
    method: 'GET',
    path: '/optimise/constraint-types',
    call: 'optimisations.types',
    scope: 'read',
    summary: 'Lists every constraint class with its parameters.',
    success: { status: 200, description: 'The catalogue.', schema: ConstraintTypes },
  },
  listObjectiveTypes: {
    method: 'GET',
    path: '/optimise/objective-types',
    call: 'optimisations.objectiveTypes',
    scope: 'read',
    summary: 'Lists every objective and every model of expected returns with its parameters.',
    success: { status: 200, description: 'The catalogue.', schema: ObjectiveTypes },
  },
  startOptimisation: {
    method: 'POST',
    path: '/optimise/runs',
    call: 'optimisations.start',
    onStore: 'query',
    scope: 'run',
    summary: 'Optimises the weights of an index under a constraint set, as a job.',
    description:
      'The default objective is the minimum tracking variance relative to the index weights. /optimise/objective-types lists other objectives. If the constraints conflict, the job fails with INFEASIBLE, and `detail` contains an irreducible conflict and the smallest changes that resolve it.',
    body: {
      schema: OptimisationRunRequest,
      document: true,
      example: {
        index_id: 'LARGE-100',
        constraint_set_id: 'core',
        objective: { type: 'max_utility', risk_aversion: 4 },
        expected_returns: { type: 'capm', risk_aversion: 2.5 },
      },
    },
    success: { status: 202, description: 'The job; see Location.', schema: OptimisationJobStatus },
    errors: [
      'INDEX_NOT_FOUND',
      'CONSTRAINT_SET_NOT_FOUND',
      'RISK_MODEL_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'INVALID_RANGE',
      'NO_DATA_IN_RANGE',
      'NO_DATA_AT_DATE',
      'NO_DATA_SOURCE',
    ],
  },
  previewOptimisation: {
    method: 'POST',
    path: '/optimise/preview',
    call: 'optimisations.preview',
    onStore: 'query',
    scope: 'read',
    summary: 'Computes the weights of an optimisation without a job. Nothing is stored.',
    description:
      'Solves the same problem as a run of the same request: the window, the securities and the findings are equal. Only a run reports shadow prices of constraints and the frontier.',
    body: {
      schema: OptimisationPreviewBody,
      document: true,
      example: { index_id: 'LARGE-100', constraints: example.constraints.slice(0, 2) },
    },
    success: { status: 200, description: 'Weights of the optimisation and of the index.', schema: PreviewResponse },
    errors: [
      'INDEX_NOT_FOUND',
      'RISK_MODEL_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'INVALID_RANGE',
      'NO_DATA_IN_RANGE',
      'RISK_INSUFFICIENT_DATA',
      ...compositionErrors,
    ],
  },
  getOptimisation: {
    method: 'GET',
    path: '/optimise/runs/{run_id}',
    scope: 'read',
    summary: 'Returns the result of a finished optimisation.',
    description: 'A result is deleted together with its job: see `--jobs-kept`.',
    params: defineObject(() => ({ run_id: Id.meta({ description: 'Id of the run.' }) })),
    success: { status: 200, description: 'The result.', schema: OptimisationRunResult },
    errors: ['RUN_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  optimiseIndex: {
    method: 'POST',
    path: '/indices/{index_id}/optimise',
    scope: 'write',
    tag: 'indices',
    summary: 'Stores a new index that is optimised relative to this index at each rebalance.',
    versioned: true,
    description: 'Base date, base value, currency, calendar and schedule are copied from the parent.',
    params: defineObject(() => ({ index_id: Id })),
    body: {
      schema: OptimiseRequest,
      document: true,
      example: { id: 'LARGE-100-CORE', name: 'Large hundred, core limits', constraints: example.constraints },
    },
    success: { status: 200, description: 'The stored document with its warnings.', schema: SavedIndex },
    errors: ['INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'INDEX_EXISTS'],
  },
});
