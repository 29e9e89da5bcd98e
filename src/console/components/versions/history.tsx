import './version-history.css';
import { useState } from 'preact/hooks';
import type { RuleTypes, VersionDifference, VersionList } from '#clients/typescript/divisor.js';
import { getParameter } from '../../state/location.js';
import { type Scope, service, useResource } from '../../state/service.js';
import { createLazyComponent } from '../feedback.js';

/** Route names, path parameter and scope of each kind of document with versions. */
const FAMILIES = {
  index: { routes: 'Index', parameter: 'index_id', scope: 'write' },
  strategy: { routes: 'Strategy', parameter: 'strategy_id', scope: 'write' },
  'constraint set': { routes: 'ConstraintSet', parameter: 'constraint_set_id', scope: 'write' },
  template: { routes: 'Template', parameter: 'template_id', scope: 'write' },
  watchlist: { routes: 'Watchlist', parameter: 'watchlist_id', scope: 'write' },
  'plug-in': { routes: 'Plugin', parameter: 'plugin_id', scope: 'admin' },
  client: { routes: 'Client', parameter: 'client_id', scope: 'publish' },
  schedule: { routes: 'Schedule', parameter: 'schedule_id', scope: 'write' },
  calendar: { routes: 'Closures', parameter: 'calendar_code', scope: 'data' },
  procedure: { routes: 'Procedure', parameter: 'procedure_id', scope: 'write' },
  store: { routes: 'Store', parameter: 'store_id', scope: 'data' },
} as const satisfies Record<string, { routes: string; parameter: string; scope: Scope }>;

export type VersionedKind = keyof typeof FAMILIES;

export const getScope = (kind: VersionedKind): Scope => FAMILIES[kind].scope;

/** A document with versions. */
export interface VersionedFamily {
  readonly kind: VersionedKind;
  readonly id: string;
}

export interface VersionsProps extends VersionedFamily {
  /** Called after a version was restored. */
  onRestored?(): void;
}

/** Number of versions per request. The service allows no more. */
const VERSIONS_MAX = 1000;

/**
 * Returns the routes of a document. They differ only in their names, because the contract creates them from one table.
 */
const createRoutes = ({ kind, id }: VersionedFamily) => {
  const { routes, parameter } = FAMILIES[kind];
  return { routes, params: { [parameter]: id } as { readonly index_id: string } };
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
  useResource(kind === 'index' ? 'rule types' : null, (signal) => service.value.call('listRuleTypes', { signal }), {
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
