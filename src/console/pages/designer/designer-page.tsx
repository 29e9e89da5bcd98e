import './designer.css';
import type { ComponentType, RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { FieldList, Finding, IndexDocumentBody, RuleTypes } from '#clients/typescript/divisor.js';
import { Conflict } from '../../components/conflict.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Button } from '../../components/controls/button.js';
import { NoteInput } from '../../components/controls/comment.js';
import { Answered, Banner, Problem } from '../../components/feedback.js';
import { FormulaTerms } from '../../components/form/field.js';
import { Page } from '../../components/layout/page.js';
import { MayNot } from '../../components/permission.js';
import { useOneAtATime } from '../../state/latest-request.js';
import { formatAddress, getParameter, type PageProps, useAddressed } from '../../state/location.js';
import { useExchanges, useFields, useIndexStore } from '../../state/market.js';
import { may, notifyChange, service, useResource, worldVersion } from '../../state/service.js';
import { getChosenStore, useStores } from '../../state/stores.js';
import { showToast } from '../../state/toasts.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { countValues } from '../../words/numbers.js';
import type { Json, JsonObject } from '../../words/paths.js';
import {
  adoptStore,
  applyChanges,
  createBody,
  createDocument,
  createDraft,
  DesignerContext,
  type Draft,
  fillFromStore,
  findStoreOfNew,
  formatChanges,
  getTerms,
  isSame,
  keepDraft,
  readDraft,
  useWorkshop,
} from './draft.js';
import { Live } from './live.js';
import { createOverlayDocument, Overlay } from './overlay.js';
import {
  Changes,
  Derivation,
  Identity,
  Precision,
  Schedule,
  Selection,
  Treatment,
  Universe,
  Weighting,
} from './parts.js';
import { getId, loadIndex, type OpenedIndex, PendingChanges, type SaveState, useSaving } from './saving.js';

/** Title of a section in the navigation, and its form. */
type FormSection = readonly [title: string, Form: ComponentType];

const PIPELINE: readonly FormSection[] = [
  ['Universe', Universe],
  ['Selection', Selection],
  ['Weighting', Weighting],
  ['Rebalance', Schedule],
  ['Events', Treatment],
  ['Changes', Changes],
];

const IDENTITY: FormSection = ['Index', Identity];

/** Returns the sections of a definition. Its kind is an overlay, an optimised child, or a pipeline of rules. */
function listSections(document: JsonObject, isStored: boolean): readonly FormSection[] {
  const isDerived = document['derivation'] !== null && document['derivation'] !== undefined;
  const rules: readonly FormSection[] =
    document['overlay'] !== undefined ? [['Overlay', Overlay]] : isDerived ? [['Optimisation', Derivation]] : PIPELINE;
  // The id and the base date of a stored index rarely change, so its rules come first.
  const sections = isStored ? [...rules, IDENTITY] : [IDENTITY, ...rules];
  return [...sections, ['Rounding', Precision]];
}

/** Renders the sections of a definition, and buttons that lead to each of them. */
function Forms({ document }: { readonly document: JsonObject }) {
  const { isStored } = useWorkshop();
  const frame = useRef<HTMLDivElement>(null);
  const sections = listSections(document, isStored);
  const current = useCurrentSection(frame);
  const show = (at: number) => {
    const section = frame.current?.querySelectorAll<HTMLElement>('.designer-section')[at];
    const folded = section?.querySelector<HTMLDetailsElement>(':scope > details');
    if (folded) folded.open = true;
    section?.scrollIntoView();
    section?.focus({ preventScroll: true });
  };
  return (
    <div class="designer-forms" ref={frame}>
      <nav class="designer-sections" aria-label="Sections of the definition">
        {sections.map(([title], at) => (
          <Button key={title} kind="bare" aria-current={at === current ? 'true' : undefined} onClick={() => show(at)}>
            {title}
          </Button>
        ))}
      </nav>
      {sections.map(([title, Form]) => (
        <div key={title} class="designer-section" tabIndex={-1}>
          <Form />
        </div>
      ))}
    </div>
  );
}

/** Part of the window in which a section is in view: below the buttons, without the lower half. */
const VIEW_MARGIN = '-110px 0px -50% 0px';

/** Returns the position of the first section in view. */
function useCurrentSection(frame: RefObject<HTMLElement>): number {
  const [current, setCurrent] = useState(0);
  useEffect(() => {
    const sections = [...frame.current!.querySelectorAll('.designer-section')]; // the form is in the document
    const visible = new Set<number>();
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries)
          visible[isIntersecting ? 'add' : 'delete'](sections.indexOf(target));
        if (visible.size > 0) setCurrent(Math.min(...visible));
      },
      { rootMargin: VIEW_MARGIN },
    );
    for (const section of sections) observer.observe(section);
    return () => observer.disconnect();
  }, []);
  return current;
}

