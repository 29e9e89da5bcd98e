import { compareText, type Finding, type FindingCode } from '../base/findings.js';
import { findFirstAtLeast } from '../base/numbers.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import type { Book, Gap } from '../books/book.js';
import { reportMovedValues } from '../books/benchmark.js';
import type { Calendar } from '../calendars/calendar.js';
import type { BacktestPlan, ResolvedRequest } from '../definition/backtest-plan.js';
import type { IndexDocument, TreatmentSpec } from '../definition/index-document.js';
import { reportAssumptions } from '../definition/index-validation.js';
import { type CorporateAction, type MarketData, readReference } from '../market/market-data.js';
import { createExchangeRates, type ExchangeRates } from '../market/rates.js';
import { readPanelRow, type SessionAction, type SessionMarket } from '../market/session-market.js';
import { type CloseStep, computeUnexplainedGrowth, describeJump, isJump, isOrdinaryMove } from '../market/growth.js';
import type { FindingGroups } from './run.js';

/**
 * Warns if a benchmark lacks dates of a series that is compared with it. Figures relative to the benchmark use the
 * common dates only.
 * @param common dates of both, ascending, at least one
 * @param days dates of the series in its window
 */
export function warnOfCutBenchmark(benchmarkId: string, common: Int32Array, days: Int32Array): Finding[] {
  if (common.length === days.length) return [];
  const describeSpan = (spanDays: Int32Array) => `${formatDay(spanDays[0]!)} to ${formatDay(spanDays.at(-1)!)}`;
  return [
    {
      severity: 'warning',
      code: 'WINDOW_CUT',
      path: 'benchmark',
      message: `The benchmark ${benchmarkId} has ${common.length} of the ${days.length} dates of the window. The comparison covers ${describeSpan(common)}; without the benchmark it would cover ${describeSpan(days)}.`,
    },
  ];
}

interface ServedWindow {
  readonly request: Pick<ResolvedRequest, 'start' | 'end'>;
  readonly document: Pick<IndexDocument, 'base_date'>;
  readonly calendar: Calendar;
  /** First and last session of the run. */
  readonly first: Day;
  readonly last: Day;
}

/**
 * Warns if the run covers fewer sessions than the requested range. The finding WINDOW_CUT states both ranges and the
 * reason.
 */
export function warnOfCutWindow({ request, document, calendar, first, last }: ServedWindow): Finding[] {
  const { sessions, coverage, code } = calendar;
  const start = request.start === null ? first : parseValidDay(request.start);
  const end = request.end === null ? last : parseValidDay(request.end);
  const hasSession = (from: Day, until: Day) => findFirstAtLeast(sessions, from) < findFirstAtLeast(sessions, until);
  const reasons: string[] = [];
  if (start < first && (start < coverage.from || hasSession(start, first)))
    reasons.push(
      start < parseValidDay(document.base_date)
        ? `the base date of the index is ${document.base_date}`
        : start < coverage.from && first === sessions[0]
          ? `the calendar ${code} begins on ${formatDay(coverage.from)}`
          : `the required prices begin on ${formatDay(first)}`,
    );
  if (end > last && (end > coverage.to || hasSession(last + 1, end + 1)))
    reasons.push(
      end > coverage.to && last === sessions.at(-1)
        ? `the calendar ${code} ends on ${formatDay(coverage.to)}`
        : `the prices end on ${formatDay(last)}`,
    );
  if (reasons.length === 0) return [];
  const requestedRange = `${request.start ?? 'the base date'} to ${request.end ?? 'the last prices'}`;
  return [
    {
      severity: 'warning',
      code: 'WINDOW_CUT',
      path: '',
      message: `Requested ${requestedRange}; run from ${formatDay(first)} to ${formatDay(last)}: ${reasons.join('; ')}.`,
    },
  ];
}

/** Maximum number of jumps listed for a run. Further jumps are only counted. */
const LISTED_JUMPS_MAX = 20;

interface Jump {
  readonly session: number;
  readonly column: number;
  readonly finding: Finding;
}

/** Books of a run, with the currency in which their securities are valued. */
export interface JumpInput {
  readonly books: readonly Book[];
  /** Session after which jumps are reported. */
  readonly after: number;
  readonly currency: string;
}

/**
 * Reports the closes of held securities that moved by more than the actions of the market explain. Only prices up to the
 * session of a move are used, so that a run that is extended reports the same as a full run.
 * @cost one pass over the closes of the securities of each book
 */
