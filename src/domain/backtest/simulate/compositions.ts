import type { Calendars } from '../../calendars/calendar.js';
import { dayFrom, formatDay, type Day } from '../../days.js';
import { isDerivedDocument, type IndexDocument, type TreatmentSpec } from '../../documents/index-document.js';
import type { Finding } from '../../findings.js';
import { exchangeRates } from '../../market/exchange-rates.js';
import type { MarketData, Membership } from '../../market/market-data.js';
import { alignMarket, panelRow, type SessionMarket } from '../../market/session-market.js';
import { Refusal } from '../../refusal.js';
import { rebalanceDates, type RebalanceDate } from '../../schedule/schedule.js';
import { firstAtLeast, lastAtMost } from '../../search.js';
import type { Decided, Decider, DecisionMemory, Undecided } from './decider.js';
import { takeOver } from './proceeds.js';

/** What an index consists of from one rebalance to the next. */
export interface Composition {
  /** Effective date by the schedule. */
  readonly date: Day;
  /** Later dates of the schedule that it is carried out for as well: those of closed days that come to the same session. */
  readonly also: readonly Day[];
  /** Session at whose close the weights take effect and whose prices the trades use. */
  readonly session: number;
  /** Session whose data the composition was decided from. */
  readonly decision: number;
  /** Decision day when it lies before the effective date by an effective lag, else null. */
  readonly announced: Day | null;
  /** Columns, ascending. */
  readonly columns: Int32Array;
  readonly weights: Float64Array;
  readonly uncapped: Float64Array;
  readonly cap: number | null;
  readonly capped: Int32Array;
  readonly redistributed: number;
}

export interface Compositions {
  readonly document: IndexDocument;
  readonly treatment: TreatmentSpec;
  readonly sm: SessionMarket;
  /** Session of the first composition: the base date, or the first session with a price after it. */
  readonly first: number;
  /** Ascending by session; a rebalance that was held is absent. */
  readonly list: readonly Composition[];
  /** Warnings of the decisions and of rebalances that were held. */
  readonly findings: readonly Finding[];
  /** What the decisions left to those to come. */
  readonly memory: DecisionMemory | null;
}

/** Runs definitions: an index, the parents of its universe or derivation, a benchmark, each once. */
export interface Composer {
  document(indexId: string): IndexDocument;
  /** The market on the sessions of the index's calendar. */
  market(indexId: string): SessionMarket;
  treatment(indexId: string): TreatmentSpec;
  /** Columns of the index's universe that are priceable on a session, ascending. */
  universe(indexId: string, session: number): Int32Array;
  decider(indexId: string): Decider;
  /**
   * Every composition effective on or before the composer's last day.
   * @throws Refusal EMPTY_INDEX, NO_DATA_IN_RANGE, CALENDAR_NOT_COVERED, and what deciders refuse
   */
  compositions(indexId: string): Compositions;
  /** The composition in force at the close of a session; those that were known before count as well. */
  inForce(indexId: string, session: number): Composition | undefined;
  /** The latest composition decided on or before a session, of all that are known. */
  decidedOn(indexId: string, session: number): Composition | undefined;
  /** What earlier decisions of an index left; null where all of them are made here. */
  memory(indexId: string): DecisionMemory | null;
  /** Columns of the latest composition effective before a session: the incumbents of a decision on it. */
  incumbents(indexId: string, session: number): Int32Array | null;
  /** The compositions of every index that was asked for. */
  composed(): readonly Compositions[];
}

/** An index of which some compositions are known: only those due after them are decided. */
export interface ResumedIndex {
  /** Session of the first composition of all. */
  readonly first: number;
  readonly before: readonly Composition[];
  readonly due: readonly DueRebalance[];
  readonly memory: DecisionMemory | null;
}

