import { createHash } from 'node:crypto';
import type { StoredStrategy, StrategyCollection, StrategyDeletion } from '#contract/strategies.js';
import type { Finding } from '#domain/base/findings.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { type ConstraintSet, readConstraintSet } from '#domain/definition/constraint-sets.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import {
  checkStrategy,
  readStrategy,
  type StrategyContext,
  type StrategyDocument,
  validateStrategy,
} from '#domain/definition/strategies.js';
import type { Authorship } from '#domain/definition/versions.js';
import { type DocumentStore, type DocumentTransaction, readStoredBody, type StoredDocument } from '#store/port.js';
import { mapInTurns } from '#store/reach.js';
import type { Context } from '../shared/context.js';
import { assertIdOfPath, assertPrecondition, formatTakenId, type Precondition } from '../shared/documents.js';
import { cancelJobsAbout, deleteJobsAbout } from '../shared/jobs.js';
import { deleteRuns, readRunTime } from '../shared/run-documents.js';
import { findCurrentMarket, findIndex } from './documents.js';

/** Returns a stored constraint set. Returns undefined if it is not stored or is unreadable. */
export async function findConstraintSet(reader: Reader, setId: string): Promise<ConstraintSet | undefined> {
  const storedDocument = await reader.get('constraint-set', setId);
  return readStoredBody(storedDocument, readConstraintSet);
}

type Reader = Pick<DocumentStore | DocumentTransaction, 'get'>;

interface FoundStrategy {
  readonly strategy: StrategyDocument;
  readonly etag: string;
}

/** Returns a stored strategy. @throws Refusal STRATEGY_NOT_FOUND, DOCUMENT_UNREADABLE */
export async function requireStrategy(reader: Reader, strategyId: string): Promise<FoundStrategy> {
  const storedStrategy = await findStrategy(reader, strategyId);
  if (storedStrategy !== undefined) return storedStrategy;
  throw new Refusal('STRATEGY_NOT_FOUND', `No strategy is stored under the id ${strategyId}.`, {
    strategy_id: strategyId,
  });
}

/** Returns a stored strategy; undefined if none is stored. @throws Refusal DOCUMENT_UNREADABLE */
export async function findStrategy(reader: Reader, strategyId: string): Promise<FoundStrategy | undefined> {
  const storedDocument = await reader.get('strategy', strategyId);
  if (storedDocument === undefined) return undefined;
  const strategy = readStoredBody(storedDocument, readStrategy);
  if (strategy === undefined)
    throw new Refusal('DOCUMENT_UNREADABLE', `The strategy ${strategyId} cannot be read; it can still be deleted.`, {
      strategy_id: strategyId,
    });
  return { strategy, etag: (storedDocument as StoredDocument).etag }; // readable, because its document was readable
}

/** Returns the refusal of a new strategy whose id another strategy has. Its finding belongs to the field of the id. */
function createTakenIdRefusal(id: string): Refusal {
  const message = formatTakenId('A strategy', id);
  const finding: Finding = { severity: 'error', code: 'DUPLICATE_ID', path: 'id', message, value: id };
  return new Refusal('STRATEGY_EXISTS', message, { strategy_id: id, findings: [finding] });
}

/** JSON object as a client sent it. */
type Body = Readonly<Record<string, unknown>>;

export interface StrategySave {
  readonly saved: { readonly strategy: StrategyDocument; readonly findings: readonly Finding[] };
  readonly etag: string;
}