function reportJumps({ books, after, currency }: JumpInput): Finding[] {
  const jumps = new Map<string, Jump>();
  const rates = createExchangeRates(books[0]!.sm, currency);
  for (const book of new Set(books)) {
    for (const jump of listJumps(book, after, rates)) jumps.set(`${jump.session} ${jump.column}`, jump);
  }
  const inOrder = [...jumps.values()].toSorted((a, b) => a.session - b.session || a.column - b.column);
  return limitJumps(inOrder.map(({ finding }) => finding));
}

/** Limits the jumps of successive parts of a run. Those beyond the limit are counted in one finding. */
export function limitJumps(findings: readonly Finding[]): Finding[] {
  const jumps = findings.filter(({ count }) => count === undefined);
  const listed = jumps.slice(0, LISTED_JUMPS_MAX);
  const further = findings.reduce((sum, { count = 1 }) => sum + count, -listed.length);
  if (further === 0) return listed;
  const message = `${further} further ${further === 1 ? 'move' : 'moves'} of closes of held securities ${further === 1 ? 'is' : 'are'} not explained by corporate actions; the data warnings of the store list moves.`;
  return [...listed, { severity: 'warning', code: 'PRICE_JUMP', message, path: '', count: further }];
}

function listJumps(book: Book, after: number, rates: ExchangeRates): Jump[] {
  const { sm, columns, from, length, weights } = book;
  const start = Math.max(after, from);
  const slotByColumn = new Int32Array(sm.securityCount).fill(-1);
  columns.forEach((column, slot) => (slotByColumn[column] = slot));
  const jumps: Jump[] = [];
  for (const move of listUnexplainedMoves(sm, columns, rates)) {
    const { session, column } = move;
    const slot = slotByColumn[column]!;
    if (slot < 0 || session <= start || session >= from + length) continue;
    if (weights[(session - 1 - from) * columns.length + slot] === 0) continue;
    const finding = judgeMove(move, rates);
    if (finding !== undefined) jumps.push({ session, column, finding });
  }
  return [...jumps, ...listRenamedJumps(book, start, rates)];
}

interface MarketMoves {
  /** 1 for securities whose moves are listed, [N]. */
  readonly isListed: Uint8Array;
  readonly moves: Move[];
}

/** Unexplained moves by market and currency. They do not depend on the run. */
const movesByMarket = new WeakMap<SessionMarket, Map<string, MarketMoves>>();

/**
 * Returns the moves between successive closes that actions do not explain, of at least the given securities.
 * @cost one pass over the closes of each security, once for each market and currency
 */
function listUnexplainedMoves(sm: SessionMarket, columns: Int32Array, rates: ExchangeRates): readonly Move[] {
  const byCurrency = movesByMarket.get(sm) ?? new Map<string, MarketMoves>();
  movesByMarket.set(sm, byCurrency);
  const listed = byCurrency.get(rates.currency) ?? { isListed: new Uint8Array(sm.securityCount), moves: [] };
  byCurrency.set(rates.currency, listed);
  const further = columns.filter((column) => listed.isListed[column] === 0);
  if (further.length > 0) findUnexplainedMoves(sm, further, { rates, moves: listed.moves });
  for (const column of further) listed.isListed[column] = 1;
  return listed.moves;
}

function findUnexplainedMoves(
  sm: SessionMarket,
  columns: Int32Array,
  { rates, moves }: { readonly rates: ExchangeRates; readonly moves: Move[] },
): void {
  const close = sm.market.fields.get('CLOSE')!;
  const { all, starts } = sm.actions;
  const lastBars = Int32Array.from(columns, (column) => sm.lastBar[readPanelRow(sm, sm.first) + column]!);
  const lastCloses = Float64Array.from(columns, (column, k) =>
    lastBars[k]! < 0 ? Number.NaN : sm.closeAt(lastBars[k]!, column),
  );
  const lastActions = new Int32Array(sm.securityCount).fill(-1);
  for (let session = 0, a = 0; session < sm.sessions.length; session++) {
    for (; a < starts[session + 1]!; a++) lastActions[all[a]!.column] = session;
    if (session <= sm.first) continue;
    const { cells, from: row } = sm.rows.read(close, session);
    if (row < 0) continue;
    for (let k = 0; k < columns.length; k++) {
      const column = columns[k]!;
      const price = cells[row + column]!;
      if (price !== price) continue;
      const last = lastCloses[k]!;
      const bar = lastBars[k]!;
      lastCloses[k] = price;
      lastBars[k] = session;
      if (last !== last) continue;
      const isOwnCurrency = rates.isNative(column) || starts[bar] === starts[session + 1];
      const isExplained = lastActions[column]! >= bar;
      if (isOwnCurrency && !isExplained && isOrdinaryMove(last, price)) continue;
      const move = { sm, column, bar, session, before: last, close: price };
      if (!isOwnCurrency && !isExplained && isOrdinaryMove(convertBefore(move, rates), price)) continue;
      if (judgeMove(move, rates) !== undefined) moves.push(move);
    }
  }
}

