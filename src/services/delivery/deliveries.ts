import type { clientRoutes } from '#contract/clients.js';
import type { QueryOf } from '#contract/route.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import {
  type DeliveredFile,
  DELIVERY_LINES_MAX,
  DeliveryRecord,
  isEntitled,
  type DeliveryTarget,
} from '#domain/definition/delivery.js';
import { createPath, findPathProblem } from '#domain/definition/target-addresses.js';
import { EXPORT_FORMATS } from '#domain/outputs/exports.js';
import { type DocumentStore, formatNumberedId, parseStored } from '#store/port.js';
import { mapInTurns } from '#store/reach.js';
import type { Context } from '../shared/context.js';
import type { ClientRecord } from './clients.js';
import {
  type DeliveryDestinations,
  DeliveryFault,
  type OutgoingFile,
  type FileSender,
  type Senders,
  type SendJob,
} from './targets.js';

/** Log of deliveries. A record lists the files that a client received on one day of a schedule. */
export interface DeliveryRecords {
  get(key: RecordKey): Promise<DeliveryRecord | undefined>;
  /** Lists records, newest first. */
  list(clientId: string, query: RecordQuery): Promise<readonly DeliveryRecord[]>;
  /** Counts the files of the latest day. Returns null if there is no day, or if its record cannot be read. */
  latest(clientId: string): Promise<LatestDelivery | null>;
  keeper(key: RecordKey, version: number | null): Promise<RecordKeeper>;
}

export interface RecordKey {
  readonly clientId: string;
  readonly scheduleId: string;
  readonly date: string;
}

/** Files of a client on a day. */
export interface LatestDelivery {
  readonly schedule_id: string;
  readonly date: string;
  readonly files: number;
  readonly delivered: number;
}

export type RecordQuery = QueryOf<typeof clientRoutes.listDeliveries>;

/**
 * Access to a record during a delivery. Changes are made in memory and written to disk as often as the disk permits.
 */
interface RecordKeeper {
  file(target: string, path: string): DeliveredFile | undefined;
  files(target: string): readonly DeliveredFile[];
  put(file: DeliveredFile): void;
  log(time: string, target: string, path: string | null, message: string): void;
  /** Resolves when all changes so far are on disk. */
  flush(): Promise<void>;
}