export interface Strategies {
  list(query: {
    readonly limit?: number | undefined;
    readonly after?: string | undefined;
  }): Promise<StrategyCollection>;
  /** Returns a stored strategy. @throws Refusal STRATEGY_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(strategyId: string): Promise<{ readonly stored: StoredStrategy; readonly etag: string }>;
  /** Creates a strategy. @throws Refusal VALIDATION_FAILED, STRATEGY_EXISTS */
  create(body: Body, by?: Authorship): Promise<StrategySave>;
  /** Creates or replaces a strategy. @throws Refusal ID_MISMATCH, VALIDATION_FAILED, PRECONDITION_FAILED */
  replace(strategyId: string, body: Body, ifMatch: Precondition | undefined, by?: Authorship): Promise<StrategySave>;
  /**
   * Deletes a strategy and everything that was computed from it, even if the strategy is unreadable.
   * @throws Refusal STRATEGY_NOT_FOUND, PRECONDITION_FAILED
   */
  remove(strategyId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<StrategyDeletion>;
  validate(body: Body): Promise<{ readonly valid: boolean; readonly findings: readonly Finding[] }>;
}

export function createStrategies({ documents, jobs, markets }: Context): Strategies {
  /** Returns the documents that a strategy refers to. */
  async function readContext(reader: Reader, strategy: Body): Promise<StrategyContext> {
    const { id, index_id: indexId, benchmark, constraint_set_id: setId } = strategy;
    const { id: benchmarkId } = (benchmark ?? {}) as { readonly id?: unknown };
    const indices = new Map<unknown, IndexDocument | undefined>();
    for (const requiredId of [indexId, benchmarkId])
      if (typeof requiredId === 'string') indices.set(requiredId, await findIndex(reader, requiredId));
    const followedIndex = indices.get(indexId);
    const isSet = typeof setId === 'string' && (await findConstraintSet(reader, setId)) !== undefined;
    const isIndexId = typeof id === 'string' && (await reader.get('index', id)) !== undefined;
    return {
      indexOf: (indexName) => indices.get(indexName),
      isConstraintSet: (setName) => setName === setId && isSet,
      isIndex: (indexName) => indexName === id && isIndexId,
      // names are checked on the market in memory
      market: await findCurrentMarket(reader, markets, followedIndex ?? {}),
    };
  }

  /**
   * Checks a strategy against the documents of the same transaction and then writes it. Every write uses this function.
   */
  async function save(
    body: Body,
    allow: (tx: DocumentTransaction, strategyId: string) => Promise<void>,
    authorship: Authorship | undefined,
  ): Promise<StrategySave> {
    const write = async (tx: DocumentTransaction): Promise<StrategySave> => {
      const { document, findings } = validateStrategy(body, await readContext(tx, body));
      if (document === undefined) throw refuseWithFindings('strategy document', findings);
      await allow(tx, document.id);
      return { saved: { strategy: document, findings }, etag: await tx.put('strategy', document.id, document) };
    };
    return documents.transaction(write, { by: authorship });
  }

  async function readStored(strategy: StrategyDocument): Promise<StoredStrategy> {
    const run = await documents.get('run', strategy.id);
    return {
      strategy,
      problems: checkStrategy(strategy, await readContext(documents, strategy)) as StoredStrategy['problems'], // the service has read-only lists, the contract mutable ones
      has_run: run !== undefined,
      run_at: run === undefined || 'unreadable' in run ? null : readRunTime(run.body),
    };
  }

  return {
    async list({ limit, after }) {
      const { documents: strategies, skipped, skipped_causes } = await documents.list('strategy', readStrategy);
      const remainingStrategies = after === undefined ? strategies : strategies.filter(({ id }) => id > after);
      return {
        strategies: await mapInTurns(remainingStrategies.slice(0, limit), readStored),
        skipped,
        skipped_causes: { ...skipped_causes },
      };
    },
    async get(strategyId) {
      const { strategy, etag } = await requireStrategy(documents, strategyId);
      const storedStrategy = await readStored(strategy);
      return { stored: storedStrategy, etag: computeEtag(etag, storedStrategy) };
    },
    create(body, authorship) {
      const assertIdFree = async (tx: DocumentTransaction, id: string): Promise<void> => {
        if ((await tx.get('strategy', id)) !== undefined) throw createTakenIdRefusal(id);
      };
      return save(body, assertIdFree, authorship);
    },
    async replace(strategyId, body, ifMatch, authorship) {
      assertIdOfPath(strategyId, body);
      return save(
        body,
        (tx) => assertPrecondition(tx, 'strategy', strategyId, toDocumentPrecondition(ifMatch)),
        authorship,
      );
    },
    async remove(strategyId, ifMatch, authorship) {
      await requireStored(documents, strategyId);
      // A refused deletion must not cancel any jobs.
      await assertPrecondition(documents, 'strategy', strategyId, toDocumentPrecondition(ifMatch));
      const deletedSubjects = { of: 'index', ids: [strategyId] } as const;
      await cancelJobsAbout(jobs, deletedSubjects);
      const deleteStrategy = async (tx: DocumentTransaction) => {
        await requireStored(tx, strategyId);
        await assertPrecondition(tx, 'strategy', strategyId, toDocumentPrecondition(ifMatch));
        await tx.delete('strategy', strategyId);
        const forgottenRuns = await deleteRuns(tx, strategyId, { all: authorship?.purges });
        const jobsForgotten = (await deleteJobsAbout(tx, jobs, deletedSubjects)).get(strategyId) ?? 0;
        return {
          strategy_id: strategyId,
          backtest_record_deleted: forgottenRuns > 0,
          backtest_results_deleted: forgottenRuns + jobsForgotten,
        };
      };
      return documents.transaction(deleteStrategy, { by: authorship });
    },
    async validate(body) {
      const { document, findings } = validateStrategy(body, await readContext(documents, body));
      return { valid: document !== undefined, findings };
    },
  };
}

async function requireStored(reader: Reader, strategyId: string): Promise<void> {
  if ((await reader.get('strategy', strategyId)) === undefined) {
    throw new Refusal('STRATEGY_NOT_FOUND', `No strategy is stored under the id ${strategyId}.`, {
      strategy_id: strategyId,
    });
  }
}

const ETAG_SEPARATOR = '.';

/**
 * Returns the etag of a response. It starts with the etag of the document and changes when any other part of the
 * response changes.
 */
function computeEtag(document: string, { problems, has_run, run_at }: StoredStrategy): string {
  if (problems.length === 0 && !has_run) return document;
  const stateDigest = createHash('sha256').update(toCanonicalJson({ problems, has_run, run_at })).digest('hex');
  return `${document}${ETAG_SEPARATOR}${stateDigest.slice(0, 16)}`;
}

/** Converts a precondition that contains the ETag of a response to a precondition on the document. */
function toDocumentPrecondition(ifMatch: Precondition | undefined): Precondition | undefined {
  return ifMatch === undefined || ifMatch === '*' ? ifMatch : ifMatch.map((etag) => etag.split(ETAG_SEPARATOR)[0]!);
}