/** Returns the jumps from the last close of a held security to the first close of its new code. */
function listRenamedJumps(book: Book, after: number, rates: ExchangeRates): Jump[] {
  const { sm, columns, from, length, weights } = book;
  return sm.actions.related.flatMap(({ session: effective, column, action }): Jump[] => {
    const priced = action.type === 'TICKER_CHANGE' ? sm.columnOf(action.related!) : -1;
    const slot = columns.indexOf(column);
    if (priced < 0 || priced === column || slot < 0) return [];
    let session = effective;
    while (session < from + length && Number.isNaN(sm.closeAt(session, priced))) session++;
    if (session <= after || session >= from + length || weights[(session - 1 - from) * columns.length + slot] === 0)
      return [];
    const bar = sm.lastBar[readPanelRow(sm, session - 1) + column]!;
    if (bar < 0) return [];
    const close = (sm.closeAt(session, priced) * rates.rateAt(session, priced)) / rates.rateAt(session, column);
    const before = sm.closeAt(bar, column);
    const finding = judgeMove({ sm, column, bar, session, before, close, renaming: { priced, action } }, rates);
    return finding === undefined ? [] : [{ session, column: priced, finding }];
  });
}

interface Move {
  readonly sm: SessionMarket;
  readonly column: number;
  /** Session of the previous bar. */
  readonly bar: number;
  readonly session: number;
  readonly before: number;
  readonly close: number;
  /** Change of ticker, with the column of the new code, whose close is the second one. */
  readonly renaming?: { readonly priced: number; readonly action: CorporateAction };
}

/** Returns the first and the last day of a move. */
function readDays({ sm, column, bar, session, renaming }: Move): readonly [Day, Day] {
  const close = sm.market.fields.get('CLOSE')!;
  return [sm.rows.dayOf(close, bar, column), sm.rows.dayOf(close, session, renaming?.priced ?? column)];
}

/** Returns the close before a move in the currency of the close after it. */
function convertBefore(move: Move, rates: ExchangeRates): number {
  const { column, session, before } = move;
  const [stated, wanted] = readDays(move);
  return rates.convert(before, { column, stated, wanted, session });
}

function judgeMove(move: Move, rates: ExchangeRates): Finding | undefined {
  const { sm, column, bar, session, close, renaming } = move;
  const priced = renaming?.priced ?? column;
  const [fromDay, toDay] = readDays(move);
  const actions: CorporateAction[] = [];
  for (let i = sm.actions.starts[bar]!; i < sm.actions.starts[session + 1]!; i++) {
    const { column: of, action } = sm.actions.all[i]!;
    if (of === column && action.exDay > fromDay && action.exDay <= toDay) actions.push(action);
  }
  // The bars of an old code belong to another security once a change of ticker is effective.
  const isOther = ({ type, related }: CorporateAction): boolean =>
    type === 'TICKER_CHANGE' && related !== null && sm.isRenamed(session, column, sm.columnOf(related));
  if (renaming === undefined && actions.some(isOther)) return undefined;
  if (renaming !== undefined && !actions.includes(renaming.action)) actions.push(renaming.action);
  const identifier = sm.identifiers[priced]!;
  const step = {
    before: convertBefore(move, rates),
    close,
    actions: actions.toSorted((a, b) => a.exDay - b.exDay),
    adjustment: sm.market.adjustment,
    findRelatedPrice: createRelatedPrices(sm, session),
    fromDay,
    toDay,
    ...(renaming === undefined ? {} : { renamedTo: identifier }),
  };
  const growth = computeUnexplainedGrowth(step);
  if (!isJump(growth)) return undefined;
  const date = formatDay(toDay);
  return {
    severity: 'warning',
    code: 'PRICE_JUMP',
    message: `${sm.identifiers[column]} is held, and its ${describeJump(step, growth)}`,
    path: `market[${identifier} ${date}].CLOSE`,
    value: close,
    places: [identifier],
    first_date: date,
    last_date: date,
  };
}