export interface ComposerInput {
  readonly market: MarketData;
  readonly calendars: Calendars;
  /** The index and every document it reaches, by id. */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  /** Last day of which anything is known. */
  readonly until: Day;
  /** Makes the decider of a document; asked once per index. */
  readonly createDecider: DeciderFactory;
  /** By calendar, the market as it is aligned where that is not what `marketOn` gives. */
  readonly aligned?: ReadonlyMap<string, SessionMarket>;
  /** By index, what is not to be decided again. */
  readonly resumed?: ReadonlyMap<string, ResumedIndex>;
  /** Called between decisions; stops the work by throwing. */
  readonly tick?: (fraction: number) => void;
}

export type DeciderFactory = (document: IndexDocument, composer: Composer) => Decider;

/** Calendars of a market aligned so far: one alignment serves every index of the calendar. */
const aligned = new WeakMap<MarketData, Map<string, SessionMarket>>();

/** The market on the sessions of a calendar, aligned once. @throws Refusal VALIDATION_FAILED when there is no such calendar */
export function marketOn({
  market,
  calendars,
  code,
}: {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly code: string;
}): SessionMarket {
  let byCalendar = aligned.get(market);
  if (!byCalendar) aligned.set(market, (byCalendar = new Map()));
  let sm = byCalendar.get(code);
  if (!sm) {
    const calendar = calendars.get(code);
    if (!calendar) throw new Refusal('VALIDATION_FAILED', `The calendar ${code} is not known.`);
    byCalendar.set(code, (sm = alignMarket({ market, calendar, calendars })));
  }
  return sm;
}

export function createComposer({
  market,
  calendars,
  documents,
  until,
  createDecider,
  aligned: given,
  resumed,
  tick,
}: ComposerInput): Composer {
  const byId = new Map(Object.entries(documents));
  const deciders = new Map<string, Decider>();
  const composed = new Map<string, Compositions>();
  const running = new Set<string>();
  const memberships = new Map<string, Membership[]>();

  const composer: Composer = {
    document(indexId) {
      const document = byId.get(indexId);
      if (!document) throw new Error(`the plan lacks the document ${indexId}`);
      return document;
    },
    market(indexId) {
      const { calendar: code } = composer.document(indexId);
      return given?.get(code) ?? marketOn({ market, calendars, code });
    },
    treatment(indexId) {
      const document = composer.document(indexId);
      if (document.pipeline) return document.pipeline.treatment;
      return composer.treatment(document.derivation!.source_index_id);
    },
    universe: (indexId, session) => universeOn(composer, membersOf, { indexId, session }),
    decider(indexId) {
      let decider = deciders.get(indexId);
      if (!decider) deciders.set(indexId, (decider = createDecider(composer.document(indexId), composer)));
      return decider;
    },
    compositions(indexId) {
      let result = composed.get(indexId);
      if (result) return result;
      if (running.has(indexId))
        throw new Refusal(
          'VALIDATION_FAILED',
          `The index ${indexId} reaches itself through its universe or derivation.`,
        );
      running.add(indexId);
      const known = resumed?.get(indexId);
      result =
        known === undefined
          ? compose(composer, { indexId, until, tick })
          : composeOn(composer, { indexId, known, tick });
      running.delete(indexId);
      composed.set(indexId, result);
      return result;
    },
    inForce(indexId, session) {
      const { list } = composer.compositions(indexId);
      return inForce(list, session) ?? inForce(resumed?.get(indexId)?.before ?? [], session);
    },
    decidedOn(indexId, session) {
      const { list } = composer.compositions(indexId);
      const isDecided = ({ decision }: Composition): boolean => decision <= session;
      return list.findLast(isDecided) ?? resumed?.get(indexId)?.before.findLast(isDecided);
    },
    memory: (indexId) => resumed?.get(indexId)?.memory ?? null,
    incumbents: (indexId, session) => composer.inForce(indexId, session - 1)?.columns ?? null,
    composed: () => [...composed.values()],
  };
  const membersOf = (universe: string): readonly Membership[] => {
    let members = memberships.get(universe);
    if (!members)
      memberships.set(universe, (members = market.universes.filter((entry) => entry.universe === universe)));
    return members;
  };
  return composer;
}

