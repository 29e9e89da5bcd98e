import { closing, opening, proforma } from './tables/index-files.js';
import type { ExportTableName } from '#domain/exports/catalogue.js';
import type { Producer } from './batch.js';
import { attribution } from './tables/attribution.js';
import { constituents } from './tables/constituents.js';
import { events } from './tables/events.js';
import { exposures } from './tables/exposures.js';
import { levels } from './tables/levels.js';
import { breaches, limits } from './tables/limits.js';
import { rebalances } from './tables/rebalances.js';
import { risk } from './tables/risk.js';
import { trades } from './tables/trades.js';
import { weights } from './tables/weights.js';

/** Row producers by table. A table without a producer, or a producer without a column, does not compile. */
export const PRODUCERS: { readonly [T in ExportTableName]: Producer<T> } = {
  attribution,
  breaches,
  closing,
  constituents,
  events,
  exposures,
  levels,
  limits,
  opening,
  proforma,
  rebalances,
  risk,
  trades,
  weights,
};