/** Returns a function that returns the first price of the other security of an action, up to a session. */
function createRelatedPrices(sm: SessionMarket, until: number): CloseStep['findRelatedPrice'] {
  return ({ identifier, related, exDay }) => {
    const column = related === null ? -1 : sm.columnOf(related);
    const readCurrency = (name: string) => readReference(sm.market.reference, name, 'CURRENCY', exDay);
    if (column < 0 || readCurrency(identifier) !== readCurrency(related!)) return Number.NaN;
    for (let session = findFirstAtLeast(sm.sessions, exDay); session <= until; session++) {
      const price = sm.closeAt(session, column);
      if (!Number.isNaN(price)) return price;
    }
    return Number.NaN;
  };
}

/**
 * Returns the assumptions of a run that neither the request nor the definition states.
 * @param days sessions of the run
 * @param common sessions on which the benchmark has a level; null without a benchmark
 */
export function listRunAssumptions(
  { plan, market }: { readonly plan: BacktestPlan; readonly market: MarketData },
  {
    document,
    treatment,
    sm,
  }: { readonly document: IndexDocument; readonly treatment: TreatmentSpec; readonly sm: SessionMarket },
  days: Int32Array,
  common: Int32Array | null,
): Finding[] {
  const { request, documents, strategy } = plan;
  const series = request.benchmark?.kind === 'identifier' ? market.series?.get(request.benchmark.id) : undefined;
  return [
    ...warnOfCutWindow({ request, document, calendar: sm.calendar, first: days[0]!, last: days.at(-1)! }),
    ...(common === null || !request.benchmark ? [] : warnOfCutBenchmark(request.benchmark.id, common, days)),
    ...(series === undefined ? [] : reportMovedValues(series, sm.calendar.sessions, days)),
    ...reportAssumptions({
      document,
      treatment,
      market,
      indexOf: (id) => documents[id],
      rows: strategy?.constraints,
      isRun: true,
    }),
  ];
}

/** Maximum number of warnings listed for a run. Further warnings are only counted. */
const FINDINGS_MAX = 200;

interface FindingsInput {
  readonly decisions: readonly Finding[];
  readonly solves: readonly Finding[];
  readonly index: Book;
  readonly portfolio: Book;
  /** Currency of the index. */
  readonly currency: string;
}

export function groupFindings({ decisions, solves, index, portfolio, currency }: FindingsInput): FindingGroups {
  const { sm } = index;
  const listExits = ({ silent }: Book): Finding[] =>
    silent.map(({ session, column }) => {
      const [identifier, date] = [sm.identifiers[column]!, formatDay(sm.sessions[session]!)];
      const age = sm.barAge(session, column);
      return {
        severity: 'warning',
        code: 'SILENT_DELISTING',
        message:
          age < Infinity
            ? `${identifier} left on ${date}, because it had no price bar for ${age} sessions of its exchange and no corporate action ended it.`
            : `${identifier}, which was spun off${describeSpinOff(sm, session, column)}, was written off on ${date}, because it had no first price by then.`,
        path: '',
        places: [identifier],
        first_date: date,
        last_date: date,
      };
    });
  const rights = findUnadjustedRights(index).map(({ session, column }): Finding => ({
    severity: 'warning',
    code: 'RIGHTS_NOT_ADJUSTED',
    message: `The rights issue of ${sm.identifiers[column]} on ${formatDay(sm.sessions[session]!)} has no subscription price; no adjustment was made.`,
    path: '',
  }));
  return {
    decisions: sortByRebalance(decisions),
    solves,
    indexExits: listExits(index),
    portfolioExits: listExits(portfolio),
    rights: [...rights, ...reportUnknownRelated(index)],
    jumps: reportJumps({ books: [index, portfolio], after: portfolio.from, currency }),
  };
}

