import './version-history.css';
import { useState } from 'preact/hooks';
import { OPERATIONS } from '#clients/typescript/contract.js';
import type { RuleTypes, VersionDifference, VersionList } from '#clients/typescript/divisor.js';
import { getParameter } from '../../state/location.js';
import { type Scope, service, useAnswer } from '../../state/service.js';
import { createLazyComponent } from '../feedback.js';

/** Name in the operations and scope of a write, by noun of each kind of document with versions. */
const FAMILIES = {
  index: { routes: 'Index', scope: 'write' },
  strategy: { routes: 'Strategy', scope: 'write' },
  'constraint set': { routes: 'ConstraintSet', scope: 'write' },
  template: { routes: 'Template', scope: 'write' },
  watchlist: { routes: 'Watchlist', scope: 'write' },
  'plug-in': { routes: 'Plugin', scope: 'admin' },
  client: { routes: 'Client', scope: 'publish' },
  schedule: { routes: 'Schedule', scope: 'write' },
  calendar: { routes: 'Closures', scope: 'data' },
  procedure: { routes: 'Procedure', scope: 'write' },
  store: { routes: 'Store', scope: 'data' },
} as const satisfies Record<string, { routes: string; scope: Scope }>;

export type VersionedNoun = keyof typeof FAMILIES;

export const getScope = (kind: VersionedNoun): Scope => FAMILIES[kind].scope;

export interface VersionedFamily {
  readonly kind: VersionedNoun;
  readonly id: string;
}

export interface VersionsProps extends VersionedFamily {
  /** Called after a version was restored. */
  onRestored?(): void;
}

/** Number of versions per request. The service allows no more. */
const VERSIONS_MAX = 1000;

/**
 * Returns the name of a document in the operations, and its id as their parameter. The operations of all kinds differ
 * only in these, because the contract creates them from one table.
 */
export const createRoutes = ({ kind, id }: VersionedFamily) => {
  const { routes } = FAMILIES[kind];
  const [, parameter] = /\{(\w+)\}/.exec(OPERATIONS[`list${routes}Versions`])!; // the path contains the id of the document
  return { routes, parameter: parameter!, params: { [parameter!]: id } as { readonly index_id: string } };
};

export function listVersions(family: VersionedFamily, signal: AbortSignal): Promise<VersionList> {
  const { routes, params } = createRoutes(family);
  return service.value.call(`list${routes}Versions` as 'listIndexVersions', {
    params,
    query: { limit: VERSIONS_MAX },
    signal,
  });
}

export function readDifference(
  family: VersionedFamily,
  query: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): Promise<VersionDifference> {
  const { routes, params } = createRoutes(family);
  return service.value.call(`diff${routes}Versions` as 'diffIndexVersions', { params, query, signal });
}

export function readVersion(family: VersionedFamily, version: number, signal: AbortSignal) {
  const { routes, params } = createRoutes(family);
  return service.value.call(`get${routes}Version` as 'getIndexVersion', {
    params: { ...params, version: String(version) },
    signal,
  });
}

interface VersionRestoration {
  readonly version: number;
  /** ETag of the stored document; undefined if there is none. */
  readonly ifMatch: string | undefined;
  readonly note: string;
}

/**
 * Restores a version.
 * @throws DivisorError PRECONDITION_FAILED if another version was stored since
 */
export function restoreVersion(family: VersionedFamily, { version, ifMatch, note }: VersionRestoration) {
  const { routes, params } = createRoutes(family);
  return service.value.call(`restore${routes}Version` as 'restoreIndexVersion', {
    params: { ...params, version: String(version) },
    ifMatch,
    note: note === '' ? undefined : note,
  });
}

/** Returns the catalogue of the index fields; undefined for other documents and until it is loaded. */
export const useTypes = ({ kind }: VersionedFamily): RuleTypes | undefined =>
  useAnswer('listRuleTypes', kind === 'index' ? {} : null, {
    follows: false,
  }).data;

const Versions = createLazyComponent<VersionsProps>(
  'the versions',
  async () => (await import('./versions.js')).Versions,
);

/** Renders the versions of a document below its editor. The versions are loaded when the section is opened. */
export function VersionHistory(props: VersionsProps) {
  const [isOpen, setOpen] = useState(getParameter('version') !== null);
  return (
    <details class="history" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Versions</summary>
      {isOpen && <Versions {...props} />}
    </details>
  );
}
