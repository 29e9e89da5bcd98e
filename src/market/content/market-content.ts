import type { CorporateAction, Membership, ReferenceTable } from '#domain/market/market-data.js';
import type { SeriesTable } from '#domain/market/series.js';
import type { Panels } from '../panels/panels.js';

/** Values of a store, independent of its name and source. */
export interface MarketContent extends Panels {
  readonly reference: ReferenceTable;
  readonly actions: readonly CorporateAction[];
  readonly universes: readonly Membership[];
  /** Absent if there are none. */
  readonly series?: SeriesTable;
}

/** The tables of a content, without its panels. */
export type ContentTables = Omit<MarketContent, keyof Panels>;
