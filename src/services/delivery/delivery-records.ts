import { DELIVERY_LINES_MAX, DeliveryRecord, type DeliveredFile } from '#domain/delivery/delivery-record.js';
import { parseValidDay, formatDay } from '#domain/time/days.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { formatNumberedId } from '#store/document-id.js';
import type { DocumentStore } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';

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

export interface RecordQuery {
  readonly schedule_id?: string | undefined;
  readonly before?: string | undefined;
  readonly limit: number;
}

/**
 * Access to a record during a delivery. Changes are made in memory and written to disk as often as the disk permits.
 */
export interface RecordKeeper {
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
    const records = await Promise.all(newestKeys.map(({ day, ...place }) => get({ ...place, date: formatDay(day) })));
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

  /** Returns the ids of schedules that may have delivered files to a client. */
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
