import type { Finding, IndexDocument, PreviewResponse } from '#clients/typescript/divisor.js';
import { useOneAtATime, type LatestRequest } from '../../state/one-at-a-time.js';
import { getParameter } from '../../state/location.js';
import { service, type Trouble } from '../../state/service.js';
import { findStore, useStores } from '../../state/stores.js';
import type { JsonObject } from '../../words/paths.js';
import { asConstraints, asTerms } from './rows.js';
import type { Terms } from './terms.js';

interface SolutionQuery {
  readonly parent: IndexDocument;
  /** Data store of the index; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
  readonly rows: readonly JsonObject[];
  readonly terms: Terms;
  readonly isValid: boolean;
}

/** Live solution of an optimisation on a date. */
export interface Solution extends LatestRequest<PreviewResponse> {
  /** False until the store of the index is known. */
  readonly hasStores: boolean;
  /** Decision date; null if the store of the index has no data. */
  readonly asOf: string | null;
  /** First and last date of the store of the index; null if it has no data. */
  readonly extent: { readonly start: string; readonly end: string } | null;
  /** Findings of the service about the constraints and terms. */
  readonly findings: readonly Finding[];
}

/** Returns the solution of the last rebalance on or before a date. A run would give the same result. */
export function useSolution({ parent, store, rows, terms, isValid }: SolutionQuery): Solution {
  const stores = useStores();
  const { start = null, end = null } = findStore(stores.data?.stores, store) ?? {};
  const asOf = getParameter('on') ?? end;
  const body = { ...asTerms(terms), index_id: parent.id, constraints: asConstraints(rows), as_of: asOf };
  const solution = useOneAtATime(isValid && asOf !== null ? JSON.stringify(body) : null, () =>
    service.value.call('previewOptimisation', { body }),
  );
  const extent = start === null || end === null ? null : { start, end };
  return {
    ...solution,
    hasStores: stores.data !== undefined && store !== undefined,
    asOf,
    extent,
    findings: solution.isBehind ? [] : (solution.trouble?.findings ?? []),
  };
}

/** Converts findings about a derivation to findings about the fields of its rows and terms. */
export function convertFindings(trouble: Pick<Trouble, 'findings'> | null): readonly Finding[] {
  return (trouble?.findings ?? []).flatMap((finding) => {
    const path = /(?:^|\.)derivation\.(.*)$/.exec(finding.path)?.[1];
    return path === undefined ? [] : [{ ...finding, path }];
  });
}