export function createDeliveryRecords(documents: DocumentStore): DeliveryRecords {
  async function get(key: RecordKey): Promise<DeliveryRecord | undefined> {
    const storedDocument = await documents.get('file-delivery', formatRecordId(key));
    if (storedDocument === undefined) return undefined;
    const record = parseStored(storedDocument, DeliveryRecord);
    if (record !== undefined) return record;
    throw new Refusal('DOCUMENT_UNREADABLE', `The deliveries to ${key.clientId} on ${key.date} cannot be read.`);
  }

  async function list(
    clientId: string,
    { schedule_id: requestedId, before, limit }: RecordQuery,
  ): Promise<readonly DeliveryRecord[]> {
    const dayLimit = before === undefined ? undefined : parseValidDay(before);
    const scheduleIds = requestedId === undefined ? await readSchedules(clientId) : [requestedId];
    const result = await Promise.all(
      scheduleIds.map(async (scheduleId) => {
        const days = await documents.numbers('file-delivery', `${clientId}/${scheduleId}`, { below: dayLimit, limit });
        return days.map((day) => ({ clientId, scheduleId, day }));
      }),
    );
    const newestKeys = result
      .flat()
      .toSorted((a, b) => b.day - a.day || (a.scheduleId < b.scheduleId ? -1 : 1))
      .slice(0, limit);
    const records = await mapInTurns(newestKeys, ({ day, ...place }) => get({ ...place, date: formatDay(day) }));
    return records.flatMap((record) => record ?? []);
  }

  return {
    get,
    list,
    async latest(clientId) {
      const [record] = await list(clientId, { limit: 1 }).catch(() => []); // The list of clients is still shown.
      if (record === undefined) return null;
      const { schedule_id, date, files } = record;
      return {
        schedule_id,
        date,
        files: files.length,
        delivered: files.filter(({ state }) => state === 'delivered').length,
      };
    },
    async keeper(key, version) {
      const { clientId: client_id, scheduleId: schedule_id, date } = key;
      const record = await get(key);
      return keepRecord({ client_id, schedule_id, date, version, files: record?.files ?? [], log: record?.log ?? [] });
    },
  };

  async function readSchedules(clientId: string): Promise<readonly string[]> {
    const scheduleIds = await documents.ids('schedule');
    const numbers = await Promise.all(
      scheduleIds.map((id) => documents.lastNumber('file-delivery', `${clientId}/${id}`)),
    );
    return scheduleIds.filter((_, k) => numbers[k]! > 0);
  }

  function keepRecord(initialRecord: DeliveryRecord): RecordKeeper {
    let record = initialRecord;
    let hasChanges = false;
    let pendingWrite: Promise<void> | undefined;
    const id = formatRecordId({ clientId: record.client_id, scheduleId: record.schedule_id, date: record.date });

    async function write(): Promise<void> {
      try {
        while (hasChanges) {
          hasChanges = false;
          const now = record;
          await documents.transaction(async (tx) => void (await tx.put('file-delivery', id, now)), { reserve: true });
        }
      } finally {
        pendingWrite = undefined;
      }
    }

    return {
      file: (target, path) => record.files.find((file) => file.target === target && file.path === path),
      files: (target) => record.files.filter((file) => file.target === target),
      put(file) {
        const position = record.files.findIndex(({ target, path }) => target === file.target && path === file.path);
        const files = position < 0 ? [...record.files, file] : record.files.with(position, file);
        record = { ...record, files };
        hasChanges = true;
      },
      log(timestamp, target, path, message) {
        const log = [...record.log, { at: timestamp, target, path, message }].slice(-DELIVERY_LINES_MAX);
        record = { ...record, log };
        hasChanges = true;
      },
      flush() {
        if (!hasChanges) return pendingWrite ?? Promise.resolve();
        pendingWrite ??= write();
        return pendingWrite;
      },
    };
  }
}

const formatRecordId = ({ clientId, scheduleId, date }: RecordKey): string =>
  formatNumberedId(`${clientId}/${scheduleId}`, parseValidDay(date));

const MEDIA = new Map<string, string>([
  ...Object.values(EXPORT_FORMATS).map(({ extension, media }) => [extension, media] as const),
  ['pdf', 'application/pdf'],
]);

/** Returns the media type of a file by its extension. */
const getMedia = (name: string): string =>
  MEDIA.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase()) ?? 'application/octet-stream';

export interface DayFile {
  readonly name: string;
  readonly indexId: string;
  readonly table: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly artifact: string;
}

export interface DeliveryTerms {
  readonly client: ClientRecord;
  readonly target: DeliveryTarget;
  readonly schedule: string;
  readonly date: string;
  readonly files: readonly DayFile[];
  readonly record: RecordKeeper;
  /** True if a file that was delivered before is sent again when the target no longer has it. */
  readonly isRepeat: boolean;
  readonly signal: AbortSignal;
  /** Time of records, ISO-8601. */
  readonly timestamp: () => string;
}

export interface DeliveryCounts {
  readonly delivered: number;
  /** Number of files that the next round tries again. */
  readonly waiting: number;
  readonly failed: number;
  /** Reason why a file was not delivered; null if all files were delivered. */
  readonly reason: string | null;
}

/**
 * Function that delivers the files of a day to one target of a client. It delivers only files that the client may
 * receive.
 */
export type DeliverFiles = (terms: DeliveryTerms) => Promise<DeliveryCounts>;

const PAUSE_MS = 1000;

