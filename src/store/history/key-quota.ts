import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentStore, DocumentTransaction } from '../port.js';
import { readStored } from '../read-stored.js';

/** Limit on the bytes of the versions that each key may write. */
export interface KeyQuota {
  /** Reads the stored versions at the first call. */
  ready(): Promise<void>;
  /** Counts the bytes that a transaction writes. @throws Refusal QUOTA_EXCEEDED from `put` */
  meter(tx: DocumentTransaction): {
    readonly tx: DocumentTransaction;
    /** Adds the written bytes; called when they are durable. */
    readonly commit: () => void;
  };
}

interface WriterRecord {
  readonly keyId: string;
  readonly bytes: number;
}

/**
 * Returns the key that wrote a version, and the size of the version. Returns undefined if it was not written with a
 * key.
 */
function readWriter(body: unknown): WriterRecord | undefined {
  const { key_id: keyId, content } = body as { readonly key_id?: unknown; readonly content?: unknown };
  if (typeof keyId !== 'string') return undefined;
  return { keyId, bytes: typeof content === 'string' ? content.length : 0 };
}

/**
 * Creates a limit on the bytes of the versions written with each key. The versions include the current documents. Each
 * process counts separately; it includes the writes of other processes after its next start.
 */
export function createKeyQuota(documents: Pick<DocumentStore, 'list'>, bytesMax: number): KeyQuota {
  const bytesByKey = new Map<string, number>();
  let pendingRead: Promise<void> | undefined;

  async function read(): Promise<void> {
    const { documents: versions } = await documents.list('version', readWriter);
    for (const { keyId, bytes } of versions) add(keyId, bytes);
  }
  const add = (keyId: string, bytes: number): void => void bytesByKey.set(keyId, (bytesByKey.get(keyId) ?? 0) + bytes);

  return {
    ready() {
      pendingRead ??= read();
      pendingRead.catch(() => (pendingRead = undefined)); // the next write retries the read
      return pendingRead;
    },
    meter(tx) {
      const changes = new Map<string, number>();
      const computeChange = ({ keyId, bytes }: WriterRecord): number => {
        const sum = (changes.get(keyId) ?? 0) + bytes;
        changes.set(keyId, sum);
        return (bytesByKey.get(keyId) ?? 0) + sum;
      };
      return {
        commit: () => changes.forEach((bytes, keyId) => add(keyId, bytes)),
        tx: {
          ...tx,
          async put(kind, id, body) {
            const writerRecord = kind === 'version' ? readWriter(body) : undefined;
            if (writerRecord !== undefined && computeChange(writerRecord) > bytesMax)
              throw createQuotaRefusal(writerRecord.keyId, bytesMax);
            return tx.put(kind, id, body);
          },
          async delete(kind, id) {
            const storedVersion = kind === 'version' ? await tx.get(kind, id) : undefined;
            const writerRecord = readStored(storedVersion, readWriter);
            if (writerRecord !== undefined) computeChange({ ...writerRecord, bytes: -writerRecord.bytes });
            return tx.delete(kind, id);
          },
        },
      };
    },
  };
}

const createQuotaRefusal = (keyId: string, limit: number): Refusal =>
  new Refusal(
    'QUOTA_EXCEEDED',
    `The documents and versions of the key ${keyId} exceed its limit of ${Math.floor(limit / 2 ** 20)} MiB; purge some to free space.`,
    { limit },
  );
