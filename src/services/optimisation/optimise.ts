import { randomBytes } from 'node:crypto';
import type { ConstraintSetCollection } from '#contract/constraint-sets.js';
import type { ConstraintTypes, ObjectiveTypes } from '#contract/optimise.js';
import { assertOrder, assertHeld } from '#domain/schema/assert-order.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { returnsSpecs } from '#domain/expected-returns/catalogue.js';
import { heldBytes } from '#base/memory/kept-memory.js';
import { objectiveSpecs } from '#domain/objectives/catalogue.js';
import { constraintSpecs } from '#domain/constraints/catalogue.js';
import { checkConstraintSet, readConstraintSet, type ConstraintSet } from '#domain/documents/constraint-set.js';
import { dayFrom } from '#domain/time/days.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import {
  readOptimisationPreview,
  readOptimisationRequest,
  type OptimisationRequest,
} from '#domain/documents/optimisation-request.js';
import type { OptimisationSpec } from '#domain/documents/optimisation-spec.js';
import { OptimisationDocument } from '#domain/documents/optimisation-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { compareText, hasErrors, orderFindings, type Finding } from '#domain/refusals/findings.js';
import type { MarketData } from '#domain/market/market-data.js';
import { constraintFieldFindings, specFieldFindings } from '#domain/optimisation/field-uses.js';
import { marketFindings } from '#domain/checks/index-on-market.js';
import { unknownRowNames } from '#domain/checks/names-on-market.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { firstAtLeast } from '#domain/numbers/search.js';
import type { JobKind, Jobs } from '#jobs/job-kind.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { Markets } from '#market/serving/markets.js';
import { versionWith } from '#store/history/history.js';
import type { ArtifactStore, DocumentStore, DocumentTransaction, StoredDocument } from '#store/port.js';
import { parseStored, readStored } from '#store/read-stored.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { reachedBy, versioned } from '../indices/index-questions.js';
import { onStoreOf } from '../indices/on-store.js';
import { plannedModel, storedModelOf } from '#domain/documents/used-models.js';
import type { OptimisationPayload } from '#domain/jobs/payloads.js';
import { assertPrecondition, type Precondition } from '../shared/preconditions.js';
import { assertDecides } from '#domain/checks/validate-overlay.js';
import { requireIndex, type StoredIndex } from '../stored/stored-indices.js';
import { modelFiles, namedModelFile, plannedModels, requireModel } from '../stored/used-models.js';

type Body = Readonly<Record<string, unknown>>;

export interface SavedSet {
  readonly saved: { readonly constraint_set: ConstraintSet; readonly findings: readonly Finding[] };
  readonly etag: string;
}

