import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketInterpretation } from '#market/mapping/mapped-content.js';
import type { MarketTaskOptions } from '#market/process/market-process.js';

/** Members of a store that determine how its source is read. */
export type SourceTerms = Pick<
  DatasetDocument,
  'store_id' | 'kind' | 'location' | 'tables' | 'adjustment' | 'currency' | 'mapping' | 'kept' | 'price_overrides'
> & {
  /** Files that the service wrote; compared with the present ones if the service manages the store. */
  readonly files?: DatasetDocument['files'];
  /** Request from which the data of a synthetic store can be generated again. */
  readonly synthetic?: DatasetDocument['synthetic'];
};

export interface LoadOptions {
  /** True to load the data into shared memory, false to read and check it only. */
  readonly serve: boolean;
  /** True if the store will be active. Default: whether it is. */
  readonly willBeActive?: boolean;
  readonly onProgress?: MarketTaskOptions['onProgress'];
  readonly signal?: AbortSignal;
}

export interface ReadRefusal {
  readonly kind: 'refused';
  readonly findings: readonly Finding[];
}

/** Returns the settings for reading the market of a source. */
export const createTerms = ({
  mapping,
  adjustment,
  price_overrides: overrides,
}: SourceTerms): MarketInterpretation => ({
  mapping,
  adjustment,
  ...(overrides && { overrides }),
});
