import type { CrossSection } from '../datapoints/cross-section.js';
import { createLatestRequest } from '../datapoints/field-request.js';
import { resolveName } from '../datapoints/resolution.js';
import type { Datapoints } from './row-context.js';
import { toRequest } from '../datapoints/field-use.js';

/** Returns the datapoints of the given columns as known on the session of a cross-section. */
export function readDatapoints(cross: CrossSection, columns: Int32Array): Datapoints {
  return {
    numbers: (field) => cross.numbers(toRequest(field), columns),
    categories(field) {
      // A market need not have a column that the request does not use, such as the default column of risk budgets.
      if ('missing' in resolveName(cross.market.market, createLatestRequest(field)))
        return Array.from(columns, () => null);
      return cross.values(createLatestRequest(field), columns).map((value) => (value === null ? null : String(value)));
    },
    medianValueTraded: (window) =>
      cross.numbers(createLatestRequest('VALUE_TRADED', { aggregate: 'median', window }), columns),
  };
}