/** Returns the parent and the ex-date of the latest spin-off of a security. */
function describeSpinOff({ actions, identifiers }: Book['sm'], session: number, column: number): string {
  const spinOff = actions.related.findLast(
    ({ action, session: at }) => action.type === 'SPIN_OFF' && action.related === identifiers[column] && at <= session,
  );
  return spinOff === undefined ? '' : ` from ${spinOff.action.identifier} on ${formatDay(spinOff.action.exDay)}`;
}

/**
 * Sorts decision findings by rebalance date. Rebalances are not decided in this order: one that is decided earlier may
 * take effect later.
 */
export function sortByRebalance(decisions: readonly Finding[]): readonly Finding[] {
  return decisions.toSorted((a, b) => compareText(a.first_date ?? '', b.first_date ?? ''));
}

interface ReportedInput {
  /** Findings on market assumptions, reported first. */
  readonly assumptions: readonly Finding[];
  /** Date of the rebalance in force at the start of the run, YYYY-MM-DD. Findings of earlier rebalances are omitted. */
  readonly since: string;
}

/**
 * Returns the findings to report: without duplicates, with recurring rebalance findings merged, and at most
 * `FINDINGS_MAX`, followed by the number of omitted findings.
 */
export function selectReportedFindings(
  { decisions, solves, indexExits, portfolioExits, rights, jumps }: FindingGroups,
  { assumptions, since }: ReportedInput,
): Finding[] {
  const isOfRun = ({ last_date: date }: Finding): boolean => date === undefined || date >= since;
  const atRebalances = [...decisions, ...solves].filter(isOfRun);
  const warnings = new Map<string, Finding>();
  for (const finding of [
    ...assumptions,
    ...mergeRecurring(atRebalances),
    ...indexExits,
    ...portfolioExits,
    ...rights,
    ...jumps,
  ])
    warnings.set(`${finding.code} ${finding.path} ${finding.message}`, finding);
  const findings = [...warnings.values()];
  if (findings.length <= FINDINGS_MAX) return findings;
  const moreFinding: Finding = {
    severity: 'warning',
    code: 'MORE_FINDINGS',
    message: `${findings.length - FINDINGS_MAX} further findings are not listed.`,
    path: '',
  };
  return [...findings.slice(0, FINDINGS_MAX), moreFinding];
}

/** Codes of findings that are merged over all rebalances of a run, because they seldom differ between rebalances. */
const RECURRING_CODES: ReadonlySet<FindingCode> = new Set([
  'NO_WEIGHT_DATA',
  'WEIGHTS_NOT_ONE',
  'RISK_FALLBACK_IDENTITY',
  'CHOICE_NOT_PROVEN',
  'LIMIT_NOT_KEPT',
]);

/**
 * Merges recurring rebalance findings with equal severity, code, path and constraint row, at the position of the first
 * one.
 */
function mergeRecurring(findings: readonly Finding[]): Finding[] {
  const groups = new Map<string, Finding[]>();
  findings.forEach((finding, k) => {
    const { severity, code, path, row_id: row } = finding;
    const groupKey = RECURRING_CODES.has(code) ? `${severity} ${code} ${path} ${row ?? ''}` : String(k);
    groups.set(groupKey, [...(groups.get(groupKey) ?? []), finding]);
  });
  return [...groups.values()].map(mergeGroup);
}

/**
 * Merges the findings of one group into one that states their number, the first and the last date, and the earliest
 * message.
 */
function mergeGroup(group: readonly Finding[]): Finding {
  const first = group.reduce((least, finding) => (finding.first_date! < least.first_date! ? finding : least));
  if (group.length === 1) return first;
  const lastDate = group.reduce((most, { last_date: date }) => (date! > most ? date! : most), '');
  const message = `${group.length} times from ${first.first_date} to ${lastDate}. First: ${first.message}`;
  return { ...first, message, count: group.length, last_date: lastDate };
}

/**
 * Maximum number of securities without a price bar in the places of a finding (`LISTED_SECURITIES_MAX`) and in its
 * message (`LISTED_MAX`).
 */
const LISTED_SECURITIES_MAX = 20;
const LISTED_MAX = 3;

/**
 * Warns if a portfolio holds securities without a price bar at the last close, although their exchange was open and no
 * corporate action ended them. The level then uses earlier prices. The warning may disappear once the data are
 * complete.
 */
