import { listChanges } from '../base/json.js';
import { findLastAtMost } from '../base/numbers.js';
import { type Day, formatDay } from '../base/time.js';
import { type Book, createBookResume, toStoredBook } from '../books/book.js';
import { createComposer } from '../books/composer.js';
import type { Composer, Compositions, DeciderFactory } from '../books/compositions.js';
import { createIndexTargets, createIndexTerms, simulateIndexBook } from '../books/index-run.js';
import { hasAnyBar } from '../books/rebalance-dates.js';
import { createBookRounding, createShareChangeTerms } from '../books/state.js';
import { simulateBook } from '../books/step.js';
import type { Calendars } from '../calendars/calendar.js';
import { IndexDocument, isOverlayDocument, listSources } from '../definition/index-document.js';
import { markMarket } from '../market/growth.js';
import {
  type CorporateAction,
  type MarketData,
  type PriceSeries,
  resolveVariant,
  type ReturnVariant,
} from '../market/market-data.js';
import { alignMarket } from '../market/session-market.js';
import type { StoredModels } from '../risk/stored-models.js';

export const SUBJECTS = [
  'dividend',
  'special_dividend',
  'split',
  'spin_off',
  'rights',
  'removal',
  'price',
  'constituent',
  'rebalance',
  'pricing',
  'cap',
  'shares',
  'rounding',
  'variant',
  'tax',
  'reinvestment',
  'currency',
  'calendar',
  'fee',
  'financing',
  'day_count',
  'scale',
] as const;
export type Subject = (typeof SUBJECTS)[number];

/** Manners in which an outside level treated the subject of a cause. */
export const MANNERS = ['ignored', 'added', 'doubled', 'inverted', 'early', 'late', 'carried', 'value'] as const;
export type Manner = (typeof MANNERS)[number];

type Documents = Readonly<Record<string, IndexDocument>>;

/** Change of the inputs of a run, or of its levels, by which it can reproduce an outside level. */
export type Edit =
  | { readonly kind: 'action'; readonly before: CorporateAction | null; readonly after: CorporateAction | null }
  | { readonly kind: 'bars'; readonly field: string; readonly column: number; readonly bars: readonly Bar[] }
  | { readonly kind: 'series'; readonly identifier: string; readonly by: number }
  | { readonly kind: 'document'; readonly change: (documents: Documents) => Documents }
  | { readonly kind: 'variant'; readonly variant: ReturnVariant }
  | {
      readonly kind: 'levels';
      readonly change: (levels: Float64Array, days: Int32Array) => Float64Array;
      readonly terms: Readonly<Record<string, number | string>>;
    };

/** Value of a field of a security on a row of the market; NaN for a missing value. */
export interface Bar {
  readonly row: number;
  readonly value: number;
}

/** Inputs of a run that a cause can change. */
export interface RunTerms {
  readonly market: MarketData;
  readonly documents: Documents;
  readonly indexId: string;
  readonly variant: ReturnVariant;
  readonly calendars: Calendars;
  readonly models?: StoredModels | undefined;
  readonly createDecider: DeciderFactory;
  /** Last day of the run. */
  readonly end: Day;
  /** Changes of the levels after the run. */
  readonly reading: readonly Extract<Edit, { kind: 'levels' }>[];
}

/** Returns the key of an action: two actions with one key are the same row of a store. */
const toActionKey = ({ identifier, type, exDay, value, related }: CorporateAction): string =>
  `${identifier} ${type} ${exDay} ${value} ${related ?? ''}`;

/** Applies changes to the inputs of a run. @cost O(actions), and a copy of each changed panel */
export function applyEdits(terms: RunTerms, edits: readonly Edit[]): RunTerms {
  if (edits.length === 0) return terms;
  let { documents, variant } = terms;
  const reading = [...terms.reading];
  const removed = new Map<string, number>();
  const added: CorporateAction[] = [];
  const panels = new Map<string, Float64Array>();
  const series = new Map(terms.market.series);
  for (const edit of edits) {
    if (edit.kind === 'document') documents = edit.change(documents);
    else if (edit.kind === 'variant') variant = edit.variant;
    else if (edit.kind === 'levels') reading.push(edit);
    else if (edit.kind === 'series') series.set(edit.identifier, shiftSeries(series.get(edit.identifier)!, edit.by));
    else if (edit.kind === 'bars') {
      const panel = panels.get(edit.field) ?? terms.market.fields.get(edit.field)!.slice();
      panels.set(edit.field, panel);
      for (const { row, value } of edit.bars) panel[row * terms.market.identifiers.length + edit.column] = value;
    } else {
      if (edit.before !== null) removed.set(toActionKey(edit.before), (removed.get(toActionKey(edit.before)) ?? 0) + 1);
      if (edit.after !== null) added.push(edit.after);
    }
  }
  const hasActions = removed.size > 0 || added.length > 0;
  const isMarketEqual = !hasActions && panels.size === 0 && !edits.some(({ kind }) => kind === 'series');
  return {
    ...terms,
    documents,
    variant,
    reading,
    market: isMarketEqual
      ? terms.market
      : {
          ...terms.market,
          actions: hasActions ? replaceActions([...terms.market.actions, ...added], removed) : terms.market.actions,
          ...(panels.size === 0 ? {} : { fields: new Map([...terms.market.fields, ...panels]) }),
          ...(series.size === 0 ? {} : { series }),
        },
  };
}

