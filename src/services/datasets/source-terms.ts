import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketTerms } from '#market/mapping/mapped-content.js';
import type { MarketTaskOptions } from '#market/process/market-process.js';

/** Reading modes of a store's source. */
export type SourceTerms = Pick<
  DatasetDocument,
  'store_id' | 'kind' | 'location' | 'tables' | 'adjustment' | 'currency' | 'mapping' | 'kept' | 'price_overrides'
>;

export interface LoadOptions {
  /** Load into shared memory, or only read and check. */
  readonly serve: boolean;
  readonly onProgress?: MarketTaskOptions['onProgress'];
  readonly signal?: AbortSignal;
}

export interface Refused {
  readonly kind: 'refused';
  readonly findings: readonly Finding[];
}

/** Terms on which the market of a source is read. */
export const termsOf = ({ mapping, adjustment, price_overrides: overrides }: SourceTerms): MarketTerms => ({
  mapping,
  adjustment,
  ...(overrides && { overrides }),
});
