import { createExchangeRates } from '../market/exchange-rates.js';
import type { SessionMarket } from '../market/session-market.js';
import { readPriceSessions } from '../documents/stale-sessions.js';
import { findTreatment } from '../documents/treatment.js';
import { listEvents, type EventTerms } from './book-events.js';
import { findKnownSession, isReview, restoreDecided, type Composer, type Composition } from './compositions.js';
import { createIndexTerms } from './index-run.js';

/** Constituents with their weights. */
type Constituents = Pick<Composition, 'columns' | 'weights' | 'uncapped'>;

interface KnownComposition {
  readonly indexId: string;
  readonly composition: Composition;
}

/**
 * Returns a composition as known on a session. Before its effective session this is the decision; prices and exits have no
 * effect on it. A constituent that has merged into another security, or changed its ticker, is replaced by that
 * security, as it is in the index.
 */
export function restoreOnSession(
  composer: Pick<Composer, 'document' | 'market' | 'treatment' | 'outsideMergers'>,
  { indexId, composition }: KnownComposition,
  session: number,
): Composition {
  const isPending = composition.session > session;
  const restored = isPending ? { ...composition, ...restoreDecided(composition) } : composition;
  const from = isPending ? composition.decision : composition.session;
  const sm = composer.market(indexId);
  const sessions = listSessionsWithSuccessors(sm, restored.columns, { from, to: session });
  if (sessions.length === 0) return restored;
  const document = composer.document(indexId);
  const treatment = composer.treatment(indexId);
  const terms: EventTerms = {
    sm,
    treatment,
    growth: createIndexTerms({ treatment, document }, 'price'),
    rates: createExchangeRates(sm, document.currency),
    outside: composer.outsideMergers(indexId),
  };
  const successors = new Map(sessions.flatMap((one) => listSuccessors(terms, one, session)));
  return { ...restored, ...replaceConstituents(restored, successors) };
}

/**
 * Returns the incumbents of a decision: the columns of the latest composition that took effect before its session, or of
 * a later one that a review has decided already.
 * @param known compositions before the decision, ascending
 */
export function findIncumbents(
  composer: Parameters<typeof restoreOnSession>[0],
  { indexId, known }: { readonly indexId: string; readonly known: readonly Composition[] },
  session: number,
): Int32Array | null {
  const composition = known.findLast(
    (one) => one.session < session || (isReview(one) && findKnownSession(one) <= session),
  );
  return composition === undefined ? null : restoreOnSession(composer, { indexId, composition }, session).columns;
}

/** Returns the sessions after one session, up to another, with an action that may replace a constituent, ascending. */
function listSessionsWithSuccessors(
  sm: SessionMarket,
  columns: Int32Array,
  { from, to }: { readonly from: number; readonly to: number },
): number[] {
  const replaced = new Set<number>(columns);
  const sessions = new Set<number>();
  for (const { session, column, action } of sm.actions.related) {
    if (session <= from || session > to || !replaced.has(column)) continue;
    if (action.type !== 'MERGER' && action.type !== 'TICKER_CHANGE') continue;
    replaced.add(sm.columnOf(action.related!));
    sessions.add(session);
  }
  return [...sessions];
}

/** Returns the securities into which others convert by actions of one session, as known on a later session. */
function listSuccessors(terms: EventTerms, session: number, known: number): [number, number][] {
  const { sm } = terms;
  const conversions = [...(listEvents(terms, session)?.conversions ?? [])].map(([from, to]): [number, number] => [
    from,
    to,
  ]);
  const staleMax = readPriceSessions(findTreatment(terms.treatment, sm.sessions[known]!));
  for (const { session: at, column, action } of sm.actions.related) {
    const related = sm.columnOf(action.related!);
    const isRenamed = at === session && action.type === 'TICKER_CHANGE' && related >= 0 && related !== column;
    if (isRenamed && sm.hasEnded(known, column) && sm.isPriceable(known, related, staleMax))
      conversions.push([column, related]);
  }
  return conversions;
}

function replaceConstituents(
  { columns, weights, uncapped }: Pick<Composition, 'columns' | 'weights'> & Partial<Constituents>,
  successors: ReadonlyMap<number, number>,
): Partial<Constituents> & Pick<Constituents, 'columns' | 'weights'> {
  const findLastSuccessor = (column: number): number => {
    let last = column;
    for (let step = 0; step < successors.size && successors.has(last); step++) last = successors.get(last)!;
    return last;
  };
  const staying = Int32Array.from(new Set(columns.map(findLastSuccessor))).toSorted();
  const collect = (values: Float64Array): Float64Array => {
    const collected = new Float64Array(staying.length);
    columns.forEach((column, k) => (collected[staying.indexOf(findLastSuccessor(column))]! += values[k]!));
    return collected;
  };
  return {
    columns: staying,
    weights: collect(weights),
    ...(uncapped === undefined ? {} : { uncapped: collect(uncapped) }),
  };
}
