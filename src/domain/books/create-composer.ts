import { createAmendedComposer } from './amended-composer.js';
import { composePending } from './announced-composition.js';
import { findDecider } from './decided-by.js';
import { findLastAtMost } from '../numbers/search.js';
import type { Calendars } from '../calendars/calendar.js';
import type { Day } from '../time/days.js';
import { isOverlayDocument, type IndexDocument } from '../documents/index-document.js';
import { listTexts } from '../documents/amended-texts.js';
import { readNotice } from '../documents/reviews.js';
import { applyStoreDefaults } from '../documents/stale-sessions.js';
import { resolveTreatment, type DatedTreatment } from '../documents/treatment.js';
import type { MarketData } from '../market/market-data.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import type { StoredModel, StoredModels } from '../risk/stored-model.js';
import type { Decider } from './decider.js';
import { openMarketOn } from './open-market-on.js';
import { computeCompositions, composeOnMarket } from './compose.js';
import { composeOverlay } from './overlay-compositions.js';
import { createSeats, type DatedMarkets } from './decision-seats.js';
import { findIncumbents, restoreOnSession } from './successors.js';
import type { OutsideMergers } from './merger-key.js';
import { findOutsideMergers } from './outside-mergers.js';
import { createMembershipReader, listUniverseMembers, findUniverse } from './find-universe.js';
import {
  type Composition,
  type Compositions,
  type Composer,
  type ResumedIndex,
  type DeciderFactory,
  findKnownSession,
} from './compositions.js';

export interface ComposerInput {
  readonly market: MarketData;
  readonly calendars: Calendars;
  /** Documents by id: the index, and every document that it refers to. */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  /** Stored risk models that the documents use; absent if there are none. */
  readonly models?: StoredModels | undefined;
  /** Last day with known data. */
  readonly until: Day;
  /** Creates the decider of a document; called once per version of an index definition and per review. */
  readonly createDecider: DeciderFactory;
  /** Aligned markets by calendar. The composer uses them instead of the result of `openMarketOn`. */
  readonly aligned?: ReadonlyMap<string, SessionMarket>;
  /** Known compositions by index; they are not decided again. */
  readonly resumed?: ReadonlyMap<string, ResumedIndex>;
  /** Market as known at each decision. Default: `market`. */
  readonly known?: DatedMarkets | undefined;
  /** Reports progress between decisions; throws to cancel the work. */
  readonly tick?: (fraction: number) => void;
}

