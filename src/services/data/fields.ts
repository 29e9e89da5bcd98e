import type { FieldList } from '#contract/data.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { findIndexDefaults } from '#domain/checks/index-defaults.js';
import { compareText } from '#domain/refusals/findings.js';
import { listFieldNames, findReferenceKind, resolveName } from '#domain/datapoints/resolution.js';
import type { ServedMarket } from '#market/serving/markets.js';

/** Lists what rules can read in the served store, and the values of a new index on it. */
export function listFields({ market }: ServedMarket, calendars: Pick<Calendars, 'list'>): FieldList {
  const fields = listFieldNames(market).flatMap((name) => {
    const resolution = resolveName(market, { name, dataset: null });
    if ('missing' in resolution) return [];
    const kind = resolution.dataset === 'reference' ? findReferenceKind(market, name) : 'number';
    return [{ name, dataset: resolution.dataset, kind }];
  });
  const universes = new Set(market.universes.map(({ universe }) => universe));
  return {
    fields,
    universes: [...universes].toSorted(compareText),
    index_defaults: findIndexDefaults(market, calendars),
  };
}
