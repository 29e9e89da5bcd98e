import { z } from 'zod';
import { type Finding, hasErrors, keepSmallValue } from '../base/findings.js';
import { toCanonicalJson } from '../base/json.js';
import { LIMITS } from '../base/limits.js';
import { assertNoErrors } from '../base/refusals.js';
import { checkShape, defineObject, Id, IsoDate } from '../base/schema.js';
import { checkParams } from './catalogue.js';
import { CONSTRAINT_ROWS_MAX, ConstraintRow, findStepParameter, isBoundPath, RelaxEntry } from './constraint-class.js';
import { checkRows, validateConstraints } from './constraint-sets.js';
import { findConstraintClass } from './constraints.js';
import { parseRequest } from './document-expressions.js';
import {
  createErrorFinding,
  DerivationPayload,
  findUnknownMembers,
  type IndexContext,
  type IndexDocument,
  isDerivedDocument,
  isObject,
  stateRowDefaults,
  type UncheckedBody,
} from './index-document.js';
import {
  checkOptimisation,
  optimisationFields,
  type OptimisationSpec,
  readExpectedReturns,
  readObjective,
} from './optimisation.js';
import { checkReference } from './references.js';

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

interface ParsedStudy {
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

/** Checks the source, objective and constraint rows of a derived index. */
export function checkDerivation(
  derivation: UncheckedBody,
  body: UncheckedBody,
  { indexOf, replaces }: IndexContext,
): Finding[] {
  const findings: Finding[] = [];
  const { source_index_id: source, constraints } = derivation;
  if (typeof source === 'string') {
    const path = 'derivation.source_index_id';
    findings.push(...checkReference(source, body['id'], path, indexOf));
    const before = replaces?.derivation?.source_index_id;
    if (before !== undefined && before !== source) {
      findings.push(
        createErrorFinding(
          'IMMUTABLE_FIELD',
          path,
          `The source of a derived index cannot change. It is ${before}, not ${source}.`,
          {
            value: source,
          },
        ),
      );
    }
  }
  findings.push(...checkOptimisation(derivation, 'derivation.', true));
  if (Array.isArray(constraints)) findings.push(...reportConstraints(constraints));
  findings.push(...reportRelaxation(derivation['relax'], constraints));
  return findings;
}

/**
 * Requires that a derived index keeps its derivation. Otherwise its source could change when a document without a
 * derivation is stored.
 */
export function reportDroppedSource({ id, derivation }: UncheckedBody, { replaces }: IndexContext): Finding[] {
  const before = replaces?.derivation?.source_index_id;
  if (before === undefined || (derivation !== undefined && derivation !== null)) return [];
  const message = `The source of a derived index cannot change. The source of ${String(id)} is ${before}, but the document has no derivation. Use another id for an index with rules.`;
  return [createErrorFinding('IMMUTABLE_FIELD', 'derivation.source_index_id', message, { value: null })];
}

/**
 * Checks the constraint rows that match the schema. Invalid rows keep their positions in the list, so that paths match
 * the request.
 */
function reportConstraints(rows: readonly unknown[]): Finding[] {
  const parsedRows = rows.map((row) =>
    ConstraintRow.safeParse(isObject(row) ? { id: row['id'], type: row['type'], params: row['params'] } : row),
  );
  if (parsedRows.every(({ success }) => success))
    return validateConstraints(
      parsedRows.map(({ data }) => data!),
      { path: 'derivation.constraints', followPaths: true },
    );
  return parsedRows.flatMap(({ data }, i) =>
    data === undefined
      ? []
      : validateConstraints([data], { path: 'derivation.constraints', followPaths: true }).map((finding) => ({
          ...finding,
          path: finding.path.replace('[0]', `[${i}]`),
        })),
  );
}

/**
 * Reports relaxation entries for rows that do not exist, steps that the class of a row does not accept, and unknown
 * members.
 */
function reportRelaxation(relax: unknown, constraints: unknown): Finding[] {
  if (!Array.isArray(relax)) return [];
  const rows = (Array.isArray(constraints) ? constraints : []).flatMap(
    (row) => ConstraintRow.safeParse(row).data ?? [],
  );
  return relax.flatMap((relaxEntry: unknown, i): Finding[] => {
    const path = `derivation.relax[${i}]`;
    const unknownFindings = findUnknownMembers(relaxEntry, Object.keys(RelaxEntry.shape), path);
    const entry = RelaxEntry.safeParse(relaxEntry).data;
    if (entry === undefined) return unknownFindings;
    const row = rows.find(({ id }) => id === entry.row);
    if (row !== undefined) return [...unknownFindings, ...reportSteps(row, entry, path)];
    const rowIds = rows.map(({ id }) => id).filter((id) => id !== '');
    const message = `${path}.row is ${entry.row}, which is not the id of a constraint. The accepted ids are ${rowIds.join(', ')}.`;
    return [
      ...unknownFindings,
      createErrorFinding('NOT_IN_CHOICES', `${path}.row`, message, { accepted: rowIds, value: entry.row }),
    ];
  });
}

function reportSteps(row: ConstraintRow, { steps }: RelaxEntry, path: string): Finding[] {
  const entry = findConstraintClass(row.type);
  if (entry === undefined) return [];
  return steps.flatMap((step, k): Finding[] => {
    const stepPath = `${path}.steps[${k}]`;
    const params = findStepParameter(entry, step);
    if (params !== undefined && Object.values(params).some(isBoundPath))
      return [
        createErrorFinding(
          'WRONG_TYPE',
          stepPath,
          `${stepPath} changes over time, which is not possible for a step. Use a number.`,
          {
            row_id: row.id,
          },
        ),
      ];
    if (params !== undefined)
      return checkParams(entry.params, { ...row.params, ...params }, { path: stepPath, rowId: row.id }).findings;
    const message = `${stepPath} is ${JSON.stringify(step)}, but a constraint of the class ${row.type} has no main limit. Use an object with its parameters.`;
    return [createErrorFinding('WRONG_TYPE', stepPath, message, { row_id: row.id, value: step })];
  });
}

/**
 * Fields that a derived index copies from its parent when it is created. Later changes of the parent do not affect
 * them.
 */
const INHERITED_FIELDS = ['base_date', 'base_value', 'currency', 'calendar', 'rebalance'] as const;

export function checkInheritance(document: IndexDocument, { indexOf }: IndexContext): Finding[] {
  if (!isDerivedDocument(document)) return [];
  const parent = indexOf(document.derivation.source_index_id);
  if (parent === undefined) return [];
  return INHERITED_FIELDS.filter((field) => toCanonicalJson(document[field]) !== toCanonicalJson(parent[field])).map(
    (field) => ({
      severity: 'warning' as const,
      code: 'PARENT_CHANGED' as const,
      path: field,
      message: `${field} differs from the value of the parent ${parent.id}, which is ${JSON.stringify(parent[field])}.`,
      ...keepSmallValue(document[field]),
    }),
  );
}

/** Fields of a request for a new derived index. The other fields are copied from the parent. */
const DerivationRequest = defineObject(() => ({
  id: Id,
  name: z.string().min(1).max(200),
  description: z.string().max(10_000).nullable().default(null),
  ...optimisationFields,
  constraints: DerivationPayload.shape.constraints,
  relax: DerivationPayload.shape.relax,
}));
type DerivationRequest = z.infer<typeof DerivationRequest>;

/** Reads the request in a body. @throws Refusal VALIDATION_FAILED with the path of each invalid row */
export function readDerivation(body: unknown): DerivationRequest {
  const { body: raw, findings: ofTexts } = parseRequest(isObject(body) ? body : {});
  const { value, findings } = checkShape(DerivationRequest, isObject(body) ? raw : body);
  const all = [
    ...findings,
    ...ofTexts,
    ...checkOptimisation(raw, '', true),
    ...checkRows(raw['constraints'], 'constraints', true),
  ];
  assertNoErrors('request', all);
  if (value === undefined) throw new Error('a request without errors has a value');
  return value;
}

/**
 * Creates the document of a new derived index, with the base date, base value, currency, calendar and cadence of its
 * parent.
 */
export function createDerivedDocument(
  parent: IndexDocument,
  { id, name, description, ...derivation }: DerivationRequest,
): Record<string, unknown> {
  return {
    id,
    name,
    description,
    ...Object.fromEntries(INHERITED_FIELDS.map((field) => [field, parent[field]])),
    derivation: { source_index_id: parent.id, ...derivation },
  };
}

export const FRONTIER_RISKS = ['volatility', 'tracking_error', 'cvar', 'cdar'] as const;
export type FrontierRisk = (typeof FRONTIER_RISKS)[number];

/**
 * Returns the risk-free rate for the tangency portfolio. It is the requested rate. If the expected returns are above
 * cash and include the cash rate of the objective, it is that cash rate.
 */
export function readTangencyRate(spec: OptimisationSpec, requestedRate: number): number {
  return isAboveCash(spec) ? readCashRate(spec) : requestedRate;
}

/** Reports a tangency rate that has no effect, or that differs from the rate of the objective. */
export function checkTangencyRate(spec: OptimisationSpec, requestedRate: number): Finding[] {
  const cash = readCashRate(spec);
  const report = { path: 'risk_free_rate', value: requestedRate };
  if (requestedRate === cash) return [];
  if (isAboveCash(spec)) {
    if (requestedRate === 0) return [];
    const message = `risk_free_rate ${requestedRate} has no effect: the expected returns are above cash, with the cash rate ${cash} of the objective.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', message, ...report }];
  }
  if (cash === 0 || requestedRate !== 0) return [];
  const message = `The tangency point of the frontier uses risk_free_rate ${requestedRate}, but the objective uses ${cash}.`;
  return [{ severity: 'info', code: 'DEFAULT_TAKEN', message, ...report }];
}

function isAboveCash(spec: OptimisationSpec): boolean {
  return readExpectedReturns(spec)?.entry.isAboveCash === true;
}

function readCashRate({ objective }: OptimisationSpec): number {
  const { entry, params } = readObjective(objective);
  return entry.cash(params);
}
