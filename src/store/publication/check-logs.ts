import { PublicationBatch, PublicationHead } from '#domain/documents/publication-document.js';
import { getOwner } from '../document-id.js';
import { createLogCheck, type LogCheck } from './log-check.js';

/** Document as read from disk. */
interface Entry {
  readonly kind: string | undefined;
  readonly id: string;
  readonly body: unknown;
}

/** Check for logs with a broken chain. It receives all documents of a snapshot, by id. */
export interface LogsCheck {
  look(entry: Entry): void;
  /** Returns the first error of each log, by index, after all documents were read. */
  faults(): readonly { readonly name: string; readonly reason: string }[];
}

/** Creates the check without signatures, because a writer of a home can also replace the keys. */
export function createLogsCheck(): LogsCheck {
  const logChecks = new Map<string, LogCheck>();
  const headByIndex = new Map<string, PublicationHead>();
  const faults = new Map<string, string>();
  return {
    look({ kind, id, body }) {
      if (kind === 'publication-head') {
        const head = PublicationHead.safeParse(body).data;
        if (head !== undefined) headByIndex.set(id, head);
      }
      if (kind !== 'publication') return;
      const indexId = getOwner(id);
      const log = logChecks.get(indexId) ?? createLogCheck(null);
      logChecks.set(indexId, log);
      for (const entry of PublicationBatch.safeParse(body).data?.entries ?? []) {
        const fault = log.next(entry);
        if (fault !== undefined && !faults.has(indexId)) faults.set(indexId, `entry ${fault.seq}: ${fault.reason}`);
      }
    },
    faults() {
      for (const indexId of new Set([...headByIndex.keys(), ...logChecks.keys()])) {
        const head = headByIndex.get(indexId);
        const result = logChecks.get(indexId)?.last().hash;
        if (result !== head?.hash && !faults.has(indexId))
          faults.set(indexId, `it does not end with entry ${head?.seq ?? 'none'}, which its head names`);
      }
      return [...faults].map(([name, reason]) => ({ name, reason }));
    },
  };
}