/**
 * Creates a new index from the template of a published methodology, on the data store in the address or on the served
 * one. Also returns the documents that the index depends on.
 */
async function loadTemplate(template: string, id: string | null, signal: AbortSignal): Promise<OpenedIndex> {
  const chosen = getChosenStore();
  const [{ documents }, { stores }] = await Promise.all([
    service.value.call('getMethodologyTemplate', {
      params: { methodology_id: template },
      query: { index_id: id ?? undefined, store_id: chosen },
      signal,
    }),
    service.value.call('listStores', { signal }),
  ]);
  const store = chosen ?? findStoreOfNew(stores);
  const bodies = (documents as JsonObject[]) // the service returns JSON objects
    .map((body) => (store === null ? body : { ...body, store_id: store }));
  return { document: bodies.at(-1) ?? {}, etag: null, isStored: false, beneath: bodies.slice(0, -1) };
}

/** Returns the documents of a template that are not stored yet. Returns undefined until this is known. */
function useAbsent(documents: readonly JsonObject[] = []): readonly JsonObject[] | undefined {
  const key = documents.length === 0 ? null : 'indices';
  const indices = useResource(key, (signal) => service.value.call('listIndices', { signal }));
  if (documents.length === 0) return documents;
  if (indices.data === undefined) return indices.trouble === null ? undefined : [];
  const storedIds = new Set(indices.data.indices.map(({ id }) => id));
  return documents.filter(({ id }) => !storedIds.has(String(id)));
}

/** Renders the indices of a template that are not stored yet, and a button that stores them. */
function Beneath({ absent }: { readonly absent: readonly JsonObject[] }) {
  if (absent.length === 0) return null;
  const ids = absent.map(({ id }) => String(id)).join(', ');
  const missingText = absent.length === 1 ? ids : countValues(absent.length, 'index', 'indices');
  const store = async () => {
    for (const document of absent)
      // The service created the document.
      await service.value.call('createIndex', { body: document as unknown as IndexDocumentBody });
    showToast('good', `${ids} stored.`);
    notifyChange();
  };
  return (
    <Banner
      kind="info"
      title={`This index requires ${ids}.`}
      action={<ActionButton kind="main" act={store}>{`Store ${missingText}`}</ActionButton>}
    >
      <p>The definition is checked and previewed once {absent.length === 1 ? 'it is' : 'they are'} stored.</p>
    </Banner>
  );
}

interface StoreNamesInput {
  /** Data store of the definition; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
  readonly isStored: boolean;
}

/**
 * Loads the suggestions for fields: datapoints of the definition's store, and ids of stored documents. A new index
 * follows a store that is chosen.
 */
function useStoreNames(draft: Draft, { store, isStored }: StoreNamesInput) {
  const fields = useFields(store ?? null);
  const stores = useStores();
  const exchanges = useExchanges();
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const watchlists = useResource('watchlists', (signal) => service.value.call('listWatchlists', { signal }));
  useStoreOfDraft(isStored ? null : draft, store === undefined ? undefined : fields.data);
  return {
    datapoints: fields.data?.fields.map(({ name }) => name) ?? [],
    known: {
      exchanges,
      indices: indices.data?.indices.map(({ id }) => id) ?? [],
      universes: fields.data?.universes ?? [],
      stores: new Map(stores.data?.stores.map(({ store_id: id, name }) => [id, name])),
      watchlists: watchlists.data?.watchlists.map(({ watchlist_id: id }) => id) ?? [],
    },
  };
}

/**
 * Changes the values that a new index takes from its store when another store is chosen. Changes nothing for a draft
 * that is already on a store when the page opens.
 * @param draft null for a stored index, whose values are kept
 */
function useStoreOfDraft(draft: Draft | null, market: FieldList | undefined): void {
  const before = useRef<JsonObject | null>(null);
  useEffect(() => {
    if (draft === null || market === undefined) return;
    const after = createDocument(new Set(), { market, store: null });
    const previous = before.current ?? after;
    before.current = after;
    if (isSame(previous, after)) return;
    const changedDocument = adoptStore(draft.document.peek(), previous, after);
    if (!isSame(changedDocument, draft.document.peek())) draft.replace(changedDocument);
  }, [market]);
}

/** Returns a finding if a stored index already has the id of a new index. */
function listTakenIdFindings(id: Json | undefined, storedIds: readonly string[]): readonly Finding[] {
  if (typeof id !== 'string' || !storedIds.includes(id)) return [];
  const message = `An index is already stored under the id ${id}; a new index needs a different id.`;
  return [{ severity: 'error', code: 'DUPLICATE_ID', path: 'id', message, value: id }];
}

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
