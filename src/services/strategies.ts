import { createHash } from 'node:crypto';
import type { StoredStrategy, StrategyCollection, StrategyDeletion } from '#contract/strategies.js';
import { canonicalJson } from '#domain/canonical-json.js';
import { readStrategy, type StrategyDocument } from '#domain/documents/strategy-document.js';
import type { Finding } from '#domain/findings.js';
import { Refusal, refuseWithFindings } from '#domain/refusal.js';
import { strategyProblems, validateStrategy, type StrategyContext } from '#domain/strategies/validate-strategy.js';
import type { Markets } from '#market/markets.js';
import type { DocumentStore, DocumentTransaction } from '#store/documents.js';
import { cancelJobsAbout, forgetJobsAbout, type JobsAbout } from './jobs-about.js';
import { assertPrecondition, type Precondition } from './preconditions.js';
import { findIndex } from './stored-indices.js';
import { findConstraintSet, requireStrategy } from './stored-strategies.js';

/** A JSON object as a client sent it. */
type Body = Readonly<Record<string, unknown>>;

export interface SavedStrategy {
  readonly saved: { readonly strategy: StrategyDocument; readonly findings: readonly Finding[] };
  readonly etag: string;
}

export interface Strategies {
  list(query: { readonly limit?: number | undefined; readonly after?: string | undefined }): StrategyCollection;
  /** @throws Refusal STRATEGY_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(strategyId: string): { readonly stored: StoredStrategy; readonly etag: string };
  /** @throws Refusal VALIDATION_FAILED, STRATEGY_EXISTS */
  create(body: Body): Promise<SavedStrategy>;
  /** @throws Refusal ID_MISMATCH, VALIDATION_FAILED, PRECONDITION_FAILED */
  replace(strategyId: string, body: Body, ifMatch: Precondition | undefined): Promise<SavedStrategy>;
  /** The strategy, readable or not, and everything computed from it. @throws Refusal STRATEGY_NOT_FOUND, PRECONDITION_FAILED */
  remove(strategyId: string, ifMatch: Precondition | undefined): Promise<StrategyDeletion>;
  validate(body: Body): { readonly valid: boolean; readonly findings: readonly Finding[] };
}

export interface StrategiesDependencies {
  readonly documents: DocumentStore;
  readonly jobs: JobsAbout;
  readonly markets: Markets;
}

type Reader = Pick<DocumentStore | DocumentTransaction, 'get'>;

export function createStrategies({ documents, jobs, markets }: StrategiesDependencies): Strategies {
  const contextOf = (reader: Reader): StrategyContext => ({
    indexOf: (id) => findIndex(reader, id),
    isConstraintSet: (id) => findConstraintSet(reader, id) !== undefined,
    isIndex: (id) => reader.get('index', id) !== undefined,
    market: markets.current()?.market,
  });

  /** The one place where a strategy is written: checked against the documents of the same transaction. */
  async function save(body: Body, allow: (tx: DocumentTransaction, strategyId: string) => void): Promise<SavedStrategy> {
    return documents.transaction((tx) => {
      const { document, findings } = validateStrategy(body, contextOf(tx));
      if (document === undefined) throw refuseWithFindings('strategy document', findings);
      allow(tx, document.id);
      return { saved: { strategy: document, findings }, etag: tx.put('strategy', document.id, document) };
    });
  }

  function storedOf(strategy: StrategyDocument): StoredStrategy {
    const run = documents.get('run', strategy.id);
    return {
      strategy,
      problems: strategyProblems(strategy, contextOf(documents)) as StoredStrategy['problems'], // read-only lists on the one side, plain ones on the other
      has_run: run !== undefined,
      run_at: run === undefined || 'unreadable' in run ? null : runAt(run.body),
    };
  }

  return {
    list({ limit, after }) {
      const { documents: all, skipped, skipped_causes } = documents.list('strategy', readStrategy);
      const wanted = after === undefined ? all : all.filter(({ id }) => id > after);
      return { strategies: wanted.slice(0, limit ?? wanted.length).map(storedOf), skipped, skipped_causes: { ...skipped_causes } };
    },
    get(strategyId) {
      const { strategy, etag } = requireStrategy(documents, strategyId);
      const stored = storedOf(strategy);
      return { stored, etag: etagOf(etag, stored) };
    },
    create: (body) =>
      save(body, (tx, id) => {
        if (tx.get('strategy', id) !== undefined) throw new Refusal('STRATEGY_EXISTS', `A strategy is already stored under the id ${id}; replacing it is done with PUT.`, { strategy_id: id });
      }),
    async replace(strategyId, body, ifMatch) {
      const id = body['id'];
      if (typeof id === 'string' && id !== strategyId) {
        const message = `The id ${id} in the body is not the id ${strategyId} in the path.`;
        throw new Refusal('ID_MISMATCH', message, { findings: [{ severity: 'error', code: 'ID_MISMATCH', path: 'id', message, value: id }] });
      }
      return save(body, (tx) => assertPrecondition(tx, 'strategy', strategyId, ofDocument(ifMatch)));
    },
    async remove(strategyId, ifMatch) {
      requireStored(documents, strategyId);
      await cancelJobsAbout(jobs, [strategyId]);
      return documents.transaction((tx) => {
        requireStored(tx, strategyId);
        assertPrecondition(tx, 'strategy', strategyId, ofDocument(ifMatch));
        tx.delete('strategy', strategyId);
        const hadRecord = tx.delete('run', strategyId);
        const jobsForgotten = forgetJobsAbout(tx, jobs, [strategyId]).get(strategyId) ?? 0;
        return { strategy_id: strategyId, backtest_record_deleted: hadRecord, backtest_results_deleted: Number(hadRecord) + jobsForgotten };
      });
    },
    validate(body) {
      const { document, findings } = validateStrategy(body, contextOf(documents));
      return { valid: document !== undefined, findings };
    },
  };
}

function requireStored(reader: Reader, strategyId: string): void {
  if (reader.get('strategy', strategyId) === undefined) {
    throw new Refusal('STRATEGY_NOT_FOUND', `No strategy is stored under the id ${strategyId}.`, { strategy_id: strategyId });
  }
}

const MARK = '.';

/** An answer tells more than the document: when that changes, so does its etag, but not what of it names the document. */
function etagOf(document: string, { problems, has_run, run_at }: StoredStrategy): string {
  if (problems.length === 0 && !has_run) return document;
  const rest = createHash('sha256').update(canonicalJson({ problems, has_run, run_at })).digest('hex');
  return `${document}${MARK}${rest.slice(0, 16)}`;
}

/** What a client demands of the document itself, whichever answer told it the etag. */
function ofDocument(ifMatch: Precondition | undefined): Precondition | undefined {
  return ifMatch === undefined || ifMatch === '*' ? ifMatch : ifMatch.map((etag) => etag.split(MARK)[0]!);
}

/** Capture time of a stored run; null on records written without one. */
function runAt(body: unknown): string | null {
  const { run_at } = (typeof body === 'object' && body !== null ? body : {}) as { run_at?: unknown };
  return typeof run_at === 'string' ? run_at : null;
}
