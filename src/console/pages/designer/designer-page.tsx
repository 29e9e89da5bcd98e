import type { RuleTypes } from '#clients/typescript/divisor.js';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Banner } from '../../components/banner.js';
import { Button } from '../../components/button.js';
import { FormulaTerms } from '../../components/form/formula-terms.js';
import { MayNot } from '../../components/may-not.js';
import { NoteInput } from '../../components/note-input.js';
import { Page } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { Answered } from '../../components/wait.js';
import type { PageProps } from '../../state/page-props.js';
import { useAddressed } from '../../state/addressed.js';
import { useOneAtATime } from '../../state/one-at-a-time.js';
import { formatAddress, getParameter } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { findStoreOfNew } from '../../state/new-index.js';
import { useResource, worldVersion } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { useIndexStore } from '../../state/index-store.js';
import { getChosenStore, useStores } from '../../state/stores.js';
import { formatIndexAddress } from '../../words/addresses.js';
import type { JsonObject } from '../../words/paths.js';
import { Conflict } from '../../components/conflict/conflict.js';
import {
  createBody,
  formatChanges,
  createDraft,
  keepDraft,
  readDraft,
  createDocument,
  applyChanges,
  fillFromStore,
  DesignerContext,
  getTerms,
  type Draft,
  isSame,
} from './draft.js';
import { Forms } from './forms.js';
import { Beneath, loadTemplate, useAbsent } from './from-template.js';
import { Live } from './live.js';
import { createOverlayDocument } from './overlay.js';
import { PendingChanges } from './pending-changes.js';
import { getId, loadIndex, useSaving, type OpenedIndex, type SaveState } from './saving.js';
import { useStoreNames } from './store-names.js';
import { listTakenIdFindings } from './taken-id.js';
import './designer.css';

/** Page with a form editor of an index definition and a live preview. */
export function DesignerPage({ params }: PageProps) {
  const id = params['id'] ?? null;
  const beneath = id === null ? getParameter('beneath') : null;
  const template = id === null ? getParameter('template') : null;
  // A new index takes dates and fields from the served store. The form is therefore created again when a store is
  // served.
  const stores = useStores(id === null);
  const wasServed = useRef(false);
  wasServed.current ||= stores.data?.stores.some(({ active }) => active) === true;
  const isKnown = id !== null || (stores.data ?? stores.trouble) !== undefined;
  const openedIndex = useResource(
    isKnown
      ? `designer ${id} ${beneath} ${template} ${getParameter('id')} ${getChosenStore()} ${wasServed.current}`
      : null,
    (signal) => {
      if (id !== null) return loadIndex(id, signal);
      if (template !== null) return loadTemplate(template, getParameter('id'), signal);
      return beneath === null ? createIndex(signal) : createOverlay(beneath, signal);
    },
    { follows: false },
  );
  const types = useResource('rule types', (signal) => service.value.call('listRuleTypes', { signal }), {
    follows: false,
  });
  return (
    <Answered resource={openedIndex} what="the definition">
      {(found) => (
        <Answered resource={types} what="the rule classes">
          {(known) => <Designer key={found.etag} opened={found} types={known} onReload={openedIndex.reload} />}
        </Answered>
      )}
    </Answered>
  );
}

async function createIndex(signal: AbortSignal): Promise<OpenedIndex> {
  const [{ indices }, { stores }, market] = await Promise.all([
    service.value.call('listIndices', { signal }),
    service.value.call('listStores', { signal }),
    service.value.call('listFields', { signal }).catch(() => null), // no store is served
  ]);
  const takenIds = new Set(indices.map(({ id }) => id));
  const document = createDocument(takenIds, { market, store: findStoreOfNew(stores) });
  return { document, etag: null, isStored: false };
}

async function createOverlay(beneath: string, signal: AbortSignal): Promise<OpenedIndex> {
  const { document } = await loadIndex(beneath, signal);
  return { document: createOverlayDocument(document), etag: null, isStored: false };
}

/** Returns the pages above the designer: the list of indices, and the index if it is stored. */
const listPagesAbove = (id: string, isStored: boolean) => [
  { address: '/', text: 'Indices' },
  ...(isStored ? [{ address: formatIndexAddress(id), text: id }] : []),
];

interface DesignerProps {
  readonly opened: OpenedIndex;
  readonly types: RuleTypes;
  onReload(): void;
}

function Designer({ opened, types, onReload }: DesignerProps) {
  const { document: first, isStored } = opened;
  const id = getId(opened);
  const { draft, left, discard } = useDraft(opened);
  const document = draft.document.value;
  const store = useIndexStore(document);
  const names = useStoreNames(draft, { store, isStored });
  const isChanged = !isSame(document, first);
  // Validation waits until all underlying documents are stored, for example the parent.
  const absent = useAbsent(opened.beneath);
  const report = useOneAtATime(
    absent?.length === 0 ? JSON.stringify(document) : null,
    () => service.value.call('validateIndex', { body: createBody(document) }),
    worldVersion.value,
  );
  const isValid = report.data?.valid === true && !report.isBehind && draft.unread.value === null;
  const [note, setNote] = useState('');
  const saving = useSaving({ draft, opened, onReload });
  useWarning(isChanged);
  useRuleAt(getParameter('at'));
  const findings = [...(report.data?.findings ?? []), ...(saving.trouble?.findings ?? [])];
  const idFindings = isStored ? [] : listTakenIdFindings(document['id'], names.known.indices);
  return (
    <DesignerContext.Provider value={{ draft, types, findings: [...findings, ...idFindings], isStored, ...names }}>
      <FormulaTerms.Provider value={{ functions: types.functions, request: getTerms(document), store: store ?? null }}>
        <Page
          title={isStored ? `Edit ${id}` : 'New index'}
          above={listPagesAbove(id, isStored)}
          subtitle={isStored ? <EditedVersion id={id} /> : <TemplatesLink />}
          actions={
            <>
              <UndoButtons draft={draft} />
              {isChanged && <Button onClick={discard}>Discard changes</Button>}
              {may('write') && <NoteInput value={note} onChange={setNote} />}
              {may('write') ? (
                <Button
                  kind="main"
                  disabled={!isValid || idFindings.length > 0 || saving.isSaving || (isStored && !isChanged)}
                  onClick={() => saving.save(note)}
                >
                  {isStored ? 'Save' : 'Save the index'}
                </Button>
              ) : (
                <MayNot scope="write" what="save" />
              )}
            </>
          }
        >
          {left && isChanged && <UnsavedBanner onDiscard={discard} />}
          {absent !== undefined && <Beneath absent={absent} />}
          <SavedIndex id={id} saving={saving} mine={document} note={note} />
          <div class="designer">
            <Forms document={document} />
            <Live findings={findings} isValid={isValid} store={store} />
          </div>
        </Page>
      </FormulaTerms.Provider>
    </DesignerContext.Provider>
  );
}

