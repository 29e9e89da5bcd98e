import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { isEntitled } from '#domain/delivery/client-document.js';
import type { ClientReader, ClientRecord } from '../../delivery/clients.js';
import type { DeliverFiles, DeliveryCounts } from '../../delivery/deliver-files.js';
import type { DeliveryRecords } from '../../delivery/delivery-records.js';
import { listFiles } from '../files-of.js';
import { runConcurrently, type ItemResult, type Performer } from '../performer.js';

export interface DeliverDependencies {
  readonly clients: ClientReader;
  readonly records: Pick<DeliveryRecords, 'keeper'>;
  readonly deliver: DeliverFiles;
}

/** Maximum number of clients that are served concurrently; each of their targets opens a connection. */
const CLIENT_CONCURRENCY = 4;

/**
 * Delivers the files of a day to clients. Each item is one target of one client. Because an item has no index, it never
 * blocks an index.
 */
export function createDeliverPerformer({ clients, records, deliver }: DeliverDependencies): Performer<'deliver'> {
  return async (context) => {
    const { spec, day, put, drop, item, signal, timestamp } = context;
    const files = listFiles(day());
    const { schedule_id: schedule, date } = day();
    const previousItems = day().steps.flatMap(({ type, items }) => (type === 'deliver' ? items : []));
    const current = new Set<string>();
    const served: { readonly client: string; readonly counts: DeliveryCounts }[] = [];

    async function serve(client: ClientRecord): Promise<void> {
      const record = await records.keeper({ clientId: client.id, scheduleId: schedule, date }, client.version);
      const { targets } = client.document;
      await runConcurrently(targets, targets.length, async (target) => {
        const key = `${client.id}/${target.name}`;
        current.add(key);
        const isRepeat =
          item(key) === undefined && record.files(target.name).some(({ state }) => state === 'delivered');
        // The state is on disk before any file is sent. Otherwise another process could repeat the step.
        await put(key, null, item(key) ?? { state: 'waiting', message: 'The files are being delivered.' });
        const counts = await deliver({ client, target, schedule, date, files, record, isRepeat, signal, timestamp });
        served.push({ client: client.id, counts });
        await put(key, null, createResult(counts));
      });
    }

    await runConcurrently([...(spec.clients ?? (await clients.ids()))], CLIENT_CONCURRENCY, async (id) => {
      const client = await clients.find(id);
      if (client === undefined && spec.clients === null) return; // the routes of clients report an unreadable client
      if (client === undefined) {
        current.add(id);
        await put(id, null, {
          state: 'failed',
          code: 'CLIENT_NOT_FOUND',
          message: `No client is stored under the id ${id}.`,
        });
        return;
      }
      const hasEntitledFiles = files.some(({ indexId: index, table }) =>
        isEntitled(client.document, { index, table, date }),
      );
      if (client.document.enabled && (hasEntitledFiles || spec.clients !== null)) await serve(client);
    });
    // A target that was removed, or a client that may no longer receive files, does not keep the day open.
    for (const { key, state } of previousItems) if (state !== 'done' && !current.has(key)) await drop(key);
    return { state: 'done', message: summarise(served) };
  };
}

/** States how many files the targets have, and how many they lack. */
function summarise(served: readonly { readonly client: string; readonly counts: DeliveryCounts }[]): string {
  if (served.length === 0) return 'No client is entitled to a file of the day.';
  const total = (count: (counts: DeliveryCounts) => number) =>
    served.reduce((files, { counts }) => files + count(counts), 0);
  const missing = total(({ waiting, failed }) => waiting + failed);
  const clients = formatCount(new Set(served.map(({ client }) => client)).size, 'client');
  const delivered = `${formatCount(
    total((counts) => counts.delivered),
    'file',
  )} delivered to ${formatCount(served.length, 'target')} of ${clients}`;
  return missing === 0 ? `${delivered}.` : `${delivered}, ${missing} not delivered.`;
}

function createResult({ delivered, waiting, failed, reason }: DeliveryCounts): ItemResult {
  const detail = { delivered, waiting, failed };
  if (waiting + failed === 0) {
    const message =
      delivered === 0 ? 'The day has no files to deliver.' : `${formatCount(delivered, 'file')} delivered.`;
    return { state: 'done', message, detail };
  }
  const code = 'DELIVERY_FAILED';
  if (waiting > 0)
    return {
      state: 'waiting',
      code,
      message: `${formatCount(waiting, 'file is', 'files are')} not delivered yet: ${reason}`,
      detail,
    };
  const message = `${formatCount(failed, 'file was', 'files were')} not delivered in ${formatCount(LIMITS.MAX_DELIVERY_ROUNDS, 'attempt')}: ${reason}`;
  return { state: 'failed', code, message, detail };
}