/** Removes rows, which may be among those that another change added, and restores the order of the table. */
function replaceActions(actions: CorporateAction[], removed: Map<string, number>): CorporateAction[] {
  const left = new Map(removed);
  return actions
    .filter((action) => {
      if (left.size === 0) return true;
      const key = toActionKey(action);
      const count = left.get(key) ?? 0;
      if (count === 0) return true;
      if (count === 1) left.delete(key);
      else left.set(key, count - 1);
      return false;
    })
    .toSorted((a, b) => compareCodes(a.identifier, b.identifier) || a.exDay - b.exDay || compareCodes(a.type, b.type));
}

const compareCodes = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function shiftSeries({ days, closes, ...series }: PriceSeries, by: number): PriceSeries {
  return { ...series, days, closes: closes.map((own, i) => closes[i + by] ?? own) };
}

/** Run on changed inputs. */
export interface Evaluation {
  readonly terms: RunTerms;
  readonly composer: Composer;
  /** Compositions of the index. */
  readonly compositions: Compositions;
  /** Days and levels of the index in the variant. */
  readonly days: Int32Array;
  readonly levels: Float64Array;
}

/** Returns the index whose rules decide the securities: the index, or the index beneath its overlays. */
export function findRuleId({ documents, indexId }: Pick<RunTerms, 'documents' | 'indexId'>): string {
  const document = documents[indexId]!;
  const source = isOverlayDocument(document) ? listSources(document)[0] : undefined;
  return source === undefined ? indexId : findRuleId({ documents, indexId: source });
}

/** Runs the index up to a day. @throws Refusal in every case in which a backtest is refused */
export function evaluate(terms: RunTerms, until: Day = terms.end): Evaluation {
  const { market, documents, indexId, calendars, models, createDecider, variant } = terms;
  const end = Math.min(until, terms.end);
  const composer = createComposer({ market, calendars, documents, models, until: end, createDecider });
  const compositions = composer.compositions(indexId);
  const { sm } = compositions;
  let to = findLastAtMost(sm.sessions, end);
  while (to >= compositions.first && !hasAnyBar(sm, to)) to--;
  const book = simulateIndexBook({ compositions, to, isBrief: true, ...selectVariant(compositions, variant) });
  const days = sm.sessions.slice(book.from, book.from + book.length);
  const levels = readLevels(book, compositions, variant);
  return { terms, composer, compositions, days, levels: readOutside(terms, levels, days) };
}

/** Applies the changes of levels after a run. */
export const readOutside = ({ reading }: Pick<RunTerms, 'reading'>, levels: Float64Array, days: Int32Array) =>
  reading.reduce((values, { change }) => change(values, days), levels);

/** Returns the variant that a book must simulate; nothing if every book of the index contains it. */
export function selectVariant(
  { treatment, sm, overlay }: Compositions,
  variant: ReturnVariant,
): { readonly variant?: ReturnVariant } {
  if (resolveVariant(sm.market, treatment.dividends) === resolveVariant(sm.market, variant)) return {};
  return overlay === undefined && treatment.reinvestment === 'index' ? {} : { variant };
}

export function readLevels(book: Book, { treatment, sm }: Compositions, variant: ReturnVariant): Float64Array {
  const isOwn = resolveVariant(sm.market, treatment.dividends) === resolveVariant(sm.market, variant);
  return isOwn ? book.value : (book.reinvested?.levels[variant] ?? book.value);
}

/** Simulation of the sessions around a difference, from the book before them. */
export interface Window {
  /** First session that is simulated. */
  readonly from: number;
  /** Returns the levels after changes of events and closes. Returns null for changes of anything else. */
  run(edits: readonly Edit[], to: number): Pick<Evaluation, 'days' | 'levels'> | null;
}

/**
 * Opens a window on a run. The compositions are those of the run: only the book is simulated, from its state at the close
 * of the session before.
 * @param from session before the first change
 * @cost O(T H) once; O(S + sessions of the window x N) for a change
 */
