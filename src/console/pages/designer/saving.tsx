import { useEffect, useState } from 'preact/hooks';
import {
  type BenchmarkStatement,
  DivisorError,
  type DocumentChange,
  type Finding,
} from '#clients/typescript/divisor.js';
import type { ConcurrentChange } from '../../components/conflict.js';
import { Button } from '../../components/controls/button.js';
import { Banner, Problem } from '../../components/feedback.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { FormDialog } from '../../components/layout/dialog.js';
import { ChangeTable } from '../../components/versions/change-table.js';
import { navigate, setParameters, useAddressedObject } from '../../state/location.js';
import { createTrouble, notifyChange, service, type Trouble } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { addAmendment, computeDefinitionsOn, sortChanges, type SortedChanges } from '../../words/changes.js';
import { isDate } from '../../words/dates.js';
import { formatPathLabel } from '../../words/labels.js';
import { countValues } from '../../words/numbers.js';
import { type Difference, type JsonObject, listDifferences } from '../../words/paths.js';
import { createBody, type Draft, keepDraft } from './draft.js';

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
interface PendingChange extends SortedChanges {
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

interface PendingChangesProps {
  readonly id: string;
  readonly pending: PendingChange;
  readonly saving: SaveState;
  /** Reason for the change, stored with the version. */
  readonly note: string;
}

const NO_TERMS: JsonObject = {};

/**
 * Renders a dialog that applies changes from a date. The dialog also offers to change the whole history, and shows how
 * many closes that affects.
 */
export function PendingChanges({ id, pending, saving, note }: PendingChangesProps) {
  const { published, fixed, amendable, after } = pending;
  // The address keeps the terms while the amendment waits for approval.
  const [terms, setTerms] = useAddressedObject('amend', NO_TERMS);
  const { effective_from: from, ...others } = terms;
  const date = typeof from === 'string' && isDate(from) ? from : null;
  const reason = note === '' && typeof terms['reason'] === 'string' ? terms['reason'] : note;
  const closesText = countValues(published.closes, 'published close');
  const differences = date === null ? amendable : listAmendedFields(date, pending);
  return (
    <FormDialog title={`Amend ${id} from a date`} onClose={saving.dropPending}>
      <p>
        The index has {closesText}, {published.first} to {published.through}. An amendment keeps them: the first review
        on or after its date follows the new definition.
      </p>
      <ChangeTable label="Changed fields" changes={[...differences, ...fixed].map(toDocumentChange)} document={after} />
      {fixed.length > 0 && (
        <Banner kind="warning" title="Some fields cannot change from a date.">
          <p>
            {fixed.map(({ path }) => formatPathLabel(path, after)).join('; ')}. Discard these changes to amend the index
            from a date.
          </p>
        </Banner>
      )}
      {fixed.length === 0 && (
        <SchemaForm
          schema="Amendment"
          names={['effective_from', 'announced', 'rebalance', 'reason']}
          changes={{ rebalance: { label: 'Rebalance at once', otherwise: false } }}
          value={terms}
          findings={createLateFinding(date, published.through)}
          onChange={setTerms}
        />
      )}
      {saving.trouble !== null && <Problem trouble={saving.trouble} />}
      <div class="dialog-actions">
        <Button onClick={saving.dropPending}>Cancel</Button>
        {fixed.length === 0 && (
          <Button
            kind="main"
            disabled={date === null || saving.isSaving}
            onClick={() => date !== null && saving.amend(date, others, reason)}
          >
            {date === null ? 'Amend from a date' : `Amend from ${date}`}
          </Button>
        )}
      </div>
      <WholeHistory closes={closesText} isDisabled={saving.isSaving} onChange={() => saving.saveWhole(note)} />
    </FormDialog>
  );
}

interface WholeHistoryProps {
  /** Number of published closes in words, such as `128 published closes`. */
  readonly closes: string;
  readonly isDisabled: boolean;
  onChange(): void;
}

/** Renders the button that changes the whole history, with the number of affected closes. */
function WholeHistory({ closes, isDisabled, onChange }: WholeHistoryProps) {
  return (
    <details>
      <summary>Change the whole history instead</summary>
      <Banner
        kind="warning"
        title={`The new definition applies from the base date: ${closes} would have to be restated.`}
      >
        <p>
          The next run computes every close again. Closes that differ are refused until they are restated with a reason,
          or decided by an error policy.
        </p>
        <div class="form-actions">
          <Button kind="danger" disabled={isDisabled} onClick={onChange}>
            Change the whole history
          </Button>
        </div>
      </Banner>
    </details>
  );
}

/** Returns the fields that an amendment on a date would change. Earlier amendments are taken into account. */
function listAmendedFields(date: string, pending: PendingChange): readonly Difference[] {
  const { inForce, amended } = computeDefinitionsOn(date, pending);
  return listDifferences(inForce, amended);
}

const toDocumentChange = ({ path, before, after }: Difference): DocumentChange => ({
  path: path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
  op: before === undefined ? 'add' : after === undefined ? 'remove' : 'replace',
  before: before ?? null,
  after: after ?? null,
});

const createLateFinding = (date: string | null, through: string): readonly Finding[] =>
  date === null || date > through
    ? []
    : [
        {
          severity: 'warning',
          code: 'BAD_DATE',
          message: `Closes are published through ${through}: reviews up to it change published closes.`,
          path: 'effective_from',
        },
      ];
