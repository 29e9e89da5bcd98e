import { produceClosing, produceOpening, produceProforma } from './tables/index-files.js';
import type { ExportTableName } from '#domain/exports/catalogue.js';
import type { Producer } from './batch.js';
import { produceAttribution } from './tables/attribution.js';
import { produceConstituents } from './tables/constituents.js';
import { produceEvents } from './tables/events.js';
import { produceExposures } from './tables/exposures.js';
import { produceLevels } from './tables/levels.js';
import { produceBreaches, produceLimits } from './tables/limits.js';
import { produceRebalances } from './tables/rebalances.js';
import { produceRisk } from './tables/risk.js';
import { produceTrades } from './tables/trades.js';
import { produceWeights } from './tables/weights.js';

/** Row producers by table. If a table has no producer or a producer lacks a column, the code does not compile. */
export const PRODUCERS: { readonly [T in ExportTableName]: Producer<T> } = {
  attribution: produceAttribution,
  breaches: produceBreaches,
  closing: produceClosing,
  constituents: produceConstituents,
  events: produceEvents,
  exposures: produceExposures,
  levels: produceLevels,
  limits: produceLimits,
  opening: produceOpening,
  proforma: produceProforma,
  rebalances: produceRebalances,
  risk: produceRisk,
  trades: produceTrades,
  weights: produceWeights,
};