/** The composition in force at the close of a session: the latest effective at or before it. */
export function inForce<C extends Pick<Composition, 'session'>>(list: readonly C[], session: number): C | undefined {
  for (let i = list.length - 1; i >= 0; i--) if (list[i]!.session <= session) return list[i];
  return undefined;
}

interface UniverseInput {
  readonly indexId: string;
  readonly session: number;
}

function universeOn(
  composer: Composer,
  membersOf: (universe: string) => readonly Membership[],
  { indexId, session }: UniverseInput,
): Int32Array {
  const document = composer.document(indexId);
  const sm = composer.market(indexId);
  const day = sm.sessions[session]!;
  const staleMax = composer.treatment(indexId).max_stale_sessions;
  const candidates = new Uint8Array(sm.names);
  const add = (identifier: string): void => {
    const column = sm.columnOf(identifier);
    if (column >= 0) candidates[column] = 1;
  };
  const universe = isDerivedDocument(document)
    ? { kind: 'index' as const, id: document.derivation.source_index_id }
    : document.universe;
  switch (universe?.kind ?? 'all') {
    case 'all': {
      candidates.fill(1);
      for (const column of exchangeRates(sm, document.currency).pairColumns) candidates[column] = 0;
      break;
    }
    case 'named':
      for (const { identifier, start, end } of membersOf(universe!.id!))
        if ((start === null || start <= day) && (end === null || day < end)) add(identifier);
      break;
    case 'list':
      for (const identifier of document.universe!.identifiers ?? []) add(identifier);
      break;
    case 'index': {
      const parentId = universe!.id!;
      const columns = composer.inForce(parentId, lastAtMost(composer.market(parentId).sessions, day))?.columns ?? [];
      for (const column of columns) candidates[column] = 1;
      break;
    }
  }
  const columns = new Int32Array(sm.names);
  let count = 0;
  const bars = panelRow(sm, session);
  for (let column = 0; column < sm.names; column++) {
    if (candidates[column] && sm.lastBar[bars + column]! >= 0 && sm.isPriceable(session, column, staleMax))
      columns[count++] = column;
  }
  return columns.slice(0, count);
}

interface ComposeInput {
  readonly indexId: string;
  readonly until: Day;
  readonly tick: ((fraction: number) => void) | undefined;
}

function compose(composer: Composer, { indexId, until, tick }: ComposeInput): Compositions {
  const document = composer.document(indexId);
  const sm = composer.market(indexId);
  const treatment = composer.treatment(indexId);
  const last = lastAtMost(sm.sessions, until);
  const first = firstPriced(composer, { indexId, until });
  const { list, findings } = decideAll(composer, {
    indexId,
    due: dueRebalances(document, sm, { first, last }),
    before: [],
    tick,
  });
  return { document, treatment, sm, first, list, findings, memory: composer.decider(indexId).memory?.() ?? null };
}

interface ComposeOnInput {
  readonly indexId: string;
  readonly known: ResumedIndex;
  readonly tick: ((fraction: number) => void) | undefined;
}

/** The compositions that come after those known. */
function composeOn(
  composer: Composer,
  { indexId, known: { first, before, due, memory }, tick }: ComposeOnInput,
): Compositions {
  const { list, findings } = decideAll(composer, { indexId, due, before, tick });
  const context = {
    document: composer.document(indexId),
    treatment: composer.treatment(indexId),
    sm: composer.market(indexId),
  };
  // A decider that is not asked is not made.
  return {
    ...context,
    first,
    list,
    findings,
    memory: due.length === 0 ? memory : (composer.decider(indexId).memory?.() ?? null),
  };
}

interface DueInput {
  readonly indexId: string;
  /** Ascending. */
  readonly due: readonly DueRebalance[];
  /** The compositions before them: as many as those that were in force when they are decided. */
  readonly before: readonly Composition[];
  readonly tick?: ((fraction: number) => void) | undefined;
}

