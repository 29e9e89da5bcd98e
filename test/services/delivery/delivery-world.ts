import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ClientBody, type DeliveryRecord } from '#domain/definition/delivery.js';
import type { ClientRecord } from '#services/delivery/clients.js';
import {
  createDeliverFiles,
  createDeliveryRecords,
  type DayFile,
  type DeliveryCounts,
} from '#services/delivery/deliveries.js';
import { createDeliveryDestinations, createSenders, type Senders } from '#services/delivery/targets.js';
import { createCallbackDestinations, createPost } from '#services/delivery/callbacks.js';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import type { FixedKeys } from '#store/port.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';
import { createTestContext } from '../context.js';

export const CALLBACK_KEY = Buffer.from('a key of at least 24 bytes, for tests');
export const DATE = '2024-12-31';

export interface WorldOptions {
  readonly hosts?: readonly string[];
  readonly callbackHosts?: readonly string[];
  readonly smtpUrl?: string;
  readonly buckets?: readonly string[];
  readonly endpoint?: string;
  readonly keys?: FixedKeys;
}

/** Creates a delivery service without scheduled days. Its files are in memory; its targets are real. */
export async function openDeliveryWorld(options: WorldOptions = {}) {
  const base = await createTemporaryFolder();
  const root = join(base, 'out');
  mkdirSync(root);
  const home = await openHome(join(base, 'home'));
  const store = await openStore({ home, onFailure: () => {} });
  const records = createDeliveryRecords(store.documents);
  const callbackPlaces = createCallbackDestinations({
    hosts: options.callbackHosts ?? [],
    isPrivateAllowed: true,
    hasSecret: true,
  });
  const destinations = createDeliveryDestinations({
    roots: [root],
    hosts: options.hosts ?? [],
    buckets: options.buckets ?? [],
    callbacks: callbackPlaces,
    hasMail: options.smtpUrl !== undefined,
    mailDomains: ['acme.example'],
    bucketService: () => ({
      endpoint: options.endpoint ?? 'http://127.0.0.1:1',
      region: 'us-east-1',
      keys: () => options.keys ?? { kind: 'given', accessKeyId: 'id', secretAccessKey: 'secret' },
    }),
  });
  const secrets = [`whsec_${CALLBACK_KEY.toString('base64')}`];
  const post = createPost({ destinations: callbackPlaces, secrets, now: Date.now, userAgent: 'test' });
  const mailServer = options.smtpUrl === undefined ? undefined : { url: options.smtpUrl, from: 'indices@desk.example' };
  const realSenders = createSenders(destinations, post, mailServer);
  const contents = new Map<string, Buffer>();
  const read: string[] = [];

  const createPublishedFile = (indexId: string, text: string, table = 'closing', name?: string): DayFile => {
    const bytes = Buffer.from(text);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    contents.set(sha256, bytes);
    const fileName = name ?? `${indexId}_20241231_${table}.${table === 'report' ? 'pdf' : 'csv'}`;
    return { name: fileName, indexId, table, bytes: bytes.length, sha256, artifact: sha256 };
  };

  const createClient = (body: object, secret?: string): ClientRecord => ({
    id: 'ACME',
    document: ClientBody.parse({ name: 'Acme', entitlements: [{}], ...body }),
    version: 1,
    findSecret: () => secret,
  });

  return {
    base,
    root,
    places: destinations,
    records,
    /** files whose content was read so that they could be sent */
    read,
    file: createPublishedFile,
    clientOf: createClient,
    /** Delivers to the first target of a client, as a day does. */
    async deliver(
      client: ClientRecord,
      files: readonly DayFile[],
      { isRepeat = false, signal = new AbortController().signal, wrap = (senders: Senders) => senders } = {},
    ): Promise<DeliveryCounts> {
      const context = createTestContext({
        artifacts: {
          async read({ sha256 }) {
            read.push(sha256);
            return contents.get(sha256)!;
          },
        },
      });
      const deliver = createDeliverFiles(context, wrap(realSenders), destinations, 1);
      const record = await records.keeper({ clientId: 'ACME', scheduleId: 'close', date: DATE }, client.version);
      const target = client.document.targets[0]!;
      const formatTimestamp = () => '2024-12-31T22:00:00.000000+00:00';
      return deliver({
        client,
        target,
        schedule: 'close',
        date: DATE,
        files,
        record,
        isRepeat,
        signal,
        timestamp: formatTimestamp,
      });
    },
    record: async (): Promise<DeliveryRecord> =>
      (await records.get({ clientId: 'ACME', scheduleId: 'close', date: DATE }))!,
    async close() {
      await store.close();
      await home.close();
    },
  };
}

export type DeliveryWorld = Awaited<ReturnType<typeof openDeliveryWorld>>;
