import type { CorporateAction, Membership, ReferenceTable } from '#domain/market/market-data.js';
import type { SeriesTable } from '#domain/market/series.js';
import type { Panels } from '../panels/panels.js';

/** Values of a store. They do not depend on the name and source of the store. */
export interface MarketContent extends Panels {
  readonly reference: ReferenceTable;
  readonly actions: readonly CorporateAction[];
  readonly universes: readonly Membership[];
  /** Absent if the store has no series. */
  readonly series?: SeriesTable;
}

/** Tables of a content, without the panels. */
export type ContentTables = Omit<MarketContent, keyof Panels>;