export function openWindow(own: Evaluation, from: number): Window | null {
  const { compositions, terms } = own;
  const { sm, overlay, document, treatment, outside, list, first } = compositions;
  if (overlay !== undefined || document.pipeline === null || from <= first || terms.reading.length > 0) return null;
  const selected = selectVariant(compositions, terms.variant);
  const growth = createIndexTerms(compositions, selected.variant);
  const stored = toStoredBook(simulateIndexBook({ compositions, to: from, isBrief: true, ...selected }));
  const mark = markMarket(sm, from, [growth]);
  const { market, calendar } = sm;
  const later = market.actions.filter(({ exDay }) => exDay > sm.sessions[from - 1]!);
  return {
    from,
    run(edits, to) {
      if (edits.some(({ kind }) => kind !== 'action' && kind !== 'bars')) return null;
      if (edits.some((edit) => edit.kind === 'bars' && edit.field !== 'CLOSE')) return null;
      const rows = findLastAtMost(market.dates, sm.sessions[to]!) + 1;
      const changed = applyEdits({ ...terms, market: { ...market, actions: later } }, edits).market;
      const changedMarket: MarketData = {
        ...changed,
        dates: market.dates.subarray(0, rows),
        fields: new Map(
          [...changed.fields].map(([name, panel]) => [name, panel.subarray(0, rows * market.identifiers.length)]),
        ),
      };
      const aligned = alignMarket({ market: changedMarket, calendar, calendars: terms.calendars, mark });
      const book = simulateBook({
        title: `The index ${document.id}`,
        sm: aligned,
        treatment,
        growth,
        outside,
        isBrief: true,
        from,
        to,
        targets: list
          .filter(({ session }) => session > from && session <= to)
          .map((composition) => createIndexTargets(composition, false)),
        shareChanges: createShareChangeTerms({ sm: aligned, document, treatment }),
        initialValue: document.base_value,
        ...createBookRounding(document, aligned),
        costRate: 0,
        fills: 'all',
        resume: createBookResume(stored, from),
      });
      const [days, levels] = [sm.sessions.slice(from, to + 1), readLevels(book, compositions, terms.variant)];
      return { days, levels };
    },
  };
}

/** Operation of a JSON patch (RFC 6902). */
export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'replace';
  readonly path: string;
  readonly value?: unknown;
}

/** Value of a table of the store that a change replaces. */
export interface DataChange {
  readonly table: 'market' | 'corporate_actions';
  readonly identifier: string;
  readonly date: string;
  readonly field: string;
  readonly value: unknown;
  readonly added?: true;
}

/** Changes as JSON: a patch of the documents, rows of the store, and terms of the outside level. */
export interface ChangeView {
  readonly document: readonly PatchOperation[];
  readonly data: readonly DataChange[];
  readonly rounding: Readonly<Record<string, unknown>> | null;
}

/**
 * Describes changes as JSON. The patch concerns the document of the index; the document of an index beneath it has a path
 * that begins with its id.
 */
export function describeEdits(terms: RunTerms, edits: readonly Edit[]): ChangeView {
  const after = applyEdits(terms, edits);
  const document = Object.entries(after.documents).flatMap(([id, changed]) => {
    const prefix = id === terms.indexId ? '' : `/${id}`;
    return listChanges(terms.documents[id], changed).map(({ op, path, after: value }): PatchOperation => ({
      op,
      path: `${prefix}${path}`,
      ...(op === 'remove' ? {} : { value }),
    }));
  });
  const reading = edits.flatMap((edit) => (edit.kind === 'levels' ? [edit.terms] : []));
  const rounding = edits.some((edit) => edit.kind === 'variant') ? { variant: after.variant } : {};
  const terms_ = Object.assign({}, rounding, ...reading) as Record<string, unknown>;
  return {
    document,
    data: edits.flatMap((edit) => describeData(terms.market, edit)),
    rounding: Object.keys(terms_).length === 0 ? null : terms_,
  };
}

function describeData({ identifiers, dates }: MarketData, edit: Edit): DataChange[] {
  if (edit.kind === 'bars')
    return edit.bars.map(({ row, value }) => ({
      table: 'market',
      identifier: identifiers[edit.column]!,
      date: formatDay(dates[row]!),
      field: edit.field,
      value: Number.isNaN(value) ? null : value,
    }));
  if (edit.kind !== 'action') return [];
  const { before, after } = edit;
  const isSameRow = before !== null && after !== null && before.type === after.type && before.exDay === after.exDay;
  if (isSameRow) return [{ ...locate(before), field: 'value', value: after.value }];
  return [
    ...(before === null ? [] : [{ ...locate(before), field: 'value', value: null }]),
    ...(after === null ? [] : [{ ...locate(after), field: 'row', value: describeAction(after), added: true as const }]),
  ];
}

const locate = ({ identifier, exDay }: CorporateAction) => ({
  table: 'corporate_actions' as const,
  identifier,
  date: formatDay(exDay),
});

/** Returns an action as a row of its table. */
function describeAction(action: CorporateAction): Readonly<Record<string, unknown>> {
  const { identifier, type, value, exDay, payDay, status, related, subscriptionPrice } = action;
  return {
    identifier,
    type,
    value,
    ex_date: formatDay(exDay),
    ...(payDay === null ? {} : { pay_date: formatDay(payDay) }),
    ...(status === null ? {} : { status }),
    ...(related === null ? {} : { related }),
    ...(subscriptionPrice === null ? {} : { subscription_price: subscriptionPrice }),
  };
}

/** Returns a change of one document. Documents are checked by their schema. */
export const changeDocument = (id: string, change: (document: IndexDocument) => unknown): Edit => ({
  kind: 'document',
  change: (documents) => ({ ...documents, [id]: IndexDocument.parse(change(documents[id]!)) }),
});
