import { Approval, OpenApprovals, type ApprovalState } from '#domain/approvals/approval-document.js';
import { formatNumberedId } from '#store/document-id.js';
import type { DocumentReader, DocumentStore, DocumentTransaction } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';
import { isOpen } from './decide.js';

/** Stored approvals, and the list of open requests. Open requests are found by the digest of their content. */
export interface StoredApprovals {
  find(reader: Pick<DocumentReader, 'get'>, approvalId: number): Promise<Approval | undefined>;
  /** Returns the open approval for the content with this digest. */
  findOpen(reader: Pick<DocumentReader, 'get'>, digest: string): Promise<Approval | undefined>;
  save(tx: DocumentTransaction, approval: Approval): Promise<void>;
  /** Removes expired requests from the list of open requests. @returns number of requests that remain open */
  dropExpired(tx: DocumentTransaction): Promise<number>;
  lastNumber(reader: Pick<DocumentReader, 'lastNumber'>): Promise<number>;
  /**
   * Iterates over approvals with a lower number than `before`. For the states pending and approved, only the list of
   * open requests is searched.
   */
  newestFirst(state: ApprovalState | undefined, before: number): AsyncGenerator<Approval>;
}

const OWNER = 'approval';
const formatKey = (approvalId: number): string => formatNumberedId(OWNER, approvalId);

export function createStoredApprovals(documents: DocumentStore, now: () => number): StoredApprovals {
  /** Returns an approval with its current state, which is `expired` after its deadline. */
  const updateState = (approval: Approval): Approval =>
    isOpen(approval) && Date.parse(approval.expires_at) <= now() ? { ...approval, state: 'expired' } : approval;

  async function findApproval(reader: Pick<DocumentReader, 'get'>, approvalId: number): Promise<Approval | undefined> {
    const storedDocument = await reader.get('approval', formatKey(approvalId));
    const read = parseStored(storedDocument, Approval);
    return read && updateState(read);
  }

  async function findOpenApproval(reader: Pick<DocumentReader, 'get'>, digest: string): Promise<Approval | undefined> {
    const openApproval = (await readOpenApprovals(reader)).find((open) => open.digest === digest);
    const approval = openApproval && (await findApproval(reader, openApproval.approval_id));
    return approval && isOpen(approval) ? approval : undefined;
  }

  async function saveApproval(tx: DocumentTransaction, approval: Approval): Promise<void> {
    await tx.put('approval', formatKey(approval.approval_id), approval);
    const openApprovals = await readOpenApprovals(tx);
    const otherApprovals = openApprovals.filter(({ approval_id: id }) => id !== approval.approval_id);
    const { approval_id, digest } = approval;
    const next = isOpen(approval) ? [...otherApprovals, { approval_id, digest }] : otherApprovals;
    if (next.length !== openApprovals.length)
      await tx.put('approval-state', OWNER, { open: next } satisfies OpenApprovals);
  }

  async function removeExpired(tx: DocumentTransaction): Promise<number> {
    const openApprovals = await readOpenApprovals(tx);
    const keptApprovals = [];
    for (const openApproval of openApprovals) {
      const approval = await findApproval(tx, openApproval.approval_id);
      if (approval !== undefined && isOpen(approval)) keptApprovals.push(openApproval);
      else if (approval?.state === 'expired') await tx.put('approval', formatKey(openApproval.approval_id), approval);
    }
    if (keptApprovals.length !== openApprovals.length)
      await tx.put('approval-state', OWNER, { open: keptApprovals } satisfies OpenApprovals);
    return keptApprovals.length;
  }

  async function* listNewestFirst(state: ApprovalState | undefined, before: number): AsyncGenerator<Approval> {
    const isOpenState = state === 'pending' || state === 'approved';
    const last = await readLastNumber(documents);
    const numbers = isOpenState
      ? (await readOpenApprovals(documents)).map(({ approval_id: id }) => id).toSorted((a, b) => b - a)
      : Array.from({ length: last }, (_, k) => last - k);
    for (const number of numbers) {
      if (number >= before) continue;
      const approval = await findApproval(documents, number);
      if (approval !== undefined) yield approval;
    }
  }

  const readLastNumber: StoredApprovals['lastNumber'] = (reader) => reader.lastNumber('approval', OWNER);

  return {
    find: findApproval,
    findOpen: findOpenApproval,
    save: saveApproval,
    dropExpired: removeExpired,
    lastNumber: readLastNumber,
    newestFirst: listNewestFirst,
  };
}

async function readOpenApprovals(reader: Pick<DocumentReader, 'get'>): Promise<OpenApprovals['open']> {
  const storedDocument = await reader.get('approval-state', OWNER);
  return parseStored(storedDocument, OpenApprovals)?.open ?? [];
}