/**
 * Decides rebalances one after the other.
 * @throws Refusal EMPTY_INDEX, or what the decider explains, when nothing was before a rebalance and nothing comes of it
 */
function decideAll(
  composer: Composer,
  { indexId, due, before, tick }: DueInput,
): Pick<Compositions, 'list' | 'findings'> {
  const sm = composer.market(indexId);
  const list: Composition[] = [];
  const known = [...before];
  const findings: Finding[] = [];
  due.forEach((rebalance, position) => {
    tick?.(position / due.length);
    const incumbents = inForce(known, rebalance.decision - 1)?.columns ?? null;
    const decision = composer.decider(indexId).decide(rebalance.decision, incumbents);
    if (decision.kind === 'decided') {
      const composition = takeEffect(sm, rebalance, decision);
      if (composition) {
        findings.push(...decision.findings);
        list.push(composition);
        known.push(composition);
        return;
      }
    }
    if (known.length === 0) throw emptyIndex(indexId, sm, { rebalance, decision });
    findings.push(held(rebalance, decision));
  });
  return { list, findings };
}

/** The first session on or after the base date with a bar of a name of the universe. */
function firstPriced(composer: Composer, { indexId, until }: Pick<ComposeInput, 'indexId' | 'until'>): number {
  const document = composer.document(indexId);
  const sm = composer.market(indexId);
  const last = lastAtMost(sm.sessions, until);
  for (let session = firstAtLeast(sm.sessions, dayFrom(document.base_date)); session <= last; session++) {
    if (sm.rowOf[session]! < 0) continue;
    const bars = panelRow(sm, session);
    for (const column of composer.universe(indexId, session)) if (sm.lastBar[bars + column] === session) return session;
  }
  const day = formatDay(until);
  const why =
    day < document.base_date
      ? `The base date ${document.base_date} of ${indexId} is after ${day}`
      : `The store holds no price of the universe of ${indexId} from ${document.base_date} to ${day}`;
  throw new Refusal('NO_DATA_IN_RANGE', `${why}.`);
}

export interface DueRebalance {
  readonly date: Day;
  readonly also: readonly Day[];
  readonly session: number;
  readonly decision: number;
  readonly announced: Day | null;
}

/** The rebalances of a definition on the axis of the market: the first on the first session, then those of the schedule. */
function dueRebalances(
  document: IndexDocument,
  sm: SessionMarket,
  { first, last }: { readonly first: number; readonly last: number },
): DueRebalance[] {
  const { rebalance } = document;
  const { sessions } = sm;
  const lagged = sessions[first - rebalance.effective_lag] ?? sessions[first]! - 1;
  const begin = placeRebalances(document, sm, {
    first,
    dates: [{ date: sessions[first]!, session: sessions[first]!, decision: lagged }],
  });
  return [...begin, ...dueAfter(document, sm, { first, after: first, last })];
}

export interface DueSpan {
  /** First session of the index. */
  readonly first: number;
  /** Those of the schedule after this session, up to the last. */
  readonly after: number;
  readonly last: number;
}

/** The rebalances that the schedule of an index has after a session, on the axis of the market. */
export function dueAfter(document: IndexDocument, sm: SessionMarket, { first, after, last }: DueSpan): DueRebalance[] {
  const { rebalance, base_date } = document;
  const { sessions, calendar } = sm;
  const dates = rebalanceDates({
    rebalance,
    calendar,
    baseDay: dayFrom(base_date),
    from: sessions[after]! + 1,
    to: sessions[last]!,
  });
  return placeRebalances(document, sm, { first, dates });
}

interface ScheduledRebalances {
  readonly first: number;
  readonly dates: readonly RebalanceDate[];
}

