import { isEqual } from '../base/numbers.js';
import type { CrossSection, CrossSections } from '../datapoints/cross-section.js';
import { describeExpression } from '../datapoints/expression-text.js';
import type { RuleDocument } from '../definition/index-document.js';
import type { SessionMarket } from '../market/session-market.js';
import {
  type SelectionTrace,
  createIndexCrossSections,
  type CrossSectionTerms,
  type DecisionInput,
  type DecisionSharing,
} from './rule-decider.js';

/**
 * Maximum number of securities in all cached sections, and in all cached choices: about 50 MB each if rules read three
 * datapoints.
 */
const SECURITIES_MAX = 1 << 20;
/** Maximum number of securities in the sections and choices that are kept between tasks. */
const SHARED_SECURITIES_MAX = 1 << 18;
/** Maximum number of datapoints read by sections that are kept for the next task, up to 64 MB. */
const SHARED_FIELDS_MAX = 32;

/** Kinds of universes that are cached by session. */
const SHARED_UNIVERSES: ReadonlySet<string> = new Set(['all', 'named']);

/** Number of securities that may still be cached. */
interface CacheSpace {
  left: number;
}

/** Results shared by successive tasks. */
export interface SharedDecisions extends DecisionSharing {
  /**
   * Drops cached results between two tasks: sections or choices with more than a quarter of a million securities. Drops
   * all results after more than 32 datapoints have been read. Objects already returned remain valid.
   */
  makeRoom(): void;
}

/**
 * Shares results between decisions of several definitions: the universe of a session and its ranked cross-section. If
 * definitions differ only in caps and floors, it also shares the choices before limits. The first sessions are kept,
 * because every definition starts with them.
 * @param chosenMax maximum number of securities in all cached choices; 0 disables their cache
 */
export function createSharedDecisions(namesMax = SECURITIES_MAX, chosenMax = namesMax): SharedDecisions {
  const fields = new Set<string>();
  let sections = createSectionStore(namesMax);
  let choices = createChoiceStore(chosenMax);
  return {
    makeRoom() {
      const areTooMany = fields.size > SHARED_FIELDS_MAX || namesMax - sections.room.left > SHARED_SECURITIES_MAX;
      if (areTooMany) {
        sections = createSectionStore(namesMax);
        fields.clear();
      }
      if (areTooMany || chosenMax - choices.room.left > SHARED_SECURITIES_MAX) choices = createChoiceStore(chosenMax);
    },
    sectionsOf(terms, reads) {
      for (const { use } of reads) fields.add(describeExpression(use.field));
      const { room, ofTerms } = sections;
      return ofTerms(terms.market, createTermsKey(terms), () => cacheSections(createIndexCrossSections(terms), room));
    },
    universeOf(document, market, ask) {
      // Other universes are not cached: the key of a list is long, and the key of an index depends on the composition
      // of its parent.
      if (!SHARED_UNIVERSES.has(document.universe?.kind ?? 'all')) return ask;
      const key = JSON.stringify([document.universe, document.currency, document.pipeline.treatment]);
      const { room, universes } = sections;
      const cachedUniverses = universes(market, key, () => new Map());
      return (session) => {
        const result = cachedUniverses.get(session) ?? ask(session);
        if (!cachedUniverses.has(session) && result.length <= room.left) {
          cachedUniverses.set(session, result);
          room.left -= result.length;
        }
        return result;
      };
    },
    choicesOf(document, terms) {
      if (chosenMax === 0) return (_, make) => make();
      const key = JSON.stringify([createTermsKey(terms), selectChoiceTerms(document)]);
      const { room, ofRules } = choices;
      return ofRules(terms.market, key, () => createChoiceCache(room));
    },
  };
}

const createSectionStore = (namesMax: number) => ({
  room: { left: namesMax },
  ofTerms: createMarketCache<CrossSections>(),
  universes: createMarketCache<Map<number, Int32Array>>(),
});

const createChoiceStore = (chosenMax: number) => ({
  room: { left: chosenMax },
  ofRules: createMarketCache<(asked: DecisionInput, make: () => SelectionTrace) => SelectionTrace>(),
});

const createTermsKey = ({ treatment, currency, datapoints }: CrossSectionTerms): string =>
  JSON.stringify([treatment, currency, [...(datapoints ?? [])]]);

/** Returns the members of a document that determine a choice in addition to its cross-section. */
function selectChoiceTerms({
  pipeline: { selection, weighting },
  rebalance,
  base_date,
  calendar,
}: RuleDocument): unknown {
  const { type, params, phase_in: phaseIn } = weighting;
  return [selection, type, params, ...(phaseIn === undefined ? [] : [phaseIn, rebalance, base_date, calendar])];
}

function createMarketCache<T>(): (market: SessionMarket, key: string, make: () => T) => T {
  const all = new WeakMap<SessionMarket, Map<string, T>>();
  return (market, key, make) => {
    let byKey = all.get(market);
    if (byKey === undefined) all.set(market, (byKey = new Map()));
    let entry = byKey.get(key);
    if (entry === undefined) byKey.set(key, (entry = make()));
    return entry;
  };
}

function cacheSections(sections: CrossSections, room: CacheSpace): CrossSections {
  const cachedSections = new Map<number, CrossSection>();
  return {
    latest: sections.latest,
    stated: sections.stated,
    at(session, universe) {
      const crossSection = cachedSections.get(session);
      if (crossSection !== undefined && isEqual(crossSection.universe, universe)) return crossSection;
      const section = sections.at(session, universe);
      if (crossSection === undefined && universe.length <= room.left) {
        cachedSections.set(session, section);
        room.left -= universe.length;
      }
      return section;
    },
  };
}

function createChoiceCache(room: CacheSpace): (asked: DecisionInput, make: () => SelectionTrace) => SelectionTrace {
  const cachedChoices = new Map<number, { readonly asked: DecisionInput; readonly choice: SelectionTrace }>();
  return (decisionInput, make) => {
    const cachedChoice = cachedChoices.get(decisionInput.session);
    if (cachedChoice !== undefined && isSame(cachedChoice.asked, decisionInput)) return cachedChoice.choice;
    const choice = make();
    if (cachedChoice === undefined && decisionInput.universe.length <= room.left) {
      cachedChoices.set(decisionInput.session, { asked: decisionInput, choice: removeParts(choice) });
      room.left -= decisionInput.universe.length;
    }
    return choice;
  };
}

/**
 * Removes the parts of raw weights, because they keep a covariance in memory. Only explanations need the parts, and
 * explanations share no results.
 */
function removeParts(choice: SelectionTrace): SelectionTrace {
  if (choice.raw?.kind !== 'weighed') return choice;
  const { parts: _parts, ...raw } = choice.raw;
  return { ...choice, raw };
}

function isSame(a: DecisionInput, b: DecisionInput): boolean {
  if (!isEqual(a.universe, b.universe)) return false;
  if (a.incumbents === null || b.incumbents === null) return a.incumbents === b.incumbents;
  return isEqual(a.incumbents, b.incumbents);
}
