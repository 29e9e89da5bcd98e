import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { compose, type Service } from '#cli/compose/compose.js';
import { readSettings } from '#cli/settings/settings.js';
import type { AuditEntry } from '#domain/definition/versions.js';
import { formatEntryId } from '#store/history/audit.js';
import type { DataHistoryDocument, DataVersionDocument } from '#domain/definition/datasets.js';
import { keepThreads } from '#jobs/pool.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { listHomeFolders } from '#store/home/home.js';
import { findManagedStore, openDocumentsReader } from '#store/lmdb/documents-reader.js';
import { verifyHome } from '#store/home/verify.js';
import { createFrame } from '../table-frame.js';
import { createEqualIndex } from '../equal-index.js';

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A service in this process, without a socket. */
export interface Subject {
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Waits for the end of a job. @returns the job, or its state if the service has lost its store */
  ended(jobId: string): Promise<Answer>;
  /** Returns true if the service has reported a defect that would end its process. */
  isDefect(): boolean;
  close(): Promise<void>;
}

/** Opens a service on a home. It uses the threads of the previous service again. */
export async function openSubject(home: string): Promise<Subject> {
  keepThreads();
  const { settings } = readSettings(['--home', home, '--workers', '1', '--warm-up', 'off'], {});
  let defect = false;
  const service: Service = await compose({
    role: 'service',
    settings,
    log: pino({ level: 'silent' }),
    onDefect: () => void (defect = true),
  });

  async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const init =
      body === undefined
        ? { method }
        : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const response = await service.app.fetch(new Request(`http://localhost${path}`, init));
    const text = await response.text();
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
  }

  async function waitForJob(jobId: string): Promise<Answer> {
    for (;;) {
      const answer = await ask('GET', `/jobs/${jobId}`);
      const { status } = answer.body;
      if (defect || (status !== 'pending' && status !== 'running')) return answer;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  return { ask, ended: waitForJob, isDefect: () => defect, close: () => service.close() };
}

/** Waits until the service has loaded the market that it served before. Then its start is complete. */
export async function isSettled({ ask }: Subject): Promise<void> {
  for (;;) {
    const { store } = (await ask('GET', '/health')).body as {
      readonly store: { readonly active: string | null; readonly status: string | null };
    };
    if (store.active !== null && store.status === 'ready') return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * Returns the stored documents of a home by `kind id`. Usually a separate process first tests that their pages are
 * readable. Here they are read directly, so an unreadable page fails the test.
 * @throws Error if a document refers to an incomplete or missing object
 */
export async function readDocuments(home: string): Promise<ReadonlyMap<string, unknown>> {
  const openDocuments = async () => openDocumentsReader(listHomeFolders(home).documents);
  const damagedParts = (await verifyHome(listHomeFolders(home), { openDocuments })).flatMap(
    ({ part, damaged: found }) => found.map(({ name, reason }) => `${part} ${name}: ${reason}`),
  );
  if (damagedParts.length > 0) throw new Error(`the home is not whole: ${damagedParts.join('; ')}`);
  const reader = openDocumentsReader(listHomeFolders(home).documents);
  try {
    const documents = new Map<string, unknown>();
    for await (const { kind, id, body } of reader.entries()) documents.set(`${kind} ${id}`, body);
    return documents;
  } finally {
    await reader.close();
  }
}

/** Returns the files and folders of a stopped home that no document references. */
export async function readLeftovers(home: string): Promise<string[]> {
  const reader = openDocumentsReader(listHomeFolders(home).documents);
  const namedFiles = new Set<string>();
  try {
    for await (const entry of reader.entries())
      for (const name of [...entry.artifactNames, findManagedStore(entry)?.folder])
        if (name !== undefined) namedFiles.add(name);
  } finally {
    await reader.close();
  }
  const { artifacts, stores } = listHomeFolders(home);
  const files = (await readdir(artifacts)).filter(
    (name) => !namedFiles.has(name) && !isResultText(join(artifacts, name)),
  );
  return [...files, ...(await readdir(stores)).filter((name) => !namedFiles.has(name))];
}

/**
 * Returns true for the cached text of a backtest result. A service writes it when a client reads the result, and
 * removes it at its next start.
 */
function isResultText(path: string): boolean {
  return readFileSync(path, 'latin1').startsWith('{"annual_returns":');
}

/** A change of several documents and files. Wherever it is interrupted, it must be complete or absent. */
export interface Effect {
  readonly name: string;
  /** Creates the initial state of the effect. */
  prepare(subject: Subject): Promise<void>;
  /** Requests the effect and waits until it ends. @returns true if a client received a success */
  perform(subject: Subject): Promise<boolean>;
  /** Returns true if the effect is complete. @throws Error if the effect is partial */
  hasHappened(documents: ReadonlyMap<string, unknown>): boolean;
  /** Job that performs the effect. After an interruption, a restart completes it. */
  readonly jobId?: string;
  /** True if the effect only writes documents, so that a restart has nothing to complete. */
  readonly isOfDocuments?: true;
}

const createDefinition = (id: string) =>
  createEqualIndex(id, { base_date: '2023-01-03', rebalance: { frequency: 'quarterly' } });

const createBars = (names: readonly string[], price: number) => {
  const days = ['2023-01-03', '2023-01-04', '2023-01-05', '2023-01-06', '2023-01-09', '2023-01-10'];
  const data = days.flatMap((day) => names.map((name) => [name, day, price]));
  return { market: createFrame(['identifier', 'date', 'CLOSE'], data) };
};

async function requireSuccess(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

const readImports = (subject: Subject, datasetId: string, names: readonly string[], activate: boolean) =>
  requireSuccess(
    subject.ask('POST', '/data/import', {
      store_id: datasetId,
      name: datasetId,
      tables: createBars(names, 10),
      activate,
    }),
  );

async function submitCostBacktest(subject: Subject, id: string, costs: number): Promise<Answer> {
  await requireSuccess(subject.ask('POST', `/analytics/${id}/backtest`, { transaction_cost_bps: costs }));
  return subject.ended(`backtest:${id}`);
}

/** Returns true if all facts are true, and false if none is true. @throws Error otherwise */
function allOrNone(facts: Readonly<Record<string, boolean>>): boolean {
  const values = new Set(Object.values(facts));
  if (values.size > 1) throw new Error(`half of it happened: ${JSON.stringify(facts)}`);
  return values.has(true);
}

/** Returns the version of the last entry of the audit log, which the head of the log references. */
function readLastVersion(documents: ReadonlyMap<string, unknown>): unknown {
  const { seq } = documents.get('audit-head head') as { readonly seq: number };
  return (documents.get(`audit ${formatEntryId(seq)}`) as { readonly version: unknown }).version;
}

const FAMILY = ['PARENT', 'SON', 'GRANDSON'];
const readStatus = (documents: ReadonlyMap<string, unknown>, jobId: string) =>
  (documents.get(`job ${jobId}`) as JobStatus | undefined)?.status;
const readStore = (documents: ReadonlyMap<string, unknown>, id: string) =>
  documents.get(`store ${id}`) as { readonly active: boolean; readonly identifiers: number } | undefined;
const listAuditEntries = (documents: ReadonlyMap<string, unknown>, kind: string, id: string): number =>
  [...documents].filter(
    ([key, body]) => key.startsWith('audit ') && (body as AuditEntry).kind === kind && (body as AuditEntry).id === id,
  ).length;
/** Returns true if a job has succeeded. The effect is committed together with this status. */
const isDone = (documents: ReadonlyMap<string, unknown>, jobId: string) => readStatus(documents, jobId) === 'succeeded';

export const EFFECTS: readonly Effect[] = [
  {
    name: 'a deletion that takes children, runs and jobs with it',
    async prepare(subject) {
      await readImports(subject, 'market', ['A', 'B', 'C'], true);
      await requireSuccess(subject.ask('PUT', '/indices/PARENT', createDefinition('PARENT')));
      for (const [id, source] of [
        ['SON', 'PARENT'],
        ['GRANDSON', 'SON'],
      ] as const) {
        await requireSuccess(
          subject.ask('PUT', `/indices/${id}`, {
            ...createDefinition(id),
            pipeline: null,
            derivation: { source_index_id: source },
          }),
        );
      }
      for (const id of FAMILY) await submitCostBacktest(subject, id, 0);
    },
    perform: async (subject) => (await subject.ask('DELETE', '/indices/PARENT')).status === 200,
    hasHappened: (documents) =>
      allOrNone(
        Object.fromEntries(
          FAMILY.flatMap((id) => [
            ...[`index ${id}`, `run ${id}`, `job backtest:${id}`].map((key) => [key, !documents.has(key)] as const),
            [`the version of the deletion of ${id}`, documents.has(`version index/${id}/0000000002`)] as const,
          ]),
        ),
      ),
  },
  {
    name: 'the end of a backtest that replaces a run',
    jobId: 'backtest:ONE',
    async prepare(subject) {
      await readImports(subject, 'market', ['A', 'B', 'C'], true);
      await requireSuccess(subject.ask('PUT', '/indices/ONE', createDefinition('ONE')));
      await submitCostBacktest(subject, 'ONE', 1);
      await requireSuccess(subject.ask('DELETE', '/jobs/backtest:ONE'));
    },
    async perform(subject) {
      const { status } = await subject.ask('POST', '/analytics/ONE/backtest', { transaction_cost_bps: 7 });
      return status === 202 && (await subject.ended('backtest:ONE')).body['status'] === 'succeeded';
    },
    hasHappened(documents) {
      const computeCosts = (key: string) =>
        (documents.get(key) as { readonly request: { readonly transaction_cost_bps: number } }).request
          .transaction_cost_bps;
      return allOrNone({
        run: computeCosts('run ONE') === 7,
        'the run before': [...documents.keys()].some((key) => key.startsWith('kept-run ')),
        job: computeCosts('job backtest:ONE') === 7 && isDone(documents, 'backtest:ONE'),
      });
    },
  },
  {
    name: 'a new version of a document',
    isOfDocuments: true,
    async prepare(subject) {
      await readImports(subject, 'market', ['A', 'B'], true);
      await requireSuccess(subject.ask('PUT', '/indices/ONE', createDefinition('ONE')));
    },
    perform: async (subject) =>
      (await subject.ask('PUT', '/indices/ONE', { ...createDefinition('ONE'), name: 'other' })).status === 200,
    hasHappened: (documents) =>
      allOrNone({
        document: (documents.get('index ONE') as { readonly name: string }).name === 'other',
        version: documents.has('version index/ONE/0000000002'),
        'log of writes': listAuditEntries(documents, 'index', 'ONE') === 2,
        'head of the log': readLastVersion(documents) === 2,
      }),
  },
  {
    name: 'a publication',
    isOfDocuments: true,
    async prepare(subject) {
      await readImports(subject, 'market', ['A', 'B'], true);
      await requireSuccess(subject.ask('PUT', '/indices/ONE', createDefinition('ONE')));
      await submitCostBacktest(subject, 'ONE', 0);
    },
    perform: async (subject) => (await subject.ask('POST', '/analytics/ONE/publish', {})).status === 200,
    hasHappened: (documents) =>
      allOrNone({
        entries: documents.has('publication ONE/0000000001'),
        head: documents.has('publication-head ONE'),
        'log of writes': listAuditEntries(documents, 'publication', 'ONE/0000000001') === 1,
      }),
  },
  {
    name: 'a switch of the served store',
    jobId: 'load:second',
    async prepare(subject) {
      await readImports(subject, 'first', ['A', 'B'], true);
      await readImports(subject, 'second', ['C', 'D', 'E'], false);
    },
    async perform(subject) {
      const { status } = await subject.ask('POST', '/data/stores/second/activate');
      return status === 202 && (await subject.ended('load:second')).body['status'] === 'succeeded';
    },
    hasHappened: (documents) =>
      allOrNone({
        first: readStore(documents, 'first')?.active === false,
        second: readStore(documents, 'second')?.active === true,
        job: isDone(documents, 'load:second'),
      }),
  },
  {
    name: 'an import that replaces a served store',
    async prepare(subject) {
      await readImports(subject, 'market', ['A', 'B'], true);
      await readImports(subject, 'other', ['A', 'B'], false);
    },
    perform: async (subject) =>
      (
        await subject.ask('POST', '/data/import', {
          store_id: 'market',
          name: 'market',
          tables: createBars(['A', 'B', 'C'], 20),
          activate: true,
          on_exists: 'replace',
        })
      ).status === 201,
    hasHappened: (documents) =>
      allOrNone({
        store: readStore(documents, 'market')!.identifiers === 3,
        'version of the data':
          (documents.get('data-version market/0000000002') as DataVersionDocument | undefined)?.change != null,
        head: (documents.get('data-history market') as DataHistoryDocument).latest === 2,
      }),
  },
];