/** Renders the version that is edited, and the version of the published run if it is another. */
function EditedVersion({ id }: { readonly id: string }) {
  const params = { index_id: id };
  const edited = useResource(`edited version ${id}`, async (signal) => {
    const [{ versions }, { runs }] = await Promise.all([
      service.value.call('listIndexVersions', { params, query: { limit: 1 }, signal }),
      service.value.call('listRuns', { params, signal }),
    ]);
    const published = runs.find((run) => run.published)?.index_version ?? null;
    return { version: versions[0]?.version, published };
  }).data;
  if (edited?.version === undefined) return null;
  const { version, published } = edited;
  return (
    <>
      Version {version}
      {published !== null && (published === version ? ', published' : `; version ${published} is published`)}
    </>
  );
}

/** Renders a link to the templates on the data store in the address. */
const TemplatesLink = () => (
  <a href={formatAddress('/console/indices/templates', { store: getParameter('store') })}>Begin with a template</a>
);

/** Renders buttons that undo and redo changes of the draft, with the keys Ctrl+Z and Ctrl+Shift+Z. */
function UndoButtons({ draft }: { readonly draft: Draft }) {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'z' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      if (event.shiftKey) draft.redo();
      else draft.undo();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, [draft]);
  return (
    <>
      <Button disabled={!draft.canUndo.value} onClick={draft.undo}>
        Undo
      </Button>
      <Button disabled={!draft.canRedo.value} onClick={draft.redo}>
        Redo
      </Button>
    </>
  );
}

/** Focuses the rule at the path of a finding, such as `pipeline.selection[0].params.count`. */
function useRuleAt(path: string | null): void {
  const rule = /^pipeline\.selection\[(\d+)\]/.exec(path ?? '')?.[1];
  useEffect(() => {
    if (rule !== undefined) globalThis.document.getElementById(`rule-${rule}`)?.focus();
  }, [rule]);
}

interface DraftState {
  readonly draft: Draft;
  /** True if the draft was restored: from the address, or from an earlier visit in this tab. */
  readonly left: boolean;
  discard(): void;
}

/** Keeps the draft in the address and in the session storage of the tab until it is saved. */
function useDraft(opened: OpenedIndex): DraftState {
  const { document: first, isStored } = opened;
  const id = getId(opened);
  // The first values of a new index depend on the date and the store. Its address therefore contains the whole document
  // and not only the changes.
  const base = isStored ? first : {};
  const addressedDraft = useAddressed('draft');
  const isBegunElsewhere = getParameter('template') !== null;
  const foundDocument = useMemo(() => {
    const ownDraft = applyChanges(base, addressedDraft.text) ?? (isBegunElsewhere ? null : readDraft(id));
    return ownDraft === null || isStored ? ownDraft : fillFromStore(ownDraft, first);
  }, []);
  const keep = (next: JsonObject) => {
    const isChanged = !isSame(next, first);
    keepDraft(id, isChanged ? next : null);
    addressedDraft.put(isChanged ? formatChanges(base, next) : null);
  };
  const draft = useMemo(() => createDraft(foundDocument ?? first, keep), []);
  useEffect(() => {
    if (foundDocument !== null) keep(foundDocument);
  }, []);
  return { draft, left: foundDocument !== null, discard: () => draft.replace(first) };
}

function UnsavedBanner({ onDiscard }: { readonly onDiscard: () => void }) {
  return (
    <Banner
      kind="info"
      title="This draft has unsaved changes."
      action={<Button onClick={onDiscard}>Discard the draft</Button>}
    />
  );
}

interface SavedIndexProps {
  readonly id: string;
  readonly saving: SaveState;
  readonly mine: JsonObject;
  readonly note: string;
}

/** Renders the result of the last attempt to save. */
function SavedIndex({ id, saving, mine, note }: SavedIndexProps) {
  const { clash, trouble, pending, takeTheirs, saveOver } = saving;
  return (
    <>
      {pending !== null && <PendingChanges id={id} pending={pending} saving={saving} note={note} />}
      {clash !== null && (
        <Conflict
          clash={clash}
          mine={mine}
          onTakeTheirs={takeTheirs}
          onKeepMine={() => saveOver(clash, mine, note)}
          onResolve={(document) => saveOver(clash, document, note)}
        />
      )}
      {trouble !== null && pending === null && <Problem trouble={trouble} />}
    </>
  );
}

/** Asks for confirmation before the tab is closed with unsaved changes. */
function useWarning(isChanged: boolean): void {
  useEffect(() => {
    if (!isChanged) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isChanged]);
}
