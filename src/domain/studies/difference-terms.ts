import { listChanges } from '../base/json.js';
import { Refusal } from '../base/refusals.js';
import { findLastAtMost, roundHalfAwayFromZero } from '../base/numbers.js';
import { type Day, formatDay } from '../base/time.js';
import { type Book, createBookResume, extendStoredBook, type StoredBook, toStoredBook } from '../books/book.js';
import { createComposer } from '../books/composer.js';
import {
  type Composer,
  type Composition,
  type Compositions,
  type DeciderFactory,
  isWatched,
} from '../books/compositions.js';
import { createDecisionTerms, createIndexTargets, createIndexTerms, simulateIndexBook } from '../books/index-run.js';
import { hasMemberChanges } from '../books/member-changes.js';
import { hasAnyBar, listDueUnderTexts } from '../books/rebalance-dates.js';
import { computeOverlayPath } from '../books/overlay-book.js';
import { createBookRounding, createShareChangeTerms } from '../books/state.js';
import { simulateBook } from '../books/step.js';
import { alignMarket, BeforeMarketError, openMarketOn, type SessionMarket } from '../market/session-market.js';
import type { Calendars } from '../calendars/calendar.js';
import { GROWTH_DATAPOINTS } from '../datapoints/evaluation.js';
import type { FieldRequest } from '../datapoints/fields.js';
import { listReadsBehind } from '../decide/rule-decider.js';
import {
  type Amendment,
  IndexDocument,
  isOverlayDocument,
  isRuleDocument,
  listSources,
  type OverlayDocument,
  type RuleDocument,
  type UniverseSpec,
} from '../definition/index-document.js';
import { mergePatch } from '../definition/amendments.js';
import { bindPipeline, listReads } from '../definition/rule-pipeline.js';
import { ENDING_TYPES, readDefaultStaleSessions } from '../definition/treatment.js';
import { findOverlayType } from '../definition/overlays.js';
import { markMarket, replaceFields, replaceSecurities } from '../market/growth.js';
import type { GrowthTerms } from '../market/action-effects.js';
import {
  type CorporateAction,
  type MarketData,
  type PriceSeries,
  resolveVariant,
  type ReturnVariant,
} from '../market/market-data.js';
import { createExchangeRates } from '../market/rates.js';
import type { OwnLevels } from './outside-levels.js';
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
export type CauseSubject = (typeof SUBJECTS)[number];

/** Manners in which an outside level treated the subject of a cause. */
export const MANNERS = ['ignored', 'added', 'doubled', 'inverted', 'early', 'late', 'carried', 'value'] as const;
export type Manner = (typeof MANNERS)[number];

type Documents = Readonly<Record<string, IndexDocument>>;

/** Change of the inputs of a run, or of its levels, by which it can reproduce an outside level. */
export type Edit =
  | { readonly kind: 'action'; readonly before: CorporateAction | null; readonly after: CorporateAction | null }
  | { readonly kind: 'bars'; readonly field: string; readonly column: number; readonly bars: readonly PanelBar[] }
  | { readonly kind: 'series'; readonly identifier: string; readonly read: ReadRate }
  | { readonly kind: 'document'; readonly change: (documents: Documents) => Documents }
  | { readonly kind: 'variant'; readonly variant: ReturnVariant }
  | { readonly kind: 'weights'; readonly id: string; readonly decimals: number }
  | {
      readonly kind: 'levels';
      readonly change: (levels: Float64Array, days: Int32Array) => Float64Array;
      readonly terms: Readonly<Record<string, number | string>>;
    };

/** Returns a rate of an exchange rate in place of one, by its position among all. */
export type ReadRate = (closes: ArrayLike<number>, at: number) => number;

/** Value of a field of a security on a row of the market; NaN for a missing value. */
export interface PanelBar {
  readonly row: number;
  readonly value: number;
}

