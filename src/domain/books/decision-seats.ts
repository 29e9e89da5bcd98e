import { createAmendedComposer } from './amended-composer.js';
import { findDecider } from './decided-by.js';
import { findBreachRule } from '../compliance/breach-watch.js';
import type { Calendars } from '../calendars/calendar.js';
import type { Day } from '../time/days.js';
import { changesMembers } from '../documents/events-spec.js';
import { isInAnyText } from '../documents/amended-texts.js';
import type { IndexDocument } from '../documents/index-document.js';
import type { MarketData } from '../market/market-data.js';
import { findLastAtMost } from '../numbers/search.js';
import { Refusal } from '../refusals/refusal.js';
import type { Composer, DeciderFactory, DecisionData } from './compositions.js';
import type { Decider, DecisionMemory } from './decider.js';
import { hasAnyBar } from './due-rebalances.js';
import { openMarketOn } from './open-market-on.js';
import { createMembershipReader, listUniverseMembers, findUniverse } from './find-universe.js';

/** Market data as known at the end of each day. */
export interface DatedMarkets {
  /**
   * Returns the data known at the end of a day. Its securities are the first securities of the latest version, and its
   * first date is the same, so columns and sessions agree.
   * @throws Refusal NO_DATA_KNOWN
   */
  at(day: Day): MarketData;
}

/**
 * Refuses an index with breach-triggered rebalances or changes of constituents between reviews. The session of such a
 * change depends on levels, and levels include every later correction.
 * @throws Refusal LOOK_AHEAD
 */
export function assertScheduled(documents: Readonly<Record<string, IndexDocument>>): void {
  const changingDocument = Object.values(documents).find((document) =>
    isInAnyText(document, ({ events }) => changesMembers(events)),
  );
  if (changingDocument !== undefined) {
    const message = `Constituents of the index ${changingDocument.id} change between reviews. Such changes are found in the current data, so its decisions cannot use only the data known at the time.`;
    throw new Refusal('LOOK_AHEAD', message, { index_id: changingDocument.id });
  }
  const documentWithBreachRule = Object.values(documents).find((document) =>
    isInAnyText(document, ({ pipeline }) => findBreachRule(pipeline?.treatment) !== null),
  );
  if (documentWithBreachRule === undefined) return;
  const message = `The index ${documentWithBreachRule.id} is rebalanced on breaches of a rule. Breaches are found in the current data, so its decisions cannot use only the data known at the time.`;
  throw new Refusal('LOOK_AHEAD', message, { index_id: documentWithBreachRule.id });
}

/** Data versions on which decisions are made: the data known at each decision. */
export interface DecisionVersions {
  of(indexId: string, session: number): DecisionData;
  /** Returns the decider state after the latest decision of an index. */
  memory(indexId: string): DecisionMemory | null;
}

export interface DecisionVersionsInput {
  /** Composer on the data from which levels are computed. Earlier decisions come from it. */
  readonly composer: Composer;
  readonly known: DatedMarkets;
  readonly calendars: Calendars;
  readonly createDecider: DeciderFactory;
}

/** Composer on the data version for the decisions of one index. */
interface VersionComposer {
  readonly composer: Composer;
  /** Day of the decision. */
  decided: Day;
  /** Last day on or before `decided` with any known price bar. */
  known: Day;
}

/** One version of the data, with one composer for the decisions of each index. */
interface DataVersion {
  readonly market: MarketData;
  seatOf(indexId: string): VersionComposer;
}

/**
 * Creates the data versions for decisions. The state of each decider passes from one version of the data to the next.
 */
export function createSeats({ composer, known, calendars, createDecider }: DecisionVersionsInput): DecisionVersions {
  /** Deciders of the latest decisions, by index. */
  const latestDeciders = new Map<string, Decider>();
  let dataVersion: DataVersion | undefined;

  function createDataVersion(market: MarketData): DataVersion {
    const results = new Map<string, VersionComposer>();
    const readMembers = createMembershipReader(market);
    return {
      market,
      // Each index has its own composer, because its decision may depend on another index that is not composed yet on
      // this version.
      seatOf(indexId) {
        const seat = results.get(indexId) ?? createSeat(market, readMembers);
        results.set(indexId, seat);
        return seat;
      },
    };
  }

  function createSeat(market: MarketData, membersOf: ReturnType<typeof createMembershipReader>): VersionComposer {
    const deciders = new Map<string, Decider>();
    const versionComposer: Composer = {
      ...composer,
      market: (indexId) => openMarketOn({ market, calendars, code: composer.document(indexId).calendar }),
      universe: (indexId, session) => findUniverse(versionComposer, membersOf, { indexId, session }),
      members: (indexId, session) => listUniverseMembers(versionComposer, membersOf, { indexId, session }),
      decider(indexId, dueText) {
        const { key, text, document } = findDecider(composer.document(indexId), dueText);
        let decider = deciders.get(key);
        if (!decider)
          deciders.set(
            key,
            (decider = createDecider(document, createAmendedComposer(versionComposer, text, membersOf))),
          );
        latestDeciders.set(indexId, decider);
        return decider;
      },
      decidedOn(indexId, session) {
        const { sessions } = composer.market(indexId);
        // On the last known session the decision day replaces the session. Earlier sessions are unchanged.
        const isLast = session >= findLastAtMost(sessions, seat.known);
        const result = composer.decidedOn(indexId, isLast ? findLastAtMost(sessions, seat.decided) : session);
        return result && { ...result, decision: Math.min(result.decision, session) };
      },
      memory: seats.memory,
      seatOf: (_, session) => ({ composer: versionComposer, session }),
    };
    const seat: VersionComposer = { composer: versionComposer, decided: -Infinity, known: -Infinity };
    return seat;
  }

  const seats: DecisionVersions = {
    of(indexId, decision) {
      const { sessions } = composer.market(indexId);
      const market = known.at(sessions[decision]!);
      if (dataVersion?.market !== market) dataVersion = createDataVersion(market);
      const seat = dataVersion.seatOf(indexId);
      const session = findLastVersion(seat.composer, { indexId, session: decision });
      seat.decided = sessions[decision]!;
      seat.known = sessions[session]!;
      return { composer: seat.composer, session };
    },
    memory: (indexId) => latestDeciders.get(indexId)?.memory?.() ?? composer.memory(indexId),
  };
  return seats;
}

interface RequestedSession {
  readonly indexId: string;
  readonly session: number;
}

/** Returns the last session at or before the requested session with any known price bar. */
function findLastVersion(composer: Composer, { indexId, session }: RequestedSession): number {
  const sm = composer.market(indexId);
  let last = Math.min(session, sm.sessions.length - 1);
  while (last > 0 && !hasAnyBar(sm, last)) last--;
  return last;
}
