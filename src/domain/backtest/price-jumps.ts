import type { Book } from '../books/book.js';
import { describeJump } from '../index-mathematics/jump-text.js';
import {
  computeUnexplainedGrowth,
  isOrdinaryMove,
  isReportedJump,
  type CloseStep,
} from '../index-mathematics/unexplained-growth.js';
import { createExchangeRates, type ExchangeRates } from '../market/exchange-rates.js';
import { readReference, type CorporateAction } from '../market/market-data.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import { findFirstAtLeast } from '../numbers/search.js';
import type { Finding } from '../refusals/findings.js';
import { formatDay } from '../time/days.js';

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
export function reportJumps({ books, after, currency }: JumpInput): Finding[] {
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
  const close = sm.market.fields.get('CLOSE')!;
  const lastBars = Int32Array.from(columns, (column) => sm.lastBar[readPanelRow(sm, start) + column]!);
  const lastCloses = Float64Array.from(columns, (column, slot) =>
    lastBars[slot]! < 0 ? Number.NaN : sm.closeAt(lastBars[slot]!, column),
  );
  const jumps: Jump[] = [];
  for (let session = start + 1; session < from + length; session++) {
    const { cells, from: row } = sm.rows.read(close, session);
    if (row < 0) continue;
    const held = (session - 1 - from) * columns.length;
    for (let slot = 0; slot < columns.length; slot++) {
      const column = columns[slot]!;
      const price = cells[row + column]!;
      if (price !== price) continue;
      const [last, bar] = [lastCloses[slot]!, lastBars[slot]!];
      lastCloses[slot] = price;
      lastBars[slot] = session;
      if (last !== last || weights[held + slot] === 0) continue;
      const hasAction = sm.actions.starts[bar] !== sm.actions.starts[session + 1];
      if (!hasAction && isOrdinaryMove(last, price)) continue;
      const finding = judgeMove({ sm, column, bar, session, before: last, close: price }, rates);
      if (finding !== undefined) jumps.push({ session, column, finding });
    }
  }
  return [...jumps, ...listRenamedJumps(book, start, rates)];
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

function judgeMove(
  { sm, column, bar, session, before, close, renaming }: Move,
  rates: ExchangeRates,
): Finding | undefined {
  const readDay = (ofSession: number, of: number) => sm.rows.dayOf(sm.market.fields.get('CLOSE')!, ofSession, of);
  const priced = renaming?.priced ?? column;
  const [fromDay, toDay] = [readDay(bar, column), readDay(session, priced)];
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
    before: rates.convert(before, { column, stated: fromDay, wanted: toDay, session }),
    close,
    actions: actions.toSorted((a, b) => a.exDay - b.exDay),
    adjustment: sm.market.adjustment,
    findRelatedPrice: createRelatedPrices(sm, session),
    fromDay,
    toDay,
    ...(renaming === undefined ? {} : { renamedTo: identifier }),
  };
  const growth = computeUnexplainedGrowth(step);
  if (!isReportedJump(step, growth)) return undefined;
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
