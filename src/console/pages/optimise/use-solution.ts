import type { Finding, IndexDocument, PreviewResponse } from '#clients/typescript/divisor.js';
import { useOneAtATime, type Latest } from '../../state/one-at-a-time.js';
import { parameter } from '../../state/place.js';
import { useResource } from '../../state/resource.js';
import { service, type Trouble } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';
import { derivedFrom } from './rows.js';
import type { Terms } from './terms.js';

interface Question {
  readonly parent: IndexDocument;
  readonly rows: readonly JsonObject[];
  readonly terms: Terms;
  readonly isValid: boolean;
}

/** What rows come to on a date. */
export interface Solution extends Latest<PreviewResponse> {
  /** Null where no data is served. */
  readonly asOf: string | null;
  /** Dates of the served store. */
  readonly extent: { readonly start: string; readonly end: string } | null;
  /** What the service says of fields of the rows and terms. */
  readonly findings: readonly Finding[];
}

/** Solves one rebalance, the last one at a date: those before it would be the work of a run. */
export function useSolution({ parent, rows, terms, isValid }: Question): Solution {
  const stores = useResource('stores', (signal) => service.value.call('listStores', { signal }));
  const { start = null, end = null } = stores.data?.stores.find(({ active }) => active) ?? {};
  const asOf = parameter('on') ?? end;
  const schedule = useResource(asOf === null ? null : `schedule ${parent.id} ${asOf}`, (signal) =>
    service.value.call('getSchedule', {
      params: { index_id: parent.id },
      query: { as_of: asOf ?? '', limit: 1 },
      signal,
    }),
  );
  const base = schedule.data === undefined ? null : (schedule.data.recent[0] ?? parent.base_date);
  const document = derivedFrom(parent, { base: base ?? parent.base_date, rows, terms });
  const solved = useOneAtATime(
    isValid && asOf !== null && base !== null ? `${asOf} ${JSON.stringify(document)}` : null,
    () => service.value.call('previewDocument', { body: { document, as_of: asOf } }),
  );
  const extent = start === null || end === null ? null : { start, end };
  return { ...solved, asOf, extent, findings: solved.isBehind ? [] : ownFindings(solved.trouble) };
}

/** Findings of a derivation as the fields of its rows and terms have them. */
export function ownFindings(trouble: Pick<Trouble, 'findings'> | null): readonly Finding[] {
  return (trouble?.findings ?? []).flatMap((finding) => {
    const path = /(?:^|\.)derivation\.(.*)$/.exec(finding.path)?.[1];
    return path === undefined ? [] : [{ ...finding, path }];
  });
}
