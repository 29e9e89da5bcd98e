import { z } from 'zod';
import { callOnce } from '#base/once.js';
import { defineObject } from '#domain/schema/define-object.js';
import { CONSTRAINT_CLASSES } from '#domain/constraints/catalogue.js';
import { ConstraintSet } from '#domain/documents/constraint-set.js';
import { ConstraintRow } from '#domain/constraints/constraint-row.js';
import { OptimisationPreviewRequest, OptimisationRequest } from '#domain/documents/optimisation-request.js';
import { DerivationPayload } from '#domain/documents/index-document.js';
import { CostsSpec, optimisationFields } from '#domain/documents/optimisation-spec.js';
import { UncertaintySpec } from '#domain/documents/uncertainty-spec.js';
import { RETURNS_CLASSES } from '#domain/expected-returns/catalogue.js';
import { OBJECTIVE_CLASSES } from '#domain/objectives/catalogue.js';
import { MEASURE_FORMS, type Measure } from '#domain/objectives/objective-class.js';
import { Id } from '#domain/schema/shape.js';
import { compositionErrors, listingQuery, purgeQuery, TypeSpec, ValidationReport } from './common.js';
import { ConstraintSetCollection, SavedConstraintSet } from './constraint-sets.js';
import { SavedIndex } from './indices/definition.js';
import { PreviewResponse } from './indices/preview.js';
import { createJobStatus } from './jobs.js';
import { OptimisationRunResult } from './optimisation-result.js';
import { defineRoutes } from './route.js';

export const ConstraintTypes = defineObject(() => ({
  types: z
    .record(z.string(), z.array(z.string()))
    .meta({ description: 'Parameter names of each constraint class, in form order.' }),
  specs: z.array(TypeSpec).meta({ description: 'Constraint classes with all details.' }),
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

/** Copies the description of a schema to a schema that is derived from it. */
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
  risk_model: copyDescription(optimisationFields.risk_model.unwrap().default(null), optimisationFields.risk_model),
  candidates: copyDescription(optimisationFields.candidates.unwrap().default('parent'), optimisationFields.candidates),
}));

const ObjectiveTypeSpec = defineObject(() => ({
  ...TypeSpec.shape,
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
  expected_returns: z.array(TypeSpec).meta({ description: 'Models of expected returns.' }),
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

export const OptimisationPreviewBody = defineObject(() => ({
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

export const optimiseRoutes = defineRoutes({
  listConstraintSets: {
    method: 'GET',
    path: '/optimise/constraint-sets',
    scope: 'read',
    tag,
    summary: 'Lists the stored constraint sets, by id.',
    query: listingQuery,
    success: { status: 200, description: 'The sets.', schema: ConstraintSetCollection },
    errors: [],
  },
  createConstraintSet: {
    method: 'POST',
    path: '/optimise/constraint-sets',
    scope: 'write',
    tag,
    summary: 'Stores a new constraint set.',
    versioned: true,
    description: 'An existing id is refused with the finding DUPLICATE_ID. Use PUT to replace a definition.',
    body: { schema: ConstraintSetBody, document: true, example },
    success: { status: 200, description: 'The stored set with its warnings.', schema: SavedConstraintSet },
    errors: [],
  },
  validateConstraintSet: {
    method: 'POST',
    path: '/optimise/constraint-sets/validate',
    onStore: 'query',
    scope: 'read',
    tag,
    summary: 'Validates a constraint set. Nothing is stored.',
    body: { schema: ConstraintSetBody, document: true, report: true, example },
    success: { status: 200, description: 'The report.', schema: ValidationReport },
    errors: [],
  },
  getConstraintSet: {
    method: 'GET',
    path: '/optimise/constraint-sets/{constraint_set_id}',
    scope: 'read',
    tag,
    summary: 'Returns a stored constraint set, in the form that PUT accepts.',
    params: setPath,
    success: { status: 200, description: 'The set.', schema: ConstraintSet },
    errors: ['CONSTRAINT_SET_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  putConstraintSet: {
    method: 'PUT',
    path: '/optimise/constraint-sets/{constraint_set_id}',
    scope: 'write',
    tag,
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
    scope: 'write',
    tag,
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
    scope: 'read',
    tag,
    summary: 'Lists every constraint class with its parameters.',
    success: { status: 200, description: 'The catalogue.', schema: ConstraintTypes },
    errors: [],
  },
  listObjectiveTypes: {
    method: 'GET',
    path: '/optimise/objective-types',
    scope: 'read',
    tag,
    summary: 'Lists every objective and every model of expected returns with its parameters.',
    success: { status: 200, description: 'The catalogue.', schema: ObjectiveTypes },
    errors: [],
  },
  startOptimisation: {
    method: 'POST',
    path: '/optimise/runs',
    onStore: 'query',
    scope: 'run',
    tag,
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
    onStore: 'query',
    scope: 'read',
    tag,
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
    tag,
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