export function createComposer({
  market,
  calendars,
  documents,
  models = refuseMissingModel,
  until,
  createDecider,
  aligned: given,
  resumed,
  known,
  tick,
}: ComposerInput): Composer {
  const byId = new Map(Object.entries(documents));
  const deciders = new Map<string, Decider>();
  /** Deciders of the latest decisions, by index. */
  const latestDeciders = new Map<string, Decider>();
  const compositionsById = new Map<string, Compositions>();
  const pendingByKey = new Map<string, readonly Composition[]>();
  const runningIds = new Set<string>();
  const outsideMergersById = new Map<string, OutsideMergers | undefined>();
  const treatments = new Map<string, DatedTreatment>();
  const readMembers = createMembershipReader(market);

  const composer: Composer = {
    document(indexId) {
      const document = byId.get(indexId);
      if (!document) throw new Error(`the plan lacks the document ${indexId}`);
      return document;
    },
    market(indexId) {
      const { calendar: code } = composer.document(indexId);
      return given?.get(code) ?? openMarketOn({ market, calendars, code });
    },
    treatment(indexId) {
      const treatment =
        treatments.get(indexId) ??
        applyStoreDefaults(resolveTreatment(composer.document(indexId), composer.document, calendars)!, market);
      treatments.set(indexId, treatment);
      return treatment;
    },
    universe: (indexId, session) => findUniverse(composer, readMembers, { indexId, session }),
    under: (indexId, amendment) =>
      createAmendedComposer(composer, listTexts(composer.document(indexId))[amendment]!, readMembers),
    members: (indexId, session) => listUniverseMembers(composer, readMembers, { indexId, session }),
    outsideMergers(indexId) {
      if (!outsideMergersById.has(indexId)) outsideMergersById.set(indexId, findOutsideMergers(composer, indexId));
      return outsideMergersById.get(indexId);
    },
    decider(indexId, dueText) {
      const { key, text, document } = findDecider(composer.document(indexId), dueText);
      let decider = deciders.get(key);
      if (!decider)
        deciders.set(key, (decider = createDecider(document, createAmendedComposer(composer, text, readMembers))));
      latestDeciders.set(indexId, decider);
      return decider;
    },
    compositions(indexId) {
      let result = compositionsById.get(indexId);
      if (result) return result;
      if (runningIds.has(indexId))
        throw new Refusal(
          'VALIDATION_FAILED',
          `The index ${indexId} refers to itself through its universe or derivation.`,
        );
      runningIds.add(indexId);
      result = composeIndex(indexId);
      runningIds.delete(indexId);
      compositionsById.set(indexId, result);
      return result;
    },
    decidedOn(indexId, session) {
      const known = [...listKnown(indexId), ...listPending(indexId, session)];
      const composition = known.findLast((one) => findKnownSession(one) <= session);
      return composition && restoreOnSession(composer, { indexId, composition }, session);
    },
    memory: (indexId) => resumed?.get(indexId)?.memory ?? null,
    knownBefore(indexId, session) {
      const pending = listPending(indexId, session);
      const next = pending.findIndex((one) => findKnownSession(one) >= session);
      return [...listKnown(indexId), ...pending.slice(0, next < 0 ? pending.length : next)];
    },
    incumbents(indexId, session) {
      const known = composer
        .knownBefore(indexId, session)
        .filter((one) => one.session < session || findKnownSession(one) < session);
      return findIncumbents(composer, { indexId, known }, session);
    },
    riskModel: models,
    composed: () => [...compositionsById.values()],
    seatOf: (indexId, session) => seats?.of(indexId, session) ?? { composer, session },
    left: (indexId) =>
      seats ? seats.memory(indexId) : ((latestDeciders.get(indexId) ?? composer.decider(indexId)).memory?.() ?? null),
  };
  const listKnown = (indexId: string): readonly Composition[] => {
    const { list } = composer.compositions(indexId);
    return [...(resumed?.get(indexId)?.before ?? []), ...list];
  };
  const listPending = (indexId: string, session: number): readonly Composition[] => {
    const { sm, overlay } = composer.compositions(indexId);
    const last = findLastAtMost(sm.sessions, until);
    // Only decisions within the longest notice period before the last session can be pending.
    if (overlay !== undefined || session < last - readLongestNotice(composer.document(indexId))) return [];
    const key = `${indexId} ${session}`;
    const pending =
      pendingByKey.get(key) ??
      composePending(composer, { indexId, last, decided: Math.min(session, last), known: listKnown(indexId) });
    pendingByKey.set(key, pending);
    return pending;
  };
  const seats = known && createSeats({ composer, known, calendars, createDecider });
  const composeIndex = (indexId: string): Compositions => {
    const document = composer.document(indexId);
    if (isOverlayDocument(document)) return composeOverlay(composer, document, until);
    const resumedIndex = resumed?.get(indexId);
    return resumedIndex === undefined
      ? computeCompositions(composer, { indexId, until, tick })
      : composeOnMarket(composer, { indexId, known: resumedIndex, tick });
  };
  return composer;
}

function refuseMissingModel(modelId: string): StoredModel {
  throw new Error(`the plan lacks the risk model ${modelId}`);
}

const readLongestNotice = (document: IndexDocument): number =>
  Math.max(...listTexts(document).map((text) => readNotice(text.document)));