/** @param pauseMs pause in ms between two attempts of a round */
export function createDeliverFiles(
  { artifacts }: Context,
  senders: Senders,
  destinations: Pick<DeliveryDestinations, 'findProblem'>,
  pauseMs = PAUSE_MS,
): DeliverFiles {
  return async (terms) => {
    const { target, record, signal, timestamp } = terms;
    const plannedFiles = plan(terms);
    const listOpenFiles = (): DeliveredFile[] =>
      record.files(target.name).filter(({ path, state }) => plannedFiles.has(path) && isOpen(state));
    for (const file of listOpenFiles()) record.put({ ...file, rounds: file.rounds + 1 });
    for (let attemptNumber = 1; listOpenFiles().length > 0; attemptNumber++) {
      const mayHelp = await attemptDelivery(
        terms,
        listOpenFiles().map((file) => createOutgoingFile(file, plannedFiles.get(file.path)!)),
      );
      if (!mayHelp || attemptNumber >= LIMITS.MAX_DELIVERY_TRIES || listOpenFiles().length === 0) break;
      await sleep(pauseMs * attemptNumber, undefined, { signal });
    }
    for (const file of listOpenFiles())
      if (file.rounds >= LIMITS.MAX_DELIVERY_ROUNDS) {
        record.put({ ...file, state: 'failed' });
        record.log(timestamp(), target.name, file.path, `Given up after ${file.rounds} rounds.`);
      }
    await record.flush();
    return countFiles(record.files(target.name).filter(({ path }) => plannedFiles.has(path)));
  };

  function createOutgoingFile(file: DeliveredFile, { artifact }: DayFile): OutgoingFile {
    const { path, bytes, sha256, state } = file;
    return {
      path,
      bytes,
      sha256,
      media: getMedia(path),
      isUncertain: state === 'sending',
      content: () => artifacts.read({ name: artifact, bytes, sha256 }),
    };
  }

  /**
   * Tries once to deliver the files to a target.
   * @returns true if another attempt may succeed
   * @throws errors that the target did not cause
   */
  async function attemptDelivery(terms: DeliveryTerms, files: readonly OutgoingFile[]): Promise<boolean> {
    const { client, target, record, schedule, date, signal, timestamp } = terms;
    let mayHelp = false;
    const change = (path: string, values: Partial<DeliveredFile>): void =>
      record.put({ ...record.file(target.name, path)!, ...values });
    const job: Omit<SendJob<DeliveryTarget>, 'secret'> = {
      target,
      client: client.id,
      schedule,
      date,
      files,
      signal,
      async begin({ path, isUncertain }) {
        const { attempts } = record.file(target.name, path)!;
        if (isUncertain)
          record.log(timestamp(), target.name, path, 'An earlier attempt has no result: it is repeated.');
        change(path, { state: 'sending', attempts: attempts + 1 });
        // A target without a path receives messages. After a crash, the service cannot check whether a message was
        // sent, so the record is written before sending.
        if (!('path' in target)) await record.flush();
      },
      async delivered({ path }, message) {
        change(path, { state: 'delivered', delivered_at: timestamp(), code: null, message });
        record.log(timestamp(), target.name, path, message);
        void record.flush().catch(() => {}); // the flush at the end reports the failure
      },
      async failed({ path }, fault) {
        mayHelp ||= !fault.isFinal;
        change(path, getFailure(fault));
        record.log(timestamp(), target.name, path, fault.message);
        await record.flush();
      },
    };
    try {
      const problem = client.problem ?? destinations.findProblem(target);
      if (problem !== undefined) throw new DeliveryFault(problem, { isFinal: true });
      const accepted = await refuseWrongPaths(job);
      // `senders[target.type]` accepts this target, but TypeScript cannot infer this from the union.
      const order = { ...job, files: accepted, secret: findSecret(client, target) };
      if (accepted.length > 0) await (senders[target.type] as FileSender<never>)(order as never);
    } catch (failure) {
      if (signal.aborted || !(failure instanceof DeliveryFault)) throw failure;
      mayHelp ||= !failure.isFinal;
      const openFiles = files
        .flatMap(({ path }) => record.file(target.name, path)!)
        .filter(({ state }) => isOpen(state));
      await failFiles(terms, openFiles, failure);
    }
    return mayHelp;
  }
}

