import { DivisorError } from '#clients/typescript/divisor.js';
import { useEffect, useState } from 'preact/hooks';
import { go, setParameters } from '../../state/place.js';
import { notifyChange } from '../../state/resource.js';
import { service, troubleOf, type Trouble } from '../../state/service.js';
import { say } from '../../state/toasts.js';
import { indexAddress } from '../../words/addresses.js';
import type { JsonObject } from '../../words/paths.js';
import type { Clash } from '../../components/conflict/conflict.js';
import { keepDraft, type Draft } from './draft.js';
import { bodyOf } from './live.js';

/** The edited definition: a stored one with its ETag, or a new one without. */
export interface Opened {
  readonly document: JsonObject;
  readonly etag: string | null;
  readonly isStored: boolean;
  /** Documents that a new one from a template needs, in the order in which they are stored. */
  readonly beneath?: readonly JsonObject[];
}

/** Returns the id of the stored document; empty for a new index. */
export const idOf = ({ document, isStored }: Opened): string => (isStored ? String(document['id']) : '');

export async function storedIndex(id: string, signal?: AbortSignal): Promise<Opened> {
  const { answer, etag } = await service.value.callWithEtag('getIndex', { params: { index_id: id }, signal });
  // A JSON document.
  return { document: answer as unknown as JsonObject, etag, isStored: true };
}

interface SavingInput {
  readonly draft: Draft;
  readonly opened: Opened;
  onReload(): void;
}

export interface Saving {
  readonly isSaving: boolean;
  readonly trouble: Trouble | null;
  readonly clash: Clash | null;
  /** @param note why, for the list of versions */
  save(note: string): void;
  /** Overwrites the version of another person after its review. */
  saveOver(clash: Clash, document: JsonObject, note: string): void;
  takeTheirs(): void;
}

/** Saves only over the version that was reviewed. If another one was saved in the meantime, both are shown. */
export function useSaving({ draft, opened, onReload }: SavingInput): Saving {
  const [isSaving, setSaving] = useState(false);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [clash, setClash] = useState<Clash | null>(null);
  const [seen, setSeen] = useState(opened);
  // Findings of an earlier draft do not apply to a changed one.
  const text = JSON.stringify(draft.document.value);
  useEffect(() => setTrouble(null), [text]);

  async function put(etag: string | null, why: string): Promise<void> {
    const body = bodyOf(draft.document.value);
    const note = why === '' ? undefined : why;
    if (!opened.isStored) await service.value.call('createIndex', { body, note });
    else
      await service.value.call('putIndex', { params: { index_id: body.id }, body, ifMatch: etag ?? undefined, note });
    keepDraft(opened.isStored ? body.id : '', null);
    notifyChange();
    say('good', `${body.id} was saved.`);
    go(indexAddress(body.id));
  }

  /** @param over version that was reviewed last */
  async function save(over: Opened, note: string): Promise<void> {
    setSaving(true);
    setTrouble(null);
    try {
      await put(over.etag, note).catch(async (thrown: unknown) => {
        if (!(thrown instanceof DivisorError && thrown.code === 'PRECONDITION_FAILED')) throw thrown;
        const { document, etag } = await storedIndex(idOf(opened));
        setClash({ base: over.document, theirs: document, etag });
      });
    } catch (thrown) {
      const told = troubleOf(thrown);
      const message = `${told.message} The change may not have been saved. Save again when the service is available.`;
      setTrouble(told.code === null && told.retrySeconds !== null ? { ...told, message } : told);
    }
    setSaving(false);
  }

  return {
    isSaving,
    trouble,
    clash,
    save: (note) => void save(seen, note),
    saveOver({ theirs, etag }, document, note) {
      const over = { document: theirs, etag, isStored: true };
      setSeen(over);
      setClash(null);
      draft.replace(document);
      void save(over, note);
    },
    takeTheirs() {
      keepDraft(idOf(opened), null);
      setParameters({ draft: null });
      setClash(null);
      onReload();
    },
  };
}
