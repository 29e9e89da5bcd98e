import { z } from 'zod';
import { type Finding, hasErrors } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { assertNoErrors } from '../base/refusals.js';
import { checkShape, defineObject, Id, IsoDate } from '../base/schema.js';
import { CONSTRAINT_ROWS_MAX, ConstraintRow } from './constraint-class.js';
import { checkRows } from './constraint-sets.js';
import { parseRequest } from './document-expressions.js';
import { stateRowDefaults } from './index-document.js';
import { checkOptimisation, optimisationFields } from './optimisation.js';

/** Document of a finished optimisation, stored under its run id; its result is stored separately as bytes. */
export const OptimisationDocument = defineObject(() => ({
  run_id: z.string(),
  index_id: z.string(),
  constraint_set_id: z.string(),
  store_content_hash: z.string(),
  artifact: z.strictObject({ name: z.string(), bytes: z.int().min(0), sha256: z.string() }),
}));
export type OptimisationDocument = z.infer<typeof OptimisationDocument>;

const Resampling = defineObject(() => ({
  draws: z.int().min(1).max(LIMITS.MAX_FRONTIER_DRAWS).default(100).meta({ description: 'Number of histories drawn.' }),
  seed: z
    .int()
    .min(0)
    .default(0)
    .meta({ description: 'Seed of the draws. Equal seeds give equal draws, for any number of workers.' }),
  sessions: z
    .int()
    .min(LIMITS.MIN_MODEL_OBSERVATIONS)
    .max(LIMITS.MAX_SCENARIOS)
    .nullable()
    .default(null)
    .meta({ description: 'Number of returns in each history. Null: the number in the window.' }),
})).meta({
  id: 'Resampling',
  description:
    'Frontier that is averaged over draws from the estimated moments, in addition to the frontier of the estimates.',
});

export const OptimisationRequest = defineObject(() => ({
  index_id: Id.meta({ description: 'Index whose weights are the target.' }),
  constraint_set_id: Id,
  ...optimisationFields,
  as_of: IsoDate.nullable().default(null).meta({
    description:
      'Rebalance whose weights are the target: the latest on or before this day; null for the latest rebalance.',
  }),
  start: IsoDate.nullable().default(null).meta({ description: 'First day of the window of the risk model.' }),
  end: IsoDate.nullable().default(null).meta({
    description: 'Last day of the window of the risk model. It is never after the decision date of the rebalance.',
  }),
  risk_free_rate: z
    .number()
    .min(-1)
    .max(1)
    .default(0)
    .meta({ description: 'Annual risk-free rate for the tangency portfolio of the frontier.' }),
  resampling: Resampling.nullable().default(null),
  proof: z.enum(['quick', 'thorough']).default('quick').meta({
    description:
      'Effort to prove a selection of securities: `quick` within seconds, `thorough` within about a minute of one processor. `gap` of the result states the remaining uncertainty.',
  }),
}));
export type OptimisationRequest = z.infer<typeof OptimisationRequest>;

/** Request for a preview of an optimisation: the fields of a run, with constraint rows instead of a stored set. */
export const OptimisationPreviewRequest = OptimisationRequest.omit({
  constraint_set_id: true,
  risk_free_rate: true,
  resampling: true,
  proof: true,
}).extend({ constraints: z.array(ConstraintRow).max(CONSTRAINT_ROWS_MAX).default([]) });
export type OptimisationPreviewRequest = z.infer<typeof OptimisationPreviewRequest>;

/** Reads a preview request from a body. @throws Refusal VALIDATION_FAILED, with the path of each finding */
export function readOptimisationPreview(body: Readonly<Record<string, unknown>>): OptimisationPreviewRequest {
  const { value, findings } = checkShape(OptimisationPreviewRequest, body);
  const rowFindings = checkRows(body['constraints'], 'constraints');
  assertNoErrors('request', [...findings, ...checkOptimisation(body, ''), ...rowFindings]);
  if (value === undefined) throw new Error('a request without errors has a value');
  return { ...value, constraints: [...stateRowDefaults(value.constraints, 'today')] };
}

/** Reads a run request from a body. @throws Refusal VALIDATION_FAILED, with the path of each finding */
export function readOptimisationRequest(body: Body): OptimisationRequest {
  const { value, findings } = checkRequest(body);
  assertNoErrors('request', findings);
  if (value === undefined) throw new Error('a request without errors has a value');
  return value;
}

type Body = Readonly<Record<string, unknown>>;

function checkRequest(body: Body) {
  const { body: read, findings: ofTexts } = parseRequest(body);
  const { value, findings } = checkShape(OptimisationRequest, read);
  return { value, findings: [...findings, ...ofTexts, ...checkOptimisation(read, '')] };
}

/** Request for a study of many optimisations; each run is read separately. */
const StudyRequest = defineObject(() => ({
  study_id: Id.nullable().default(null),
  runs: z.array(z.record(z.string(), z.unknown())).min(1).max(LIMITS.MAX_STUDY_RUNS),
}));

export interface ParsedStudy {
  /** Id of the study; null: generated. */
  readonly studyId: string | null;
  readonly requests: readonly OptimisationRequest[];
}

/** Maximum number of runs whose findings the refusal of a study lists. */
const FAULTY_RUNS_MAX = 100;

export interface StudyRun {
  /** Undefined if a finding is an error. */
  readonly request: OptimisationRequest | undefined;
  /** Errors with their paths in the study. */
  readonly errors: readonly Finding[];
}

export function readStudyRun(run: Body, position: number): StudyRun {
  const { value, findings } = checkRequest(run);
  const path = `runs[${position}]`;
  const errors = hasErrors(findings)
    ? findings.map((finding) => ({ ...finding, path: finding.path === '' ? path : `${path}.${finding.path}` }))
    : [];
  return { request: errors.length === 0 ? value : undefined, errors };
}

/** Returns the requests of a study whose runs were read. @throws Refusal VALIDATION_FAILED */
export function joinStudyRuns(runs: readonly StudyRun[]): readonly OptimisationRequest[] {
  const faultyRuns = runs.filter(({ errors }) => errors.length > 0).slice(0, FAULTY_RUNS_MAX);
  assertNoErrors(
    'request',
    faultyRuns.flatMap(({ errors }) => errors),
  );
  return runs.map(({ request }) => request!); // no run has errors
}

/** Reads the requests in the body of a study. @throws Refusal VALIDATION_FAILED, with the path of each finding */
export function readStudyRequest(body: Body): ParsedStudy {
  const { value, findings } = checkShape(StudyRequest, body);
  assertNoErrors('request', findings);
  if (value === undefined) throw new Error('a request without errors has a value');
  return { studyId: value.study_id, requests: joinStudyRuns(value.runs.map(readStudyRun)) };
}