function placeRebalances(
  { rebalance }: IndexDocument,
  sm: SessionMarket,
  { first, dates }: ScheduledRebalances,
): DueRebalance[] {
  const { sessions } = sm;
  return dates.map(({ date, also = [], session, decision }) => {
    const position = pricedSession(sm, lastAtMost(sessions, session), first);
    const decided = Math.min(lastAtMost(sessions, decision), position);
    const reaches =
      rebalance.effective_lag > 0 && sessions[decided] !== undefined && decision >= sessions[0]! && decision < session;
    if (!reaches) return { date, also, session: position, decision: position, announced: null };
    return { date, also, session: position, decision: decided, announced: sessions[decided]! };
  });
}

/** A session on which no name has a bar was an unscheduled closure: prices are those of the latest session before it. */
function pricedSession(sm: SessionMarket, session: number, first: number): number {
  let position = session;
  while (position > first && !hasAnyBar(sm, position)) position--;
  return position;
}

/** Whether any name of the store has a bar on a session. */
export function hasAnyBar(sm: SessionMarket, session: number): boolean {
  const { lastBar, rowOf, names } = sm;
  if (rowOf[session]! < 0) return false;
  const bars = panelRow(sm, session);
  for (let column = 0; column < names; column++) if (lastBar[bars + column] === session) return true;
  return false;
}

/**
 * A decided composition on its effective session; of names that have ended since, those of their side take over the weight
 * pro rata.
 */
function takeEffect(sm: SessionMarket, timing: DueRebalance, decided: Decided): Composition | undefined {
  const { columns, weights, uncapped, cap, capped, redistributed } = decided;
  const { session, decision } = timing;
  const staying = decision === session ? columns : columns.filter((column) => !sm.hasEnded(session, column));
  if (staying.length === 0) return undefined;
  if (staying.length === columns.length) return { ...timing, columns, weights, uncapped, cap, capped, redistributed };
  const stays = new Set(staying);
  const isStaying = (_: number, k: number): boolean => stays.has(columns[k]!);
  const rescaled = (values: Float64Array): Float64Array =>
    takeOver(
      values.filter(isStaying),
      values.filter((value, k) => !isStaying(value, k)),
    );
  const applied = rescaled(weights);
  const raw = rescaled(uncapped);
  const appliedSum = weights.reduce((total, value, k) => (stays.has(columns[k]!) ? total + value : total), 0);
  return {
    ...timing,
    columns: staying,
    weights: applied,
    uncapped: raw,
    cap: cap === null ? null : Math.min(1, cap / appliedSum),
    capped: capped.filter((column) => stays.has(column)),
    redistributed: raw.reduce((total, value, k) => total + Math.max(0, value - applied[k]!), 0),
  };
}

interface Undone {
  readonly rebalance: DueRebalance;
  readonly decision: Decided | Undecided;
}

/** Why an index has nothing to begin with: its own refusal where the decider has one. */
function emptyIndex(indexId: string, sm: SessionMarket, { rebalance, decision }: Undone): Refusal {
  const first = `The index ${indexId} has no composition on its first date ${formatDay(sm.sessions[rebalance.session]!)}`;
  const explained = decision.kind === 'decided' ? undefined : decision.explain?.();
  if (explained !== undefined) return new Refusal(explained.code, `${first}: ${explained.message}`, explained.detail);
  return new Refusal('EMPTY_INDEX', `${first}: ${reasonOf(decision)}`, {
    findings: decision.kind === 'decided' ? [] : [decision.finding],
  });
}

function held(rebalance: DueRebalance, decision: Decided | Undecided): Finding {
  return {
    severity: 'warning',
    code: 'REBALANCE_HELD',
    message: `The rebalance of ${formatDay(rebalance.date)} was not executed, the previous composition stays: ${reasonOf(decision)}`,
    path: decision.kind === 'decided' ? '' : decision.finding.path,
  };
}

function reasonOf(decision: Decided | Undecided): string {
  return decision.kind === 'decided' ? 'every name had left before it took effect.' : decision.finding.message;
}
