import { listTexts } from '../../documents/amended-texts.js';
import { readPriceSessions } from '../../documents/stale-sessions.js';
import type { Day } from '../../time/days.js';
import {
  isDerivedDocument,
  isRuleDocument,
  type DerivedDocument,
  type IndexDocument,
  type RuleDocument,
} from '../../documents/index-document.js';
import { findReview } from '../../documents/reviews.js';
import type { DueRebalance } from '../../books/due-rebalances.js';
import type { MarketData } from '../../market/market-data.js';
import { alignMarkedMarket } from '../../market/marked-market.js';
import { BeforeMarketError, markWindow, type SessionMarket } from '../../market/session-market.js';
import { computeDerivedLookBack } from '../../optimisation/derived/derived-look-back.js';
import { computeLookBack, type LookBack } from '../../rules/look-back.js';
import { readTreatment } from './checkpoint.js';
import type { DecisionMemory } from '../../books/decider.js';
import type { ResumedIndex, Composer, Composition, Compositions } from '../../books/compositions.js';
import { createComposer } from '../../books/create-composer.js';
import type { BacktestPlan } from '../../documents/backtest-plan.js';
import type { ResumeRunInput } from './continuation.js';

export interface DueInput {
  /** Market from the last simulated sessions on, by calendar code. */
  readonly marked: ReadonlyMap<string, SessionMarket>;
  readonly resumed: ReadonlyMap<string, ResumedIndex>;
  readonly day: Day;
}

/** Decides the due rebalances of all indices. Returns the compositions by index id; empty if no rebalance is due. */
export function decideDue(input: ResumeRunInput, due: DueInput): ReadonlyMap<string, Compositions> {
  const ids = [...due.resumed.keys()];
  if ([...due.resumed.values()].every((index) => index.due.length === 0)) return new Map();
  return composeWithinLookBack(input, due, {
    looks: listLooks(input, due),
    work: (composer) => new Map(ids.map((id) => [id, composer.compositions(id)])),
  });
}

/** Look-back of a decision on one calendar. */
export interface CalendarLookBack {
  readonly code: string;
  readonly lookBack: LookBack;
}

/** Returns the look-backs of all due decisions. */
function listLooks({ plan: { documents } }: ResumeRunInput, { marked, resumed }: DueInput): CalendarLookBack[] {
  return [...resumed].flatMap(([id, { due, memory, before }]) =>
    due.flatMap((rebalance): CalendarLookBack[] => {
      const { decision } = rebalance;
      const { document } = listTexts(documents[id]!)[rebalance.amendment ?? 0]!;
      const sm = marked.get(document.calendar)!;
      const holdingLooks = listHoldingsLookBack(document, rebalance, { sessions: sm.sessions, before });
      if (isRuleDocument(document)) {
        const reviewDocument = findReview(document, rebalance.review).document as RuleDocument; // only a review of a rule-based index has rules
        const reviewLook = {
          code: document.calendar,
          lookBack: computeLookBack({ document: reviewDocument, sm, decision }),
        };
        return [reviewLook, ...holdingLooks];
      }
      if (!isDerivedDocument(document)) return [];
      const { source_index_id: parentId } = document.derivation;
      const parents = resumed.get(parentId)!.before;
      return [computeSolveLook({ documents, marked, document, decision, parents, memory }), ...holdingLooks];
    }),
  );
}

interface HoldingsLookBackInput extends Pick<ResumedIndex, 'before'> {
  readonly sessions: Int32Array;
}

/**
 * Returns the look-back of a rebalance that depends on the holdings of its index. The look-back begins at the
 * composition in force. Returns an empty list for all other rebalances.
 */
function listHoldingsLookBack(
  document: IndexDocument,
  rebalance: DueRebalance,
  { sessions, before }: HoldingsLookBackInput,
): CalendarLookBack[] {
  const latestComposition = before.at(-1);
  const isPlain = rebalance.phase === undefined && findReview(document, rebalance.review).scope === 'membership';
  if (isPlain || latestComposition === undefined) return [];
  const { session } = latestComposition;
  return [{ code: document.calendar, lookBack: { session, paidAfter: sessions[session]! - 1 } }];
}

interface SolverLookBackInput extends Pick<DueInput, 'marked'>, Pick<BacktestPlan, 'documents'> {
  readonly document: DerivedDocument;
  readonly decision: number;
  readonly parents: readonly Pick<Composition, 'decision'>[];
  readonly memory: DecisionMemory | null;
}

/** Returns the look-back of an optimisation, on the calendar of its target index. */
export function computeSolveLook({ documents, marked, document, ...solve }: SolverLookBackInput): CalendarLookBack {
  const { source_index_id: parentId } = document.derivation;
  const { calendar: code } = documents[parentId]!;
  const maxStaleSessions = readPriceSessions(readTreatment(documents, parentId));
  return {
    code,
    lookBack: computeDerivedLookBack({ ...solve, document, maxStaleSessions, sessions: marked.get(code)!.sessions }),
  };
}

interface ComposingWork<T> {
  readonly looks: readonly CalendarLookBack[];
  readonly work: (composer: Composer) => T;
}

/** Runs `work` on the market within the look-back, or on the whole market if `work` reads earlier data. */
export function composeWithinLookBack<T>(
  input: ResumeRunInput,
  { marked, resumed, day }: DueInput,
  { looks, work }: ComposingWork<T>,
): T {
  const {
    plan: { documents },
    calendars,
    models,
    createDecider,
    report,
  } = input;
  const runOnMarket = (market: MarketData, aligned?: ReadonlyMap<string, SessionMarket>): T => {
    const reportFraction = (fraction: number): void => report(0.2 * fraction, 'deciding compositions');
    return work(
      createComposer({
        market,
        calendars,
        documents,
        models,
        until: day,
        createDecider,
        resumed,
        tick: reportFraction,
        ...(aligned ? { aligned } : {}),
      }),
    );
  };
  const lookBackMarket = selectMarketInLookBack(input, { marked, looks });
  if (lookBackMarket !== null) {
    try {
      return runOnMarket(lookBackMarket.market, lookBackMarket.aligned);
    } catch (error) {
      if (!(error instanceof BeforeMarketError)) throw error;
    }
  }
  return runOnMarket(input.wholeMarket());
}

/** Returns the market from the start of the look-backs. Returns null if that is the whole market. */
function selectMarketInLookBack(
  { calendars, checkpoint, marketSince }: ResumeRunInput,
  { marked, looks }: Pick<DueInput, 'marked'> & { readonly looks: readonly CalendarLookBack[] },
) {
  const first = new Map<string, number>();
  for (const {
    code,
    lookBack: { session },
  } of looks)
    first.set(code, Math.min(first.get(code) ?? marked.get(code)!.mark!.session, session));
  if ([...first.values()].some((session) => session <= 0)) return null;
  const market = marketSince(Math.min(...looks.map(({ lookBack }) => lookBack.paidAfter)));
  const alignedMarkets = new Map(marked);
  for (const [code, session] of first) {
    const calendar = calendars.get(code)!; // every aligned market has a calendar
    alignedMarkets.set(
      code,
      alignMarkedMarket({
        market,
        calendar,
        calendars,
        mark: markWindow({ market, calendar, session, later: checkpoint.marks.get(code)! }),
      }),
    );
  }
  return { market, aligned: alignedMarkets };
}
