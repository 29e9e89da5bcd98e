import { isEqual } from '../backtest/numbers.js';
import type { SessionMarket } from '../market/session-market.js';
import { crossSectionsOf, type CrossSectionTerms } from './decide.js';
import type { CrossSection, CrossSections } from './datapoints/cross-section.js';

/** Names of all sections that are kept, counted together: some 50 MB where rules read three datapoints. */
const NAMES_MAX = 1 << 20;

/**
 * Cross-sections that several definitions read: a datapoint that the decision of one has read and ranked on a session
 * is there for the same decision of the next. The first sessions are kept, as definitions begin anew with them.
 */
export function sharedSections(namesMax = NAMES_MAX): (terms: CrossSectionTerms) => CrossSections {
  const byMarket = new WeakMap<SessionMarket, Map<string, CrossSections>>();
  return (terms) => {
    let byTerms = byMarket.get(terms.market);
    if (!byTerms) byMarket.set(terms.market, (byTerms = new Map()));
    const key = JSON.stringify([terms.treatment, terms.currency]);
    let sections = byTerms.get(key);
    if (!sections) byTerms.set(key, (sections = keeping(crossSectionsOf(terms), namesMax)));
    return sections;
  };
}

function keeping(sections: CrossSections, namesMax: number): CrossSections {
  const kept = new Map<number, CrossSection>();
  let names = 0;
  return {
    latest: sections.latest,
    at(session, universe) {
      const known = kept.get(session);
      if (known !== undefined && isEqual(known.universe, universe)) return known;
      const section = sections.at(session, universe);
      if (known === undefined && names + universe.length <= namesMax) {
        kept.set(session, section);
        names += universe.length;
      }
      return section;
    },
  };
}
