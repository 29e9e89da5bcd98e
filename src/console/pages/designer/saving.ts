import { DivisorError, type BenchmarkStatement } from '#clients/typescript/divisor.js';
import { useEffect, useState } from 'preact/hooks';
import { navigate, setParameters } from '../../state/location.js';
import { notifyChange } from '../../state/resource.js';
import { service, createTrouble, type Trouble } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { sortChanges, addAmendment, type SortedChanges } from '../../words/amendments.js';
import type { JsonObject } from '../../words/paths.js';
import type { ConcurrentChange } from '../../components/conflict/conflict.js';
import { createBody, keepDraft, type Draft } from './draft.js';

/** Definition that is edited. A stored definition has an ETag; the ETag of a new definition is null. */
export interface OpenedIndex {
  readonly document: JsonObject;
  readonly etag: string | null;
  readonly isStored: boolean;
  /** Documents that a new index from a template depends on. They must be stored in this order. */
  readonly beneath?: readonly JsonObject[];
}

/** Returns the id of the stored document; empty for a new index. */
export const getId = ({ document, isStored }: OpenedIndex): string => (isStored ? String(document['id']) : '');

export async function loadIndex(id: string, signal?: AbortSignal): Promise<OpenedIndex> {
  const { answer, etag } = await service.value.callWithEtag('getIndex', { params: { index_id: id }, signal });
  // The response is plain JSON.
  return { document: answer as unknown as JsonObject, etag, isStored: true };
}

interface SavingInput {
  readonly draft: Draft;
  readonly opened: OpenedIndex;
  onReload(): void;
}

/** Changes of a definition with published closes. They apply from a date or to the whole history. */
export interface PendingChange extends SortedChanges {
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly published: PublishedIndex;
}

type PublishedIndex = NonNullable<BenchmarkStatement['publication']>;

export interface SaveState {
  readonly isSaving: boolean;
  readonly trouble: Trouble | null;
  readonly clash: ConcurrentChange | null;
  /** Changes for which the user must decide between a date and the whole history; null if there are none. */
  readonly pending: PendingChange | null;
  /**
   * Saves the draft.
   * @param note reason of the change, stored with the version
   */
  save(note: string): void;
  /**
   * Saves pending changes as an amendment.
   * @param terms terms of the amendment without its date and changes
   */
  amend(date: string, terms: JsonObject, note: string): void;
  /** Saves pending changes for the whole history. */
  saveWhole(note: string): void;
  dropPending(): void;
  /** Overwrites the version that another user saved, after this user has reviewed it. */
  saveOver(clash: ConcurrentChange, document: JsonObject, note: string): void;
  takeTheirs(): void;
}

/**
 * Returns the state and the actions of saving. A save replaces only the version that the user has seen. If another
 * version was saved since, both versions are shown.
 */
export function useSaving({ draft, opened, onReload }: SavingInput): SaveState {
  const [isSaving, setSaving] = useState(false);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [clash, setClash] = useState<ConcurrentChange | null>(null);
  const [seen, setSeen] = useState(opened);
  const [pending, setPending] = useState<PendingChange | null>(null);
  // Findings of the last save do not apply to a changed draft.
  const text = JSON.stringify(draft.document.value);
  useEffect(() => setTrouble(null), [text]);

  async function put(document: JsonObject, etag: string | null, why: string): Promise<void> {
    const body = createBody(document);
    const note = why === '' ? undefined : why;
    if (!opened.isStored) await service.value.call('createIndex', { body, note });
    else
      await service.value.call('putIndex', { params: { index_id: body.id }, body, ifMatch: etag ?? undefined, note });
    keepDraft(opened.isStored ? body.id : '', null);
    notifyChange();
    showToast('good', `${body.id} was saved.`);
    navigate(formatIndexAddress(body.id));
  }

  /** Runs the requests of a save. If one is refused, shows the error. */
  async function attemptSave(requests: () => Promise<void>): Promise<void> {
    setSaving(true);
    setTrouble(null);
    try {
      await requests();
    } catch (thrown) {
      const newTrouble = createTrouble(thrown);
      const message = `${newTrouble.message} The change may not have been saved. Save again when the service is available.`;
      setTrouble(
        newTrouble.code === null && newTrouble.retrySeconds !== null ? { ...newTrouble, message } : newTrouble,
      );
    }
    setSaving(false);
  }

  /**
   * Stores a document. If another version was saved since, reads that version.
   * @param over version that the user saw last
   */
  const store = (document: JsonObject, over: OpenedIndex, note: string) =>
    put(document, over.etag, note).catch(async (thrown: unknown) => {
      if (!(thrown instanceof DivisorError && thrown.code === 'PRECONDITION_FAILED')) throw thrown;
      const { document: theirs, etag } = await loadIndex(getId(opened));
      setPending(null);
      setClash({ base: over.document, theirs, etag });
    });

  /** Stores a change that affects no published close. For any other change, asks the user. */
  const storeOrAsk = (document: JsonObject, over: OpenedIndex, note: string) =>
    attemptSave(async () => {
      const pendingChanges = opened.isStored ? await loadPendingChanges(getId(opened), over.document, document) : null;
      if (pendingChanges === null) await store(document, over, note);
      else setPending(pendingChanges);
    });

  return {
    isSaving,
    trouble,
    clash,
    pending,
    save: (note) => void storeOrAsk(draft.document.value, seen, note),
    amend(date, terms, note) {
      if (pending !== null) void attemptSave(() => store(addAmendment(date, terms, pending), seen, note));
    },
    saveWhole(note) {
      if (pending !== null) void attemptSave(() => store(pending.after, seen, note));
    },
    dropPending() {
      setPending(null);
      setTrouble(null);
    },
    saveOver({ theirs, etag }, document, note) {
      const replacedDocument = { document: theirs, etag, isStored: true };
      setSeen(replacedDocument);
      setClash(null);
      draft.replace(document);
      void storeOrAsk(document, replacedDocument, note);
    },
    takeTheirs() {
      keepDraft(getId(opened), null);
      setParameters({ draft: null });
      setClash(null);
      onReload();
    },
  };
}

/** Returns the changes that affect published closes; null if there are none. */
async function loadPendingChanges(id: string, before: JsonObject, after: JsonObject): Promise<PendingChange | null> {
  const { publication: published } = await service.value.call('getStatement', { params: { index_id: id } });
  if (published === null) return null;
  const changes = sortChanges(before, after, published.through);
  return changes.amendable.length + changes.fixed.length === 0 ? null : { before, after, published, ...changes };
}