export function reportPartialLastSession({ sm, from, length, columns, weights }: Book): Finding[] {
  const last = from + length - 1;
  const names = [...columns].flatMap((column, slot) =>
    weights[(length - 1) * columns.length + slot] !== 0 && sm.barAge(last, column) > 0 && !sm.hasEnded(last, column)
      ? [sm.identifiers[column]!]
      : [],
  );
  if (names.length === 0) return [];
  const list = `${names.slice(0, LISTED_MAX).join(', ')}${names.length > LISTED_MAX ? ' and more' : ''}`;
  const [have, their] = names.length === 1 ? ['1 holding has', 'its'] : [`${names.length} holdings have`, 'their'];
  return [
    {
      severity: 'warning',
      code: 'PARTIAL_DATE',
      message: `${have} no price bar on the last session, ${formatDay(sm.sessions[last]!)}: ${list}. The level carries ${their} earlier price.`,
      path: '',
      count: names.length,
      places: names.slice(0, LISTED_SECURITIES_MAX),
    },
  ];
}

/** Finds rights issues without a subscription price for securities that the book held. */
function findUnadjustedRights(book: Book): Gap[] {
  const { sm } = book;
  return sm.market.adjustment === 'total' ? [] : sm.actions.unpricedRights.filter((one) => isHeldBefore(book, one));
}

function isHeldBefore({ from, length, columns, weights }: Book, { session, column }: Gap): boolean {
  if (session <= from || session >= from + length) return false;
  const slot = columns.indexOf(column);
  return slot >= 0 && weights[(session - 1 - from) * columns.length + slot] !== 0;
}

/** Consequences of actions on a security of which a store has no value, by type. */
const CONSEQUENCES: Readonly<Partial<Record<CorporateAction['type'], string>>> = {
  MERGER: 'its last price was paid instead',
  SPIN_OFF: 'nothing was received',
  TICKER_CHANGE: 'the change was not applied',
};

/** Returns true if an action pays the holders of a security that a merger of the session does not convert. */
const paysInstead = ({ session, column, action }: SessionAction, ended: Gap): boolean =>
  session === ended.session &&
  column === ended.column &&
  (action.type === 'ACQUISITION' || action.type === 'DELISTING') &&
  !action.isUnpriced;

/** Reports actions of held securities that give or name a security of which the store has no value, or which has ended. */
function reportUnknownRelated(book: Book): Finding[] {
  const { sm } = book;
  return listStructuralActions(book).flatMap(({ session, column, action }): Finding[] => {
    const { type, related, value } = action;
    const consequence = CONSEQUENCES[type];
    if (consequence === undefined || !isHeldBefore(book, { session, column })) return [];
    const relatedColumn = related === null ? -1 : sm.columnOf(related);
    // A security that ends on the same session still gives its own payment, and one with a later bar its price.
    const hasEnded = (at: number) => at >= 0 && sm.hasEnded(at, relatedColumn);
    const isEnded = type !== 'TICKER_CHANGE' && relatedColumn >= 0 && hasEnded(session - 1) && hasEnded(session);
    const isKnown = relatedColumn >= 0 && !isEnded;
    const isPaid = type === 'MERGER' && sm.actions.all.some((other) => paysInstead(other, { session, column }));
    const isAdjusted = type === 'SPIN_OFF' && sm.market.adjustment === 'total';
    if (isKnown || isPaid || isAdjusted) return [];
    const [identifier, date] = [sm.identifiers[column]!, formatDay(action.exDay)];
    const security = related ?? 'a security that it does not name';
    const reason = isEnded ? `${related} ended before` : `the store has no value of ${related ?? 'it'}`;
    const event = type === 'TICKER_CHANGE' ? `change to ${security}` : `${value} shares of ${security} per share`;
    return [
      {
        severity: 'warning',
        code: 'ACTION_WITHOUT_PRICE',
        message: `${type} of ${identifier} on ${date}, ${event}: ${reason}, so ${consequence}.`,
        path: '',
        places: [identifier],
        first_date: date,
        last_date: date,
      },
    ];
  });
}

/** Returns the actions on the sessions of a book on which an action changes the composition of a holding, in order. */
function listStructuralActions({ sm: { actions }, from, length }: Book): SessionAction[] {
  const { all, starts, isStructural } = actions;
  const structural: SessionAction[] = [];
  for (let session = from; session < from + length; session++)
    if (isStructural[session] === 1) structural.push(...all.slice(starts[session], starts[session + 1]));
  return structural;
}