export interface Optimise {
  listSets(query: {
    readonly limit?: number | undefined;
    readonly after?: string | undefined;
  }): Promise<ConstraintSetCollection>;
  /** @throws Refusal CONSTRAINT_SET_NOT_FOUND, DOCUMENT_UNREADABLE */
  getSet(setId: string): Promise<{ readonly set: ConstraintSet; readonly etag: string }>;
  /** @throws Refusal VALIDATION_FAILED */
  createSet(body: Body, by?: Authorship): Promise<SavedSet>;
  /** @throws Refusal ID_MISMATCH, VALIDATION_FAILED, PRECONDITION_FAILED */
  replaceSet(setId: string, body: Body, ifMatch: Precondition | undefined, by?: Authorship): Promise<SavedSet>;
  /** @throws Refusal CONSTRAINT_SET_NOT_FOUND, PRECONDITION_FAILED */
  removeSet(setId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
  validateSet(body: Body): { readonly valid: boolean; readonly findings: readonly Finding[] };
  types(): ConstraintTypes;
  objectiveTypes(): ObjectiveTypes;
  /**
   * @throws Refusal VALIDATION_FAILED, INDEX_NOT_FOUND, CONSTRAINT_SET_NOT_FOUND, RISK_MODEL_NOT_FOUND, INVALID_RANGE,
   *   NO_DATA_AT_DATE, NO_DATA_SOURCE
   */
  start(body: Body, origin: Origin | null): Promise<JobStatus>;
  /**
   * The weights that a run of the same request would come to, as a PreviewResponse.
   * @throws Refusal what `start` refuses at once, and what its job would fail with
   */
  preview(body: Body, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
  /** Bytes of a finished run. @throws Refusal RUN_NOT_FOUND, DOCUMENT_UNREADABLE */
  result(
    runId: string,
  ): Promise<{ readonly length: number; readonly etag: string; open(): Promise<ReadableStream<Uint8Array>> }>;
}

export interface OptimiseDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly jobs: Pick<Jobs, 'submit' | 'query'>;
  readonly kind: JobKind<OptimisationPayload>;
  readonly markets: Markets;
  readonly stores: Pick<StoreMarkets, 'within'>;
  readonly calendars: Calendars;
  readonly now: () => number;
}

export function createOptimise(dependencies: OptimiseDependencies): Optimise {
  const { documents, artifacts, jobs, kind, markets, stores, calendars, now } = dependencies;
  const catalogue: ConstraintTypes = {
    types: Object.fromEntries(
      constraintSpecs.map(({ type, parameters }) => [type, parameters.map(({ name }) => name)]),
    ),
    specs: constraintSpecs as ConstraintTypes['specs'], // read-only lists on the one side, plain ones on the other
  };
  const objectives: ObjectiveTypes = {
    objectives: objectiveSpecs as ObjectiveTypes['objectives'],
    expected_returns: returnsSpecs as ObjectiveTypes['expected_returns'],
  };

  async function save(
    body: Body,
    allow: (tx: DocumentTransaction) => Promise<readonly Finding[]>,
    by: Authorship | undefined,
  ): Promise<SavedSet> {
    const write = async (tx: DocumentTransaction): Promise<SavedSet> => {
      const own = await allow(tx);
      const { set, findings } = checkConstraintSet(body);
      const all = orderFindings([...own, ...findings, ...marketWarnings(set)]);
      if (set === undefined || hasErrors(all)) throw refuseWithFindings('constraint set', all);
      return { saved: { constraint_set: set, findings: all }, etag: await tx.put('constraint-set', set.id, set) };
    };
    return documents.transaction(write, { by });
  }

  /** Data that the served market lacks is a warning when a set is saved: another store may have it. */
  function marketWarnings(set: ConstraintSet | undefined): Finding[] {
    const market = markets.current()?.market;
    return set === undefined || market === undefined
      ? []
      : [
          ...constraintFieldFindings(set.constraints, market, { path: 'constraints', severity: 'warning' }),
          ...unknownRowNames(set.constraints, market, 'constraints'),
        ];
  }

  async function getSet(setId: string): Promise<{ readonly set: ConstraintSet; readonly etag: string }> {
    const stored = await documents.get('constraint-set', setId);
    if (stored === undefined) throw setNotFound(setId);
    const set = readStored(stored, readConstraintSet);
    if (set === undefined)
      throw new Refusal('DOCUMENT_UNREADABLE', `The constraint set ${setId} cannot be read; it can still be deleted.`);
    return { set, etag: (stored as StoredDocument).etag }; // readable, as its document was
  }

  /** Invalid rows of a stored set, and rows that need data that the market lacks, are errors before any work begins. */
  function assertRows(set: ConstraintSet, market: MarketData): void {
    assertNoErrors(`constraint set ${set.id}`, [
      ...checkConstraintSet(set).findings,
      ...constraintFieldFindings(set.constraints, market, { path: 'constraints', severity: 'error' }),
    ]);
  }

  /** Data that the served market lacks for an index is an error before any work begins. */
  function assertComputable(
    reached: Readonly<Record<string, IndexDocument>>,
    { market, request }: { readonly market: MarketData; readonly request: OptimisationSpec },
  ): void {
    for (const document of Object.values(reached))
      assertNoErrors(
        `index document ${document.id}`,
        marketFindings(document, market, { severity: 'error', indexOf: (id) => reached[id] }),
      );
    assertNoErrors('request', specFieldFindings(request, market, { path: '', severity: 'error' }));
  }

  /** The stored risk models of a run. @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED */
  async function modelsOf(
    request: OptimisationRequest,
    reached: Readonly<Record<string, IndexDocument>>,
  ): Promise<Pick<OptimisationPayload, 'models'>> {
    const own = storedModelOf(request);
    const used = await plannedModels(documents, reached);
    if (own === undefined) return used;
    return { models: { ...used.models, [own]: plannedModel((await requireModel(documents, own)).document) } };
  }

  /** @throws Refusal NO_DATA_AT_DATE when no rebalance can be on or before the day */
  function assertReached(document: IndexDocument, asOf: string | null, market: MarketData): void {
    if (asOf === null) return;
    const calendar = calendars.get(document.calendar);
    const from = Math.max(dayFrom(document.base_date), market.dates[0] ?? 0);
    const first = calendar?.sessions[firstAtLeast(calendar.sessions, from)];
    if (first !== undefined && first <= dayFrom(asOf)) return;
    throw new Refusal('NO_DATA_AT_DATE', `The index ${document.id} has no rebalance on or before ${asOf}.`, {
      as_of: asOf,
    });
  }

  /** The index of a request with all that it reaches, on data that has what they read. */
  async function prepare({ document }: StoredIndex, request: ComputedRequest) {
    assertOrder(request);
    const { handle, market } = markets.require();
    assertHeld(market, request);
    const reached = await reachedBy(documents, document);
    assertComputable(reached, { market, request });
    assertReached(document, request.as_of, market);
    return { handle, market, reached };
  }

  /** An index that weights can be optimised of. */
  async function targetOf(indexId: string): Promise<StoredIndex> {
    const stored = await requireIndex(documents, indexId);
    assertDecides(stored.document);
    return stored;
  }

  return {
    getSet,
    async listSets({ limit, after }) {
      const { documents: sets, skipped, skipped_causes } = await documents.list('constraint-set', readConstraintSet);
      const wanted = sets.filter(({ id }) => after === undefined || compareText(id, after) > 0);
      return {
        constraint_sets: wanted.slice(0, limit ?? wanted.length),
        skipped,
        skipped_causes: { ...skipped_causes },
      };
    },
    createSet(body, by) {
      const isFree = async (tx: DocumentTransaction): Promise<readonly Finding[]> => {
        const id = body['id'];
        if (typeof id !== 'string' || (await tx.get('constraint-set', id)) === undefined) return [];
        return [
          {
            severity: 'error',
            code: 'DUPLICATE_ID',
            path: 'id',
            message: `A constraint set is already stored under the id ${id}; replacing it is done with PUT.`,
            value: id,
          },
        ];
      };
      return save(body, isFree, by);
    },
    replaceSet(setId, body, ifMatch, by) {
      const id = body['id'];
      if (typeof id === 'string' && id !== setId) {
        const message = `The id ${id} in the body is not the id ${setId} in the path.`;
        throw new Refusal('ID_MISMATCH', message, {
          findings: [{ severity: 'error', code: 'ID_MISMATCH', path: 'id', message, value: id }],
        });
      }
      const isExpected = async (tx: DocumentTransaction): Promise<readonly Finding[]> => {
        await assertPrecondition(tx, 'constraint-set', setId, ifMatch);
        return [];
      };
      return save(body, isExpected, by);
    },
    async removeSet(setId, ifMatch, by) {
      const forget = async (tx: DocumentTransaction): Promise<void> => {
        await assertPrecondition(tx, 'constraint-set', setId, ifMatch);
        if (!(await tx.delete('constraint-set', setId))) throw setNotFound(setId);
      };
      await documents.transaction(forget, { by });
    },
    validateSet(body) {
      const { set, findings } = checkConstraintSet(body);
      return { valid: set !== undefined, findings: orderFindings([...findings, ...marketWarnings(set)]) };
    },
    types: () => catalogue,
    objectiveTypes: () => objectives,
    async start(body, origin) {
      const request = readOptimisationRequest(body);
      const target = await targetOf(request.index_id);
      const { set } = await getSet(request.constraint_set_id);
      return onStoreOf({ documents, stores }, target.document, () => startOn(target, { set, request }, origin));
    },
    async preview(body, signal) {
      const request = readOptimisationPreview(body);
      const target = await targetOf(request.index_id);
      return onStoreOf({ documents, stores }, target.document, () => previewOn(target, request, signal));
    },
    result: (runId) => resultOf({ documents, artifacts }, runId),
  };

  async function startOn(
    target: StoredIndex,
    { set, request }: { readonly set: ConstraintSet; readonly request: OptimisationRequest },
    origin: Origin | null,
  ): Promise<JobStatus> {
    const { market, reached } = await prepare(target, request);
    assertRows(set, market);
    const models = await modelsOf(request, reached);
    const runId = `${stamp(now())}-${randomBytes(4).toString('hex')}`;
    return jobs.submit({
      kind,
      payload: { run_id: runId, documents: reached, ...models, constraints: set.constraints, request },
      request,
      estimatedBytes: estimatedBytes(market),
      message: 'waiting for a worker',
      origin,
    });
  }

  async function previewOn(
    target: StoredIndex,
    request: ReturnType<typeof readOptimisationPreview>,
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { handle, market, reached } = await prepare(target, request);
    const lacking = constraintFieldFindings(request.constraints, market, { path: 'constraints', severity: 'error' });
    assertNoErrors('request', lacking);
    const used = await modelFiles(documents, artifacts, reached);
    const own = storedModelOf(request);
    const named = own === undefined ? {} : await namedModelFile(documents, artifacts, own);
    const question = {
      market: handle,
      documents: reached,
      models: { ...used.models, ...named },
      indexId: request.index_id,
      request,
    };
    const { bytes } = await jobs.query('preview-optimisation', question, signal);
    return versioned(await versionWith(documents, { kind: 'index', id: request.index_id }, target.etag), bytes);
  }
}

async function resultOf(
  { documents, artifacts }: Pick<OptimiseDependencies, 'documents' | 'artifacts'>,
  runId: string,
): ReturnType<Optimise['result']> {
  const stored = await documents.get('optimisation-run', runId);
  if (stored === undefined)
    throw new Refusal('RUN_NOT_FOUND', `No finished optimisation has the id ${runId}.`, { run_id: runId });
  const document = parseStored(stored, OptimisationDocument);
  if (document === undefined) throw new Refusal('DOCUMENT_UNREADABLE', `The optimisation ${runId} cannot be read.`);
  const { artifact } = document;
  return { length: artifact.bytes, etag: artifact.sha256, open: () => artifacts.stream(artifact) };
}

function setNotFound(setId: string): Refusal {
  return new Refusal('CONSTRAINT_SET_NOT_FOUND', `No constraint set is stored under the id ${setId}.`, {
    constraint_set_id: setId,
  });
}

type ComputedRequest = Pick<OptimisationRequest, 'as_of' | 'start' | 'end'> & OptimisationSpec;

/** `yyyymmddThhmmss`, UTC. */
function stamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 19).replaceAll('-', '').replaceAll(':', '');
}

/** Growth factors and their reading, and a few matrices of the names of a large index. */
function estimatedBytes({ dates, identifiers }: MarketData): number {
  const names = Math.min(identifiers.length, 3000);
  return 128 * 2 ** 20 + 2 * heldBytes(8 * dates.length * identifiers.length) + 8 * 4 * names * names;
}
