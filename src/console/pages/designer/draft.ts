import { computed, type ReadonlySignal, signal, type Signal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { DataStore, FieldList, Finding, IndexDocumentBody, RuleTypes } from '#clients/typescript/divisor.js';
import type { Terms } from '../../components/form/field.js';
import { getParameter, parseJsonParameter } from '../../state/location.js';
import { parsePointer } from '../../words/labels.js';
import {
  addValue,
  formatPath,
  getValueAt,
  isObject,
  type Json,
  type JsonObject,
  listDifferences,
  type Path,
} from '../../words/paths.js';

/** A definition that is being edited. */
export interface Draft {
  readonly document: ReadonlySignal<JsonObject>;
  /** Error in JSON text that cannot be parsed and would be lost; null if there is none. */
  readonly unread: Signal<string | null>;
  at(path: Path): Json | undefined;
  set(path: Path, value: Json | undefined): void;
  replace(document: JsonObject): void;
  /** Restores the document before the last change. Does nothing if there is no change to undo. */
  undo(): void;
  redo(): void;
  readonly canUndo: ReadonlySignal<boolean>;
  readonly canRedo: ReadonlySignal<boolean>;
}

/** Maximum number of changes that can be undone. */
const UNDONE_MAX = 200;
/** Time in milliseconds in which changes of the same field count as one change, such as typed letters. */
const TYPED_MS = 600;

export function openDraft(first: JsonObject, onChange: (document: JsonObject) => void): Draft {
  const document = signal(first);
  const before = signal<readonly JsonObject[]>([]);
  const after = signal<readonly JsonObject[]>([]);
  let changedAt = -Infinity;
  let changedPaths = '';
  const show = (next: JsonObject) => {
    document.value = next;
    onChange(next);
  };
  const change = (next: JsonObject, isOneField: boolean) => {
    // Fields of one form set the same object, so its path does not identify the field.
    const differences = isOneField ? listDifferences(document.value, next) : [];
    const paths = differences.map(({ path }) => formatPath(path)).join();
    const isTyping = paths !== '' && paths === changedPaths && performance.now() - changedAt < TYPED_MS;
    if (!isTyping) before.value = [...before.value, document.value].slice(-UNDONE_MAX);
    [changedAt, changedPaths] = [performance.now(), paths];
    after.value = [];
    show(next);
  };
  const step = (from: Signal<readonly JsonObject[]>, to: Signal<readonly JsonObject[]>) => {
    const next = from.value.at(-1);
    if (next === undefined) return;
    from.value = from.value.slice(0, -1);
    to.value = [...to.value, document.value];
    changedAt = -Infinity;
    show(next);
  };
  return {
    document,
    unread: signal<string | null>(null),
    at: (path) => getValueAt(document.value, path),
    // Replacing a value inside an object returns an object.
    set: (path, value) => change(addValue(document.value, path, value) as JsonObject, true),
    replace: (next) => change(next, false),
    undo: () => step(before, after),
    redo: () => step(after, before),
    canUndo: computed(() => before.value.length > 0),
    canRedo: computed(() => after.value.length > 0),
  };
}

/** Ids and names that the service lists. */
export interface StoreFacts {
  /** Names of exchanges by calendar code. */
  readonly exchanges: ReadonlyMap<string, string>;
  readonly indices: readonly string[];
  readonly universes: readonly string[];
  readonly watchlists: readonly string[];
  /** Names of data stores by id. */
  readonly stores: ReadonlyMap<string, string>;
}

/** Context shared by all parts of the designer. */
export interface DesignerState {
  readonly draft: Draft;
  readonly findings: readonly Finding[];
  readonly types: RuleTypes;
  /** Names of datapoints of the definition's store. */
  readonly datapoints: readonly string[];
  /** Ids and names that fields suggest. */
  readonly known: StoreFacts;
  /** True if the edited definition is stored; false for a new index. */
  readonly isStored: boolean;
}

/** Casts a draft to a request body; the service validates it. */
export const createBody = (document: JsonObject): IndexDocumentBody => document as unknown as IndexDocumentBody;

/** Returns the members of a definition on which the values of a formula depend. */
export function getTerms({ datapoints, universe, calendar, currency }: JsonObject): Terms['request'] {
  return JSON.parse(JSON.stringify({ datapoints, universe, calendar, currency })) as Terms['request']; // the service validates the values
}

export const DesignerContext = createContext<DesignerState | null>(null);

export function useWorkshop(): DesignerState {
  const workshop = useContext(DesignerContext);
  if (workshop === null) throw new Error('a part of the designer stands outside of it');
  return workshop;
}

export const listFindingsAt = (findings: readonly Finding[], path: Path): readonly Finding[] =>
  findings.filter((finding) => finding.path === formatPath(path));

/** Returns true if two definitions, or members of definitions, are equal. */
export const isSame = (a: Json | undefined, b: Json | undefined): boolean => JSON.stringify(a) === JSON.stringify(b);

interface StoreMarket {
  /** Datapoints of the store, and the values of a new index on it; null if no store is served. */
  readonly market: Pick<FieldList, 'fields' | 'index_defaults'> | null;
  /** Data store of a new index. Null means the store that is served at the time. */
  readonly store: string | null;
}

/**
 * Returns the first definition of a new index: the whole market weighted by size, in the currency and on the calendar
 * of the store. If the store has no sizes, weights are equal; if it has no dividends, returns are price returns.
 */
export const createDocument = (taken: ReadonlySet<string>, { market, store }: StoreMarket): JsonObject => {
  const hasField = (name: string) => market === null || market.fields.some((field) => field.name === name);
  const defaults = market?.index_defaults;
  let number = 1;
  while (taken.has(`INDEX-${number}`)) number++;
  return {
    ...INITIAL_DOCUMENT,
    pipeline: {
      selection: [],
      treatment: { dividends: hasField('DIVIDENDS') ? 'total' : 'price' },
      weighting: hasField('FREE_FLOAT_MARKET_CAP') ? { type: 'MarketCapWeight', cap: 0.1 } : { type: 'EqualWeight' },
    },
    id: `INDEX-${number}`,
    name: `Index ${number}`,
    base_date: defaults?.base_date ?? '',
    currency: defaults?.currency ?? INITIAL_DOCUMENT.currency,
    calendar: defaults?.calendar ?? INITIAL_DOCUMENT.calendar,
    ...(store === null ? {} : { store_id: store }),
  };
};

const STORE_MEMBERS = ['base_date', 'currency', 'calendar', 'pipeline', 'store_id'] as const;

/**
 * Fills in the values that a new index takes from the store. For a draft that was started before a store was served.
 */
export function fillFromStore(draft: JsonObject, first: JsonObject): JsonObject {
  if (draft['base_date'] !== '') return draft;
  return adoptStore(draft, createDocument(new Set(), { market: null, store: null }), first);
}

/**
 * Replaces the values that a new index takes from its store. Values that the user has changed are kept.
 * @param before new index on the previous store
 * @param after new index on the store
 */
export function adoptStore(draft: JsonObject, before: JsonObject, after: JsonObject): JsonObject {
  // A template states no currency if it has the default. An overlay has the currency of its underlying index.
  const values: JsonObject = {
    ...(draft['overlay'] === undefined && { currency: INITIAL_DOCUMENT.currency }),
    ...draft,
  };
  const adoptedMembers = STORE_MEMBERS.filter(
    (name) => after[name] !== undefined && isSame(values[name], before[name]),
  );
  return { ...draft, ...Object.fromEntries(adoptedMembers.map((name) => [name, after[name]])) };
}

const INITIAL_DOCUMENT = {
  id: '',
  name: '',
  calendar: 'XNYS',
  base_date: '',
  base_value: 1000,
  currency: 'USD',
  universe: { kind: 'all' },
  rebalance: { frequency: 'quarterly', anchor: 'third_friday' },
} satisfies JsonObject;

/** Formats the changes since a document was opened, for the address. Returns null if there are none. */
export function formatChanges(first: JsonObject, document: JsonObject): string | null {
  const changes = listDifferences(first, document).map(({ path, after }) =>
    after === undefined ? [path] : [path, after],
  );
  return changes.length === 0 ? null : JSON.stringify(changes);
}

/** Applies the changes in an address to a document. Returns null if the address contains no valid changes. */
export function applyChanges(first: JsonObject, text: string | null): JsonObject | null {
  const changes = parseJsonParameter(text);
  if (!Array.isArray(changes)) return null;
  const changedDocument = (changes as readonly Json[]).reduce<Json>((document, change) => {
    const [path, value] = Array.isArray(change) ? (change as readonly Json[]) : [];
    return Array.isArray(path) ? addValue(document, path as Path, value) : document;
  }, first);
  return isObject(changedDocument) ? changedDocument : null;
}

/**
 * Applies a patch to a document. Items are inserted into lists.
 * @source RFC 6902
 */
export const patchDraft = (
  document: JsonObject,
  operations: readonly { readonly op: 'add' | 'remove' | 'replace'; readonly path: string; readonly value?: unknown }[],
): JsonObject =>
  operations.reduce<JsonObject>((current, { op, path: pointer, value }) => {
    const path = parsePointer(pointer);
    const [at, list] = [path.at(-1), getValueAt(current, path.slice(0, -1))];
    const changed =
      op === 'add' && typeof at === 'number' && Array.isArray(list)
        ? addValue(current, path.slice(0, -1), (list as readonly Json[]).toSpliced(at, 0, value as Json))
        : addValue(current, path, op === 'remove' ? undefined : (value as Json));
    return changed as JsonObject; // an operation changes a member of the document
  }, document);

const DRAFT_KEY_PREFIX = 'divisor.draft.';

/**
 * Returns the storage key of a draft. Drafts of new indices have separate keys for each template or underlying index.
 * An id contains no colon.
 */
const formatKey = (id: string): string =>
  DRAFT_KEY_PREFIX + (id === '' ? `new:${getParameter('beneath') ?? getParameter('template') ?? ''}` : id);

/**
 * Returns the draft stored in this tab; null if there is none.
 * @param id empty for a new index
 */
export function readDraft(id: string): JsonObject | null {
  const text = sessionStorage.getItem(formatKey(id));
  return text === null ? null : (JSON.parse(text) as JsonObject); // written by `keepDraft`
}

export function keepDraft(id: string, document: JsonObject | null): void {
  if (document === null) sessionStorage.removeItem(formatKey(id));
  else sessionStorage.setItem(formatKey(id), JSON.stringify(document));
}

/**
 * Returns the store of a new index; null if no store is served. A new index names the served store, so that it stays
 * current when another store is served.
 */
export const findStoreOfNew = (stores: readonly DataStore[]): string | null =>
  stores.find(({ active }) => active)?.store_id ?? null;