/** Inputs of a run that a cause can change. */
export interface CandidateTerms {
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
export function applyEdits(terms: CandidateTerms, edits: readonly Edit[]): CandidateTerms {
  if (edits.length === 0) return terms;
  let { documents, variant, createDecider } = terms;
  const reading = [...terms.reading];
  const removed = new Map<string, number>();
  const names = new Set<string>();
  const added: CorporateAction[] = [];
  const panels = new Map<string, Float64Array>();
  const series = new Map(terms.market.series);
  for (const edit of edits) {
    if (edit.kind === 'document') documents = edit.change(documents);
    else if (edit.kind === 'variant') variant = edit.variant;
    else if (edit.kind === 'weights') createDecider = roundDecisions(createDecider, edit);
    else if (edit.kind === 'levels') reading.push(edit);
    else if (edit.kind === 'series') series.set(edit.identifier, changeSeries(series.get(edit.identifier)!, edit.read));
    else if (edit.kind === 'bars') {
      const panel = panels.get(edit.field) ?? terms.market.fields.get(edit.field)!.slice();
      panels.set(edit.field, panel);
      for (const { row, value } of edit.bars) panel[row * terms.market.identifiers.length + edit.column] = value;
    } else {
      if (edit.before !== null) {
        const key = toActionKey(edit.before);
        removed.set(key, (removed.get(key) ?? 0) + 1);
        names.add(edit.before.identifier);
      }
      if (edit.after !== null) added.push(edit.after);
    }
  }
  const hasActions = removed.size > 0 || added.length > 0;
  const isMarketEqual = !hasActions && panels.size === 0 && !edits.some(({ kind }) => kind === 'series');
  return {
    ...terms,
    documents,
    variant,
    createDecider,
    reading,
    market: isMarketEqual
      ? terms.market
      : {
          ...terms.market,
          actions: hasActions
            ? replaceActions([...terms.market.actions, ...added], removed, names)
            : terms.market.actions,
          ...(panels.size === 0 ? {} : { fields: new Map([...terms.market.fields, ...panels]) }),
          ...(series.size === 0 ? {} : { series }),
        },
  };
}

/** Decimals of a weight that its computation leaves exact: one in the middle of two rounded ones stays there. */
const EXACT_DECIMALS = 12;

/** Rounds weights and scales them to their sum before. Returns them unchanged if all of them become 0. */
export function roundWeights(weights: Float64Array, decimals: number): Float64Array {
  const sum = (values: Float64Array): number => values.reduce((all, one) => all + one, 0);
  const rounded = weights.map((weight) =>
    roundHalfAwayFromZero(roundHalfAwayFromZero(weight, EXACT_DECIMALS), decimals),
  );
  const scale = sum(weights) / sum(rounded);
  return Number.isFinite(scale) ? rounded.map((weight) => weight * scale) : weights;
}

/** Rounds the weights that an index decides. Fixed numbers of shares have no weights. */
function roundDecisions(
  createDecider: DeciderFactory,
  { id, decimals }: Extract<Edit, { kind: 'weights' }>,
): DeciderFactory {
  return (document, composer) => {
    const decider = createDecider(document, composer);
    if (document.id !== id) return decider;
    return {
      ...decider,
      decide(...terms) {
        const decision = decider.decide(...terms);
        return decision.kind !== 'decided' || decision.fixedShares !== undefined
          ? decision
          : { ...decision, weights: roundWeights(decision.weights, decimals) };
      },
    };
  };
}

/** Returns true for a change that concerns only documents and the variant. */
export const isOfDocuments = ({ kind }: Edit): boolean => kind === 'document' || kind === 'variant';

/** Removes rows, which may be among those that another change added, and restores the order of the table. */
function replaceActions(
  actions: CorporateAction[],
  removed: Map<string, number>,
  names: ReadonlySet<string>,
): CorporateAction[] {
  const left = new Map(removed);
  return actions
    .filter((action) => {
      if (left.size === 0 || !names.has(action.identifier)) return true;
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

const changeSeries = ({ closes, ...series }: PriceSeries, read: ReadRate): PriceSeries => ({
  ...series,
  closes: closes.map((_, at) => read(closes, at)),
});

/** Run on changed inputs. */
export interface Evaluation {
  readonly terms: CandidateTerms;
  readonly composer: Composer;
  /** Compositions of the index. */
  readonly compositions: Compositions;
  /** Compositions of the index whose rules decide the securities: the index, or the index beneath its overlay. */
  readonly rule: Compositions;
  /** Days and levels of the index in the variant. */
  readonly days: Int32Array;
  readonly levels: Float64Array;
  /** Levels before the changes of levels. */
  readonly raw: Float64Array;
  /** Path of the book of `rule`; null if levels do not follow from it. */
  readonly path: RulePath | null;
  /** States of the book of `rule`, by session. */
  readonly states: Map<number, StoredBook>;
}

/** Growth of a book by session, from its first session on. */
interface RulePath {
  readonly gross: Float64Array;
  readonly drift: Float64Array | undefined;
  readonly exitShares: Float64Array | undefined;
}

/** Returns the index whose rules decide the securities: the index, or the index beneath its overlays. */
export function findRuleId({ documents, indexId }: Pick<CandidateTerms, 'documents' | 'indexId'>): string {
  const document = documents[indexId]!;
  const source = isOverlayDocument(document) ? listSources(document)[0] : undefined;
  return source === undefined ? indexId : findRuleId({ documents, indexId: source });
}

interface EvaluateOptions {
  /** Last day. Default: that of the inputs. */
  readonly until?: Day;
  /** Composer of the same inputs up to the same day. */
  readonly composer?: Composer | undefined;
  /** Aligned market of the inputs. */
  readonly aligned?: SessionMarket | null;
}

/** Runs the index up to a day. @throws Refusal in every case in which a backtest is refused */
export function evaluateTerms(
  terms: CandidateTerms,
  { until = terms.end, composer: known, aligned = null }: EvaluateOptions = {},
): Evaluation {
  const { documents, indexId, calendars, models, createDecider, variant } = terms;
  const end = Math.min(until, terms.end);
  const market = until < terms.end && aligned === null ? shortenMarket(terms.market, until) : terms.market;
  const composer =
    known ??
    createComposer({
      market,
      calendars,
      documents,
      models,
      until: end,
      createDecider,
      ...(aligned === null ? {} : { aligned: new Map([[aligned.calendar.code, aligned]]) }),
    });
  const compositions = composer.compositions(indexId);
  const { sm } = compositions;
  let to = findLastAtMost(sm.sessions, end);
  while (to >= compositions.first && !hasAnyBar(sm, to)) to--;
  const book = simulateIndexBook({ compositions, to, isBrief: true, ...selectVariant(compositions, variant) });
  const days = sm.sessions.slice(book.from, book.from + book.length);
  const raw = readVariantLevels(book, compositions, variant);
  const beneath = compositions.overlay === undefined ? book : findPlainUnderlying(compositions, book);
  return {
    terms,
    composer,
    compositions,
    rule: composer.compositions(findRuleId(terms)),
    days,
    levels: readOutside(terms, raw, days),
    raw,
    path: beneath === null ? null : { gross: beneath.gross, drift: beneath.drift, exitShares: beneath.exitShares },
    states: new Map(),
  };
}

/** Runs the index with changes up to a day. @throws Refusal in every case in which a backtest is refused */
export function evaluateChanged(own: Evaluation, edits: readonly Edit[], until?: Day): Evaluation {
  const terms = applyEdits(own.terms, edits);
  return evaluateTerms(terms, {
    ...(until === undefined ? {} : { until }),
    aligned: alignChanged(own, edits, terms.market),
  });
}

/** Returns the book beneath an overlay whose levels follow only from the path of that book. Otherwise returns null. */
function findPlainUnderlying({ overlay, document, sm }: Compositions, book: Book): Book | null {
  const { spec, sources } = overlay!;
  const underlying = book.overlay?.beneath[0];
  const isPlain =
    sources.length === 1 &&
    sources[0]!.overlay === undefined &&
    sources[0]!.sm === sm &&
    (document.amendments ?? []).length === 0 &&
    findOverlayType(spec).weighed(spec).length === 0;
  return isPlain && underlying !== undefined ? underlying : null;
}

/** Returns the run after changes that concern only its levels or its overlay. Returns null for other changes. */
export function changeLevels(own: Evaluation, edits: readonly Edit[]): Evaluation | null {
  if (edits.every(({ kind }) => kind === 'levels')) {
    const terms = applyEdits(own.terms, edits);
    const reading = terms.reading.slice(own.terms.reading.length);
    return { ...own, terms, levels: readOutside({ reading }, own.levels, own.days) };
  }
  const { path, compositions, rule } = own;
  if (path === null || compositions === rule || !edits.every(({ kind }) => kind === 'document')) return null;
  const terms = applyEdits(own.terms, edits);
  if (terms.documents[rule.document.id] !== own.terms.documents[rule.document.id]) return null;
  const raw = readPath(own, path, terms);
  return { ...own, terms, raw, levels: readOutside(terms, raw, own.days) };
}

/** Relative change of a growth that measures a sensitivity. */
const BUMP = 1e-5;

/**
 * Returns the relative change of the level per relative change of the rule-based index on a session. Returns null if
 * levels do not follow only from that index.
 */
export function measureSensitivity(own: Evaluation, session: number): number | null {
  const { path, rule, compositions, raw, terms } = own;
  if (path === null) return null;
  if (compositions === rule) return 1;
  const bump = (growth: Float64Array): Float64Array =>
    growth.map((value, t) => (t === session - rule.first ? value * (1 + BUMP) : value));
  const bumped = { ...path, gross: bump(path.gross), drift: path.drift && bump(path.drift) };
  const t = session - compositions.first;
  return (readPath(own, bumped, terms)[t]! / raw[t]! - 1) / BUMP;
}

/** Returns the levels of an overlay whose underlying index has a path. */
function readPath({ compositions: { sm, first, document }, rule }: Evaluation, path: RulePath, terms: CandidateTerms) {
  const changed = terms.documents[document.id] as OverlayDocument;
  const { growth } = computeOverlayPath(
    { sm, first, document: changed, currency: rule.document.currency },
    {
      beneath: [
        {
          from: rule.first,
          gross: path.gross,
          ...(path.drift ? { drift: path.drift } : {}),
          ...(path.exitShares ? { exitShares: path.exitShares } : {}),
        },
      ],
      shares: {},
      to: rule.first + path.gross.length - 1,
    },
  );
  const levels = new Float64Array(growth.length);
  levels[0] = changed.base_value;
  for (let t = 1; t < growth.length; t++) levels[t] = levels[t - 1]! * growth[t]!;
  return levels;
}

/** Calendar days after the end of a shortened market, so that its calendar has the sessions of the last reviews. */
const SPARE_DAYS = 45;

const shortened = new WeakMap<MarketData, { readonly last: Day; readonly market: MarketData }>();

/** Returns a market without the bars and events long after a day. One market keeps one short form. */
function shortenMarket(market: MarketData, until: Day): MarketData {
  const last = until + SPARE_DAYS;
  const known = shortened.get(market);
  if (known?.last === last) return known.market;
  const rows = findLastAtMost(market.dates, last) + 1;
  const short: MarketData = {
    ...market,
    dates: market.dates.subarray(0, rows),
    fields: new Map(
      [...market.fields].map(([name, panel]) => [name, panel.subarray(0, rows * market.identifiers.length)]),
    ),
    actions: market.actions.filter(({ exDay }) => exDay <= last),
  };
  shortened.set(market, { last, market: short });
  return short;
}

/** Applies the changes of levels after a run. */
export const readOutside = ({ reading }: Pick<CandidateTerms, 'reading'>, levels: Float64Array, days: Int32Array) =>
  reading.reduce((values, { change }) => change(values, days), levels);

/** Returns the variant that a book must simulate; nothing if every book of the index contains it. */
export function selectVariant(
  { treatment, sm, overlay }: Compositions,
  variant: ReturnVariant,
): { readonly variant?: ReturnVariant } {
  if (resolveVariant(sm.market, treatment.dividends) === resolveVariant(sm.market, variant)) return {};
  return overlay === undefined && treatment.reinvestment === 'index' ? {} : { variant };
}

export function readVariantLevels(book: Book, { treatment, sm }: Compositions, variant: ReturnVariant): Float64Array {
  const isOwn = resolveVariant(sm.market, treatment.dividends) === resolveVariant(sm.market, variant);
  return isOwn ? book.value : (book.reinvested?.levels[variant] ?? book.value);
}

/** Simulation of the sessions around a difference, from the book before them. */
export interface SimulatedWindow {
  /** First session that is simulated. */
  readonly from: number;
  /** Returns the levels after changes. Returns null for changes that need a whole run. */
  run(edits: readonly Edit[], to: number): OwnLevels | null;
  /** Returns the run after changes, whose sessions before the window are those of the run. Returns null as `run`. */
  complete(edits: readonly Edit[]): Evaluation | null;
}

/**
 * Opens a window on a run. Earlier compositions are those of the run. Changes of events and closes leave the compositions
 * of the window as they are unless they are between a decision and its effect; these, and changes of the document and of
 * other fields, decide the reviews of the window again.
 * @param from session before the first change, and before the first changed review
 * @cost O(T H) once; O(S + sessions of the window x N), and the reviews of the window, for a change
 */
function openWindow(own: Evaluation, from: number): SimulatedWindow | null {
  const { rule, terms, compositions, path } = own;
  const { sm, document, treatment } = rule;
  if (path === null || document.pipeline === null) return null;
  if (from <= Math.max(rule.first, compositions.first)) return null;
  const stored = findState(own, from);
  const growth = createIndexTerms(rule, selectVariant(compositions, terms.variant).variant);
  const markets = createWindowMarkets(own, from, [growth, createDecisionTerms(rule), createIndexTerms(rule, 'total')]);
  const isDecidedAlone = rule.memory === null && !isWatched(document) && !hasMemberChanges(own.composer, document.id);
  const isResumable = (edits: readonly Edit[]): boolean =>
    isDecidedAlone &&
    !changesStaleSessions(terms, edits) &&
    edits.every(({ kind }) => kind === 'document' || kind === 'bars' || kind === 'action');
  const change = (edits: readonly Edit[]): CandidateTerms =>
    applyEdits(
      terms,
      edits.filter(({ kind }) => kind === 'document'),
    );
  const simulate = (changed: WindowCompositions, to: number, variantTerms: CandidateTerms): OwnLevels => {
    const book = resumeBook(
      changed,
      { stored, from, to, growth: changed.treatment === treatment ? growth : undefined },
      own,
    );
    return readWindow(own, { book, from }, variantTerms);
  };
  return {
    from,
    run(edits, to) {
      if (changesStaleSessions(terms, edits)) return null;
      const isOfMarket = edits.every(({ kind }) => kind === 'action' || kind === 'bars');
      const isOfGrowth = edits.every(
        (edit) => edit.kind === 'action' || (edit.kind === 'bars' && edit.field === 'CLOSE'),
      );
      const isReviewed = (): boolean =>
        listReviewsOf(rule, edits).some(({ session }) => session > from && session <= to);
      if (isOfGrowth && !(isDecidedAlone && isReviewed()))
        return markets.align(edits, to, (changed) => simulate({ ...rule, sm: changed }, to, terms));
      if (!isResumable(edits)) return null;
      const changed = change(edits);
      const decide = (market: SessionMarket): OwnLevels =>
        simulate(decideWindow(own, changed, { market, from, to, changedUntil: Infinity }), to, changed);
      if (!isOfMarket && edits.some(({ kind }) => kind !== 'document')) return null;
      if (!isOfMarket) return decide(sm);
      return edits.every(isOfOtherField) ? markets.replace(edits, decide) : markets.align(edits, to, decide);
    },
    complete(edits) {
      if (!isResumable(edits)) return null;
      const changed = applyEdits(terms, edits);
      const to = rule.first + path.gross.length - 1;
      const market =
        alignChanged(own, edits, changed.market) ??
        openMarketOn({ market: changed.market, calendars: terms.calendars, code: sm.calendar.code });
      const decided = decideWindow(own, changed, { market, from, to, changedUntil: findLastChanged(edits, sm) });
      const book = resumeBook(decided, { stored, from, to, growth: undefined }, own);
      const { levels, raw } = readWindow(own, { book, from }, changed);
      const whole = { ...decided, list: [...rule.list.filter(({ session }) => session <= from), ...decided.list] };
      return {
        terms: changed,
        composer: decided.composer,
        compositions: compositions === rule ? whole : compositions,
        rule: whole,
        days: own.days,
        raw,
        levels: joinFrom(own.levels, levels, from - compositions.first),
        path: joinPath(path, book, from - rule.first),
        states: new Map([...own.states].filter(([session]) => session <= from)),
      };
    },
  };
}

/** Returns true if a store after changes has another default of the sessions without a price after which a security leaves. */
const changesStaleSessions = (terms: CandidateTerms, edits: readonly Edit[]): boolean =>
  edits.some(
    (edit) => edit.kind === 'action' && [edit.before, edit.after].some((row) => ENDING_TYPES.has(row?.type ?? '')),
  ) && readDefaultStaleSessions(applyEdits(terms, edits).market) !== readDefaultStaleSessions(terms.market);

/** Returns the reviews that are decided, priced or converted on changed closes or events. */
export function listReviewsOf({ list, sm }: Pick<Compositions, 'list' | 'sm'>, edits: readonly Edit[]): Composition[] {
  const days = listChangedDays(edits, sm);
  return list.filter(({ session, decision }) => {
    const [first, last] = [sm.sessions[decision]!, sm.sessions[session]!];
    return days.some((day) => day >= first && day <= last);
  });
}

/**
 * Returns the market of a run after changes, in which securities without a change keep their growth. Returns null if the
 * market must be aligned as a whole.
 */
function alignChanged(
  { rule: { sm, document }, terms }: Evaluation,
  edits: readonly Edit[],
  market: MarketData,
): SessionMarket | null {
  if (market === terms.market) return sm;
  const ofMarket = edits.filter(({ kind }) => kind === 'action' || kind === 'bars');
  if (ofMarket.every(isOfOtherField) && !edits.some(({ kind }) => kind === 'series'))
    return replaceFields(sm, market.fields);
  const { securityCount, columnOf } = sm;
  const close = sm.market.fields.get('CLOSE')!;
  const hasOtherBars = edits.some(
    (edit) =>
      edit.kind === 'bars' &&
      edit.field === 'CLOSE' &&
      edit.bars.some(
        ({ row, value }) => Number.isNaN(value) !== Number.isNaN(close[row * securityCount + edit.column]!),
      ),
  );
  const changed = new Set(
    edits.flatMap((edit) => {
      if (edit.kind === 'bars') return [edit.column];
      if (edit.kind !== 'action') return [];
      const names = [edit.before, edit.after].flatMap((row) => (row === null ? [] : [row.identifier, row.related]));
      return names.flatMap((name) => (name === null ? [] : [columnOf(name)]));
    }),
  );
  changed.delete(-1);
  const { pairColumns } = createExchangeRates(sm, document.currency);
  const hasOtherRates = edits.some(({ kind }) => kind === 'series') || [...changed].some((one) => pairColumns.has(one));
  if (hasOtherBars || hasOtherRates) return null;
  // The value of a spin-off follows from the prices and events of both securities.
  for (let count = 0; count < changed.size;) {
    count = changed.size;
    for (const { action, column } of sm.actions.related) {
      const related = columnOf(action.related!);
      if (related >= 0 && (changed.has(column) || changed.has(related))) changed.add(column).add(related);
    }
  }
  return replaceSecurities(
    sm,
    { market, calendars: terms.calendars },
    [...changed].toSorted((a, b) => a - b),
  );
}

/** Returns true for a change of a field that growth does not read. */
const isOfOtherField = (edit: Edit): boolean => edit.kind === 'bars' && edit.field !== 'CLOSE';

/** Returns values whose last ones, from a position on, are others. */
function joinFrom(before: Float64Array, after: Float64Array, position: number): Float64Array {
  const joined = before.slice();
  joined.set(after.subarray(0, joined.length - position), position);
  return joined;
}

/** Joins the path of a book with that of a book that resumes at a position. */
function joinPath({ gross, drift, exitShares }: RulePath, book: Book, position: number): RulePath {
  const join = (before: Float64Array, after: Float64Array): Float64Array =>
    joinFrom(before.subarray(0, position + book.length), after.subarray(1), position + 1);
  return {
    gross: join(gross, book.gross),
    drift: drift === undefined && book.drift === undefined ? undefined : join(drift ?? gross, book.drift ?? book.gross),
    exitShares:
      exitShares === undefined && book.exitShares === undefined
        ? undefined
        : join(exitShares ?? new Float64Array(gross.length), book.exitShares ?? new Float64Array(book.gross.length)),
  };
}

interface ResumedBook {
  readonly book: Book;
  readonly from: number;
}

/** Returns the levels of the index from the first session of a resumed book on. */
function readWindow(
  own: Evaluation,
  { book, from }: ResumedBook,
  terms: CandidateTerms,
): OwnLevels & { readonly raw: Float64Array } {
  const { compositions, rule, path, raw } = own;
  const { sm, first, overlay } = compositions;
  const days = sm.sessions.slice(from, from + book.length);
  const changed =
    overlay === undefined
      ? joinFrom(
          raw.subarray(0, from - first + book.length),
          readVariantLevels(book, compositions, terms.variant),
          from - first,
        )
      : readPath(own, joinPath(path!, book, from - rule.first), terms);
  const levels =
    terms.reading.length === 0 ? changed : readOutside(terms, changed, own.days.subarray(0, changed.length));
  return { days, raw: changed, levels: levels.subarray(from - first) };
}

interface ResumeAt {
  readonly stored: StoredBook | null;
  readonly from: number;
  readonly to: number;
  readonly growth: GrowthTerms | undefined;
}

/** Simulates the book beneath the levels from a stored state on, or from its beginning. */
function resumeBook(rule: WindowCompositions, { stored, from, to, growth }: ResumeAt, own: Evaluation): Book {
  const { sm, document, treatment, outside, list } = rule;
  return simulateBook({
    title: `The index ${document.id}`,
    sm,
    treatment,
    growth: growth ?? createIndexTerms(rule, selectVariant(own.compositions, own.terms.variant).variant),
    outside,
    isBrief: true,
    from,
    to,
    targets: list
      .filter(({ session }) => (stored === null || session > from) && session <= to)
      .map((composition) => createIndexTargets(composition, false)),
    shareChanges: createShareChangeTerms(rule),
    initialValue: document.base_value,
    ...createBookRounding(document, sm),
    costRate: 0,
    fills: 'all',
    ...(stored === null ? {} : { resume: createBookResume(stored, from) }),
  });
}

/** Returns the state of the book of a run after a session. It is computed from the latest earlier state. */
export function findState(own: Evaluation, session: number): StoredBook {
  const { states, rule } = own;
  const known = states.get(session);
  if (known !== undefined) return known;
  const from = Math.max(-1, ...[...states.keys()].filter((one) => one < session));
  const before = from < 0 ? null : states.get(from)!;
  const book = resumeBook(
    rule,
    { stored: before, from: before === null ? rule.first : from, to: session, growth: undefined },
    own,
  );
  const stored = before === null ? toStoredBook(book) : extendStoredBook(before, book);
  states.set(session, stored);
  return stored;
}

type WindowCompositions = Pick<Compositions, 'sm' | 'treatment' | 'document' | 'list' | 'outside'>;

type DecidedCompositions = Compositions & { readonly composer: Composer };

interface WindowSpan {
  readonly market: SessionMarket;
  readonly from: number;
  readonly to: number;
  /** Last session on which the data of the market are changed. */
  readonly changedUntil: number;
}

/** Reviews that are decided again before later compositions are those of the run. */
const DECIDED_AGAIN = 3;

/** Returns the datapoints that the rules of an index read, also behind its definitions. */
export function listFieldsRead(document: RuleDocument): readonly FieldRequest[] {
  const pipeline = bindPipeline(document);
  const expressions = listReads(pipeline).map(({ use }) => use.field);
  return listReadsBehind(expressions, pipeline.definitions).fields;
}

/** Returns true if a datapoint is a value of the decision date. */
const isOfItsDate = ({ name, lag, window, aggregate }: FieldRequest): boolean =>
  lag === 0 && window === null && aggregate === 'last' && !GROWTH_DATAPOINTS.has(name);

/**
 * Decides the reviews of a window again, with the compositions of the run before it. If decisions read only data of their
 * date, later compositions are those of the run from the first equal composition after the changes on.
 */
function decideWindow(
  { rule: { document, first, list, sm } }: Evaluation,
  { documents, calendars, models, createDecider }: CandidateTerms,
  { market, from, to, changedUntil }: WindowSpan,
): DecidedCompositions {
  const { id, calendar } = document;
  // The changed market may begin with the window; its sessions are those of the run.
  const due = listDueUnderTexts(documents[id]!, sm, { first, last: to }).filter(({ session }) => session > from);
  const before = list.filter(({ session }) => session <= from);
  const decide = (decided: typeof due): DecidedCompositions => {
    const composer = createComposer({
      market: market.market,
      calendars,
      documents,
      models,
      until: market.sessions[to]!,
      createDecider,
      aligned: new Map([[calendar, market]]),
      resumed: new Map([[id, { first, before, due: decided, memory: null }]]),
    });
    return { ...composer.compositions(id), composer };
  };
  const isDated =
    isRuleDocument(document) && document.pipeline.selection.length === 0 && listFieldsRead(document).every(isOfItsDate);
  const again = Math.max(DECIDED_AGAIN, due.findIndex(({ decision }) => decision > changedUntil) + 1);
  if (!isDated || due.length <= again) return decide(due);
  const decided = decide(due.slice(0, again));
  const [last, position] = [
    decided.list.at(-1),
    list.findIndex(({ session }) => session === decided.list.at(-1)?.session),
  ];
  const isEqual =
    last !== undefined && position >= 0 && haveEqualHoldings(last, list[position]!) && last.decision > changedUntil;
  return isEqual ? { ...decided, list: [...decided.list, ...list.slice(position + 1)] } : decide(due);
}

const haveEqualHoldings = (a: Composition, b: Composition): boolean =>
  a.columns.length === b.columns.length &&
  a.columns.every((column, k) => column === b.columns[k] && a.weights[k] === b.weights[k]);

/** Returns the last session on which edits of the market change data. */
const findLastChanged = (edits: readonly Edit[], sm: SessionMarket): number =>
  listChangedDays(edits, sm).reduce((last, day) => Math.max(last, sm.sessionAt(day) + 2), 0);

/** Returns the days of changed bars, and the ex-dates of changed events. */
const listChangedDays = (edits: readonly Edit[], { market }: Pick<SessionMarket, 'market'>): Day[] =>
  edits.flatMap((edit) => {
    if (edit.kind === 'bars') return edit.bars.map(({ row }) => market.dates[row]!);
    if (edit.kind !== 'action') return [];
    return [edit.before, edit.after].flatMap((row) => (row === null ? [] : [row.exDay]));
  });

/** Calls functions with the market of a window after changes of events and fields. */
interface WindowMarkets {
  /** Aligns the changed market up to a session. */
  align<T>(edits: readonly Edit[], to: number, use: (sm: SessionMarket) => T): T;
  /** Changes fields that growth does not read. */
  replace<T>(edits: readonly Edit[], use: (sm: SessionMarket) => T): T;
}

function createWindowMarkets(
  { rule: { sm }, terms }: Evaluation,
  from: number,
  growthTerms: readonly GrowthTerms[],
): WindowMarkets {
  const { market, calendar } = sm;
  const mark = markMarket(sm, from, growthTerms);
  const width = market.identifiers.length;
  const copies = new Map<string, Float64Array>();
  const copy = (field: string): Float64Array => {
    const panel = copies.get(field) ?? market.fields.get(field)!.slice();
    copies.set(field, panel);
    return panel;
  };
  const later = market.actions.filter(({ exDay }) => exDay > sm.sessions[from - 1]!);
  const actionsUntil = new Map<number, readonly CorporateAction[]>();
  const listActions = (to: number): readonly CorporateAction[] => {
    const actions = actionsUntil.get(to) ?? later.filter(({ exDay }) => exDay <= sm.sessions[to]!);
    actionsUntil.set(to, actions);
    return actions;
  };
  /** Calls a function with changed fields. One copy of a panel serves all changes: each is undone after its use. */
  const changeFields = <T>(edits: readonly Edit[], rows: number, use: (fields: MarketData['fields']) => T): T => {
    const cells = edits.flatMap((edit) =>
      edit.kind === 'bars'
        ? edit.bars.map(({ row, value }) => ({ field: edit.field, cell: row * width + edit.column, value }))
        : [],
    );
    for (const { field, cell, value } of cells) copy(field)[cell] = value;
    try {
      return use(
        new Map([...market.fields, ...copies].map(([name, panel]) => [name, panel.subarray(0, rows * width)])),
      );
    } finally {
      for (const { field, cell } of cells) copies.get(field)![cell] = market.fields.get(field)![cell]!;
    }
  };
  return {
    align(edits, to, use) {
      const rows = findLastAtMost(market.dates, sm.sessions[to]!) + 1;
      const changed = applyEdits(
        { ...terms, market: { ...market, actions: listActions(to) } },
        edits.filter(({ kind }) => kind === 'action'),
      ).market;
      const dates = market.dates.subarray(0, rows);
      return changeFields(edits, rows, (fields) =>
        use(alignMarket({ market: { ...changed, dates, fields }, calendar, calendars: terms.calendars, mark })),
      );
    },
    replace: (edits, use) => changeFields(edits, market.dates.length, (fields) => use(replaceFields(sm, fields))),
  };
}

/** Change with the day on which it begins to act; null for a change from the start. */
export interface DatedChange {
  readonly date: Day | null;
  readonly edits: readonly Edit[];
  /** First review that changes; absent for a change of no single review. */
  readonly review?: Pick<Composition, 'session' | 'decision' | 'date'>;
}

/** Computes a result. Returns null if it is refused, because a change can make a document or a market invalid. */
export function attempt<T>(compute: () => T): T | null {
  try {
    return compute();
  } catch (error) {
    if (error instanceof Refusal || error instanceof BeforeMarketError) return null;
    if (error instanceof Error && error.name === 'ZodError') return null;
    throw error;
  }
}

/** Returns the run after changes. Its sessions before the changes are those of the run where that is possible. */
export function evaluateWhole(own: Evaluation, candidates: readonly DatedChange[], session: number): Evaluation {
  const edits = candidates.flatMap((candidate) => candidate.edits);
  const from = findBegin(own, candidates, session);
  return (
    changeLevels(own, edits) ??
    (from === null ? null : runInWindow(() => findWindow(own, from)?.complete(edits) ?? null)) ??
    evaluateChanged(own, edits)
  );
}

/** Returns the session before which changes have no effect. Returns null for changes of the whole run. */
export function findBegin(
  { compositions: { sm }, rule }: Evaluation,
  candidates: readonly DatedChange[],
  session: number,
): number | null {
  if (candidates.some(({ date }) => date === null)) return null;
  const sessions = candidates.flatMap(({ review, date, edits }) => {
    if (review === undefined) return [sm.sessionAt(date!), ...listReviewsOf(rule, edits).map((one) => one.decision)];
    // A review that is decided on changed data reads the holdings since the previous one.
    const previous = rule.list.findLast((one) => one.session < review.session);
    const isOfData = edits.some(({ kind }) => kind !== 'document');
    return [review.session, review.decision, isOfData && previous !== undefined ? previous.session : Infinity];
  });
  return Math.min(session - WINDOW_SESSIONS, ...sessions.map((one) => one - REVIEW_SESSIONS));
}

/** Runs a window. Returns null if a decision reads data from before it. */
export function runInWindow<T>(run: () => T | null): T | null {
  try {
    return run();
  } catch (error) {
    if (error instanceof BeforeMarketError) return null;
    throw error;
  }
}

export function findWindow(own: Evaluation, from: number): SimulatedWindow | null {
  const opened = windows.get(own) ?? new Map<number, SimulatedWindow | null>();
  windows.set(own, opened);
  if (!opened.has(from)) opened.set(from, openWindow(own, from));
  return opened.get(from)!;
}

const windows = new WeakMap<Evaluation, Map<number, SimulatedWindow | null>>();

/** Sessions from the state of the book to a difference. */
export const WINDOW_SESSIONS = 8;

/** Sessions from the state of the book to a review that a change can move by one session. */
export const REVIEW_SESSIONS = 3;

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
  /** Type of an action, because a security can have several on one ex-date. */
  readonly type?: CorporateAction['type'] | undefined;
  readonly added?: true | undefined;
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
export function describeEdits(terms: CandidateTerms, edits: readonly Edit[]): ChangeView {
  const after = applyEdits(terms, edits.filter(isOfDocuments));
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
  const ofWeights = edits.flatMap((edit) => (edit.kind === 'weights' ? [{ rounded_weights: edit.decimals }] : []));
  const terms_ = Object.assign({}, rounding, ...ofWeights, ...reading) as Record<string, unknown>;
  return {
    document,
    data: edits.flatMap((edit) => describeData(terms.market, edit)),
    rounding: Object.keys(terms_).length === 0 ? null : terms_,
  };
}

function describeData({ identifiers, dates, series }: MarketData, edit: Edit): DataChange[] {
  if (edit.kind === 'series') {
    const { days, closes } = changeSeries(series!.get(edit.identifier)!, edit.read);
    return Array.from(days, (day, k) => ({
      table: 'market',
      identifier: edit.identifier,
      date: formatDay(day),
      field: 'CLOSE',
      value: closes[k]!,
    }));
  }
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
  if (isSameRow && before.value !== after.value) return [{ ...locate(before), field: 'value', value: after.value }];
  if (isSameRow && before.subscriptionPrice !== after.subscriptionPrice)
    return [{ ...locate(before), field: 'subscription_price', value: after.subscriptionPrice }];
  return [
    ...(before === null ? [] : [{ ...locate(before), field: 'value', value: null }]),
    ...(after === null ? [] : [{ ...locate(after), field: 'row', value: describeAction(after), added: true as const }]),
  ];
}

const locate = ({ identifier, exDay, type }: CorporateAction) => ({
  table: 'corporate_actions' as const,
  identifier,
  date: formatDay(exDay),
  type,
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

export const amend = (day: Day, changes: Amendment['changes']): Amendment => ({
  effective_from: formatDay(day),
  changes,
});

/** Adds amendments. Those of one date are one amendment, as a stored document requires. */
export function addAmendments(document: IndexDocument, amendments: readonly Amendment[]): IndexDocument {
  const changes = new Map<string, Amendment>();
  for (const one of [...(document.amendments ?? []), ...amendments]) {
    const before = changes.get(one.effective_from);
    const joined = before === undefined ? one : { ...one, changes: joinChanges(before.changes, one.changes) };
    changes.set(one.effective_from, joined as Amendment);
  }
  return {
    ...document,
    amendments: [...changes.values()].toSorted((a, b) => (a.effective_from < b.effective_from ? -1 : 1)),
  };
}

/** Joins two merge patches, of which the second has precedence. Null is kept: it removes a member. */
function joinChanges(before: object, after: object): object {
  const isObject = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const members = new Map<string, unknown>(Object.entries(before));
  for (const [name, value] of Object.entries(after)) {
    const old = members.get(name);
    members.set(name, isObject(old) && isObject(value) ? joinChanges(old, value) : value);
  }
  return Object.fromEntries(members);
}

interface HeldSpan {
  readonly from: Day | null;
  readonly until: Day | null;
}

/** Returns a document whose constituents are a list, without a selection, from one review, or the first, up to another. */
export function holdMembers(
  document: IndexDocument,
  identifiers: readonly string[],
  { from, until }: HeldSpan,
): IndexDocument {
  const universe = { kind: 'list' as const, identifiers: [...identifiers] };
  const restore =
    until === null
      ? []
      : [
          amend(until, {
            universe: toUniversePatch(findUniverse(document, formatDay(until))),
            pipeline: { selection: findSelection(document, formatDay(until)) },
          }),
        ];
  if (from === null)
    return addAmendments({ ...document, universe, pipeline: { ...document.pipeline!, selection: [] } }, restore);
  return addAmendments(document, [
    amend(from, { universe: toUniversePatch(universe), pipeline: { selection: [] } }),
    ...restore,
  ]);
}

/** Returns the universe of a document on a date, or at its start. */
function findUniverse({ universe, amendments = [] }: IndexDocument, date: string): UniverseSpec {
  const changes = amendments
    .filter(({ effective_from }) => effective_from <= date)
    .map(({ changes: one }) => one['universe']);
  return changes.reduce(mergePatch, universe ?? { kind: 'all' }) as UniverseSpec;
}

/** Returns the selection of a document on a date. */
const findSelection = ({ pipeline, amendments = [] }: IndexDocument, date: string): readonly unknown[] =>
  amendments.reduce(
    (selection, one) => (one.effective_from <= date ? (readSelection(one) ?? selection) : selection),
    pipeline?.selection as readonly unknown[],
  ) ?? [];

/** Returns the selection that an amendment changes. */
export const readSelection = ({ changes }: Amendment): readonly unknown[] | undefined =>
  (changes['pipeline'] as { readonly selection?: readonly unknown[] } | undefined)?.selection;

/** Returns a universe as a change that leaves no member of the one before. */
const toUniversePatch = (universe: UniverseSpec): Record<string, unknown> => ({
  id: null,
  identifiers: null,
  watchlist_id: null,
  of: null,
  ...universe,
});

interface UniverseEdit extends HeldSpan {
  readonly change: (universe: UniverseSpec) => UniverseSpec;
}

/** Returns a document whose universe is changed from one review, or the first, on or up to another one. */
export function changeUniverse(document: IndexDocument, { from, until, change }: UniverseEdit): IndexDocument {
  const start = from === null ? '' : formatDay(from);
  const end = until === null ? undefined : formatDay(until);
  const amendTo = (date: string, universe: UniverseSpec): Amendment => ({
    effective_from: date,
    changes: { universe: toUniversePatch(universe) },
  });
  const amendments = (document.amendments ?? []).map((one) => {
    const { effective_from: date, changes } = one;
    const isWithin = date > start && (end === undefined || date < end) && changes['universe'] !== undefined;
    if (!isWithin) return one;
    return { ...one, changes: { ...changes, universe: toUniversePatch(change(findUniverse(document, date))) } };
  });
  const own = { ...document, amendments };
  const restore = end === undefined ? [] : [amendTo(end, findUniverse(document, end))];
  const changed = change(findUniverse(document, start));
  return from === null
    ? addAmendments({ ...own, universe: changed }, restore)
    : addAmendments(own, [amendTo(start, changed), ...restore]);
}

/** Returns a universe with or without a security. A universe that is no list is the first operand of set operations. */
export function replaceMember(universe: UniverseSpec, manner: Manner, identifier: string): UniverseSpec {
  const without = (names: readonly string[]): string[] => names.filter((name) => name !== identifier);
  if (universe.kind === 'list') {
    const names = without(universe.identifiers ?? []);
    return { ...universe, identifiers: manner === 'added' ? [...names, identifier] : names };
  }
  const [united, more] = splitSet(universe, 'union');
  const [first, less] = splitSet(united, 'difference');
  const isAdded = manner === 'added';
  const left = isAdded ? without(less) : [...without(less), identifier];
  const added = isAdded && !less.includes(identifier) ? [...without(more), identifier] : without(more);
  return joinSet('union', joinSet('difference', first, left), added);
}

/** Returns the first operand of a set operation with one list, and its list. Returns any other universe without a list. */
function splitSet(universe: UniverseSpec, kind: UniverseSpec['kind']): readonly [UniverseSpec, readonly string[]] {
  const { of: [first, second, ...others] = [] } = universe;
  const isOfList = universe.kind === kind && second?.kind === 'list' && others.length === 0;
  return isOfList ? [first!, second.identifiers ?? []] : [universe, []];
}

const joinSet = (kind: UniverseSpec['kind'], first: UniverseSpec, names: readonly string[]): UniverseSpec =>
  names.length === 0 ? first : { kind, of: [first, { kind: 'list', identifiers: [...names] }] };