/** Fails the files with a path that would leave the folder of a target. @returns the other files */
async function refuseWrongPaths({
  files,
  failed,
}: Pick<SendJob<DeliveryTarget>, 'files' | 'failed'>): Promise<readonly OutgoingFile[]> {
  const accepted: OutgoingFile[] = [];
  for (const file of files) {
    const problem = findPathProblem(file.path);
    if (problem === undefined) accepted.push(file);
    else await failed(file, new DeliveryFault(problem, { isFinal: true }));
  }
  return accepted;
}

const isOpen = (state: DeliveredFile['state']): boolean => state === 'waiting' || state === 'sending';

/**
 * Returns the state of a file after a fault. The next round always tries again, because somebody may have removed the
 * cause.
 */
const getFailure = (fault: DeliveryFault) =>
  ({ state: 'waiting', code: fault.code, message: fault.message }) satisfies Partial<DeliveredFile>;

async function failFiles(
  { target, record, timestamp }: DeliveryTerms,
  files: readonly DeliveredFile[],
  fault: DeliveryFault,
): Promise<void> {
  for (const file of files) record.put({ ...file, ...getFailure(fault) });
  record.log(timestamp(), target.name, null, fault.message);
  await record.flush();
}

function findSecret(client: ClientRecord, target: DeliveryTarget): string | undefined {
  try {
    return client.findSecret(target);
  } catch (failure) {
    if (failure instanceof Refusal) throw new DeliveryFault(failure.message, { isFinal: true, cause: failure });
    throw failure;
  }
}

/** Adds the files of a target to the record. @returns the files by their path at the target */
function plan({
  client,
  target,
  schedule,
  date,
  files,
  record,
  isRepeat,
  timestamp,
}: DeliveryTerms): Map<string, DayFile> {
  const plannedFiles = new Map<string, DayFile>();
  for (const file of files) {
    const isAllowed = isEntitled(client.document, { index: file.indexId, table: file.table, date });
    if (!isAllowed || (target.tables !== null && !target.tables.includes(file.table))) continue;
    const path = formatPath(target, file, { client: client.id, schedule, date });
    const otherDayFile = plannedFiles.get(path);
    const recordedFile = record.file(target.name, path);
    if (otherDayFile !== undefined) {
      record.log(
        timestamp(),
        target.name,
        path,
        `${file.name} was not delivered: ${otherDayFile.name} has the same path.`,
      );
      continue;
    }
    plannedFiles.set(path, file);
    if (recordedFile?.sha256 === file.sha256 && !isRepeat) continue;
    const isUncertain = recordedFile?.state === 'sending' && recordedFile.sha256 === file.sha256;
    record.put({
      target: target.name,
      path,
      file: file.name,
      index_id: file.indexId,
      table: file.table,
      bytes: file.bytes,
      sha256: file.sha256,
      state: isUncertain ? 'sending' : 'waiting',
      attempts: recordedFile?.attempts ?? 0,
      rounds: 0,
      delivered_at: null,
      code: null,
      message: '',
    });
  }
  return plannedFiles;
}

function formatPath(
  target: DeliveryTarget,
  { name: file, indexId: index, table }: DayFile,
  { client, schedule, date }: { readonly client: string; readonly schedule: string; readonly date: string },
): string {
  if (!('path' in target)) return file;
  return createPath(target.path, { file, client, schedule, index, table, day: parseValidDay(date) });
}

function countFiles(files: readonly DeliveredFile[]): DeliveryCounts {
  const count = (isCounted: (state: DeliveredFile['state']) => boolean): number =>
    files.filter(({ state }) => isCounted(state)).length;
  const other = files.find(({ state }) => state !== 'delivered');
  return {
    delivered: count((state) => state === 'delivered'),
    waiting: count(isOpen),
    failed: count((state) => state === 'failed'),
    reason: other?.message ?? null,
  };
}
