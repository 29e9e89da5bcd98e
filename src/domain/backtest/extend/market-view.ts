import type { IndexDocument } from '../../documents/index-document.js';
import { isInAnyText } from '../../documents/amended-texts.js';
import { alignMarkedMarket } from '../../market/marked-market.js';
import type { SessionMarket } from '../../market/session-market.js';
import { findLastAtMost } from '../../numbers/search.js';
import { readDefaultStaleSessions, applyStoreDefaults } from '../../documents/stale-sessions.js';
import { readTreatment, type IndexContext, type SimulatedIndex } from './checkpoint.js';
import type { Composer } from '../../books/compositions.js';
import type { DueRebalance } from '../../books/due-rebalances.js';
import { listDueAfterUnderTexts } from '../../books/due-under-texts.js';
import { CannotResumeError } from '../../documents/full-run-reasons.js';
import { findLastPriced } from '../compute-run.js';
import { checkRequestedRange, type RequestedRange } from '../../books/window.js';
import type { ResumeRunInput, IndexContinuation } from './continuation.js';
import { type DueInput, decideDue, type CalendarLookBack, composeWithinLookBack } from './due-decisions.js';

/** Market from the last simulated sessions of a run's indices, and the decisions made on it. */
export interface MarketView {
  readonly range: RequestedRange;
  contextOf(indexId: string): IndexContext;
  spanOf(indexId: string): Span;
  decided(indexId: string): Pick<IndexContinuation, 'composed' | 'findings'>;
  /**
   * Runs `work` with a composer on the market within the look-back. If `work` reads earlier data, runs it again on the
   * whole market.
   */
  composing<T>(looks: readonly CalendarLookBack[], work: (composer: Composer) => T): T;
  /** Every index on which the run depends, with its decisions. */
  readonly reached: readonly SimulatedIndex[];
}

/** Sessions of an index extension: last simulated session and last new session. */
interface Span {
  readonly from: number;
  readonly to: number;
}

export function createMarketView(input: ResumeRunInput): MarketView {
  const {
    plan: { documents, indexId, request },
    checkpoint,
    market,
  } = input;
  const ids = [...checkpoint.recent.keys()];
  const isByStore = ids.some((id) =>
    isInAnyText(documents[id]!, ({ pipeline }) => pipeline?.treatment.max_stale_sessions === undefined),
  );
  if (isByStore && readDefaultStaleSessions(market) !== checkpoint.staleSessions)
    throw new CannotResumeError('default_changed');
  const markedMarkets = listMarkedMarkets(input);
  const findSessionMarket = (id: string) => markedMarkets.get(documents[id]!.calendar)!;
  const main = findSessionMarket(indexId);
  const range = checkRequestedRange({
    document: documents[indexId]!,
    calendar: main.calendar,
    dates: market.dates,
    request,
  });
  const from = main.mark!.session;
  const last = findLastAtMost(main.sessions, range.end);
  const to = last <= from ? from : findLastPriced(main, last);
  if (to <= from) throw new CannotResumeError('no_new_session');
  const day = main.sessions[to]!;
  const computeSpan = (id: string): Span => ({
    from: findSessionMarket(id).mark!.session,
    to: findLastAtMost(findSessionMarket(id).sessions, day),
  });
  const resumedIndices = new Map(
    ids.map((id) => {
      const { first, list, memory } = checkpoint.recent.get(id)!;
      return [
        id,
        {
          first,
          before: list,
          memory,
          due: listDueRebalances(documents[id]!, findSessionMarket(id), { first, ...computeSpan(id) }),
        },
      ];
    }),
  );
  const due: DueInput = { marked: markedMarkets, resumed: resumedIndices, day };
  const compositionsById = decideDue(input, due);
  return {
    range,
    spanOf: computeSpan,
    composing: (looks, work) => composeWithinLookBack(input, due, { looks, work }),
    contextOf(id) {
      const document = documents[id]!;
      const outsideMergers = isInAnyText(document, ({ events }) => events?.acquirer === 'remove')
        ? composeWithinLookBack(input, due, { looks: [], work: (composer) => composer.outsideMergers(id) })
        : undefined;
      return {
        document,
        treatment: applyStoreDefaults(readTreatment(documents, id, input.calendars), market),
        sm: findSessionMarket(id),
        outside: outsideMergers,
      };
    },
    decided(id) {
      const entry = compositionsById.get(id);
      return entry === undefined ? NO_DECISIONS : { composed: entry.list, findings: entry.findings };
    },
    reached: ids.map((id) => {
      const { first, before, memory } = resumedIndices.get(id)!;
      const result = compositionsById.get(id) ?? { list: [], memory };
      return {
        document: documents[id]!,
        sm: findSessionMarket(id),
        first,
        list: [...before, ...result.list],
        memory: result.memory,
        to: computeSpan(id).to,
      };
    }),
  };
}

/** Returns the market by calendar, from the state that the checkpoint stores. */
function listMarkedMarkets({ checkpoint, calendars, market }: ResumeRunInput): ReadonlyMap<string, SessionMarket> {
  return new Map(
    Array.from(checkpoint.marks, ([code, mark]) => {
      // plans with an unknown calendar are not queued
      const calendar = calendars.get(code)!;
      return [code, alignMarkedMarket({ market, calendar, calendars, mark })];
    }),
  );
}

const NO_DECISIONS: Pick<IndexContinuation, 'composed' | 'findings'> = { composed: [], findings: [] };

/**
 * Returns the rebalances that are due on the new sessions.
 * @throws CannotResumeError if nothing traded on a due session, so that the rebalance is priced from a session that was
 * simulated before
 */
function listDueRebalances(
  document: IndexDocument,
  sm: SessionMarket,
  { first, from, to }: Span & { readonly first: number },
): DueRebalance[] {
  const due =
    to === from ? [] : listDueAfterUnderTexts(document, sm, { first: Math.max(first, from), after: from, last: to });
  if (due.some(({ session }) => session <= from)) throw new CannotResumeError('rebalance');
  return due;
}
