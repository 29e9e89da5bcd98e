import { may } from '../state/principal.js';
import { addressOf, go } from '../state/place.js';
import { closuresAddress, governanceAddress, indexAddress, storeAddress } from '../words/addresses.js';
import { INDEX_PARTS, STORE_PARTS } from '../words/parts.js';
import type { Target } from '../words/search.js';

const page = (address: string, text: string, words = ''): Target => ({ address, text, kind: 'page', words });

/** Pages without an id in their address, with alternative search words. */
export const PAGE_TARGETS: readonly Target[] = [
  page('/', 'Indices', 'home overview'),
  page('/console/dashboard', 'Dashboard', 'pinned'),
  page('/console/compare', 'Compare', 'comparison correlation'),
  page('/console/optimise', 'Optimise', 'optimisation constraints'),
  page('/console/risk-models', 'Risk models', 'covariance'),
  page('/console/calendar', 'Calendar', 'events holidays'),
  page('/console/sweeps', 'Sweeps', 'variants parameters'),
  page('/console/batches', 'Personal indices', 'batches accounts'),
  page('/console/data', 'Data', 'stores datasets'),
  page('/console/data/import', 'Import data', 'files csv zip upload'),
  page('/console/data/connect', 'Connect data', 'database vendor source'),
  page('/console/data/sql', 'SQL', 'query tables'),
  page('/console/names', 'Securities', 'names identifiers'),
  page('/console/watchlists', 'Watchlists'),
  page('/console/indices/templates', 'Templates', 'methodologies gallery'),
  page('/console/plugins', 'Plug-ins', 'extensions plugins'),
  page('/console/reports', 'Reports', 'factsheets pdf'),
  page('/console/actions', 'Corporate actions', 'dividends splits'),
  page('/console/schedules', 'Schedules', 'unattended'),
  page('/console/approvals', 'Approvals'),
  page('/console/governance', 'Governance', 'statements iosco bmr evidence'),
  page(governanceAddress('clients'), 'Clients', 'deliveries targets entitlements'),
  page(governanceAddress('procedures'), 'Procedures', 'cessation complaints'),
  page(governanceAddress('errors'), 'Register of errors', 'restatements'),
  page(governanceAddress('judgements'), 'Expert judgements', 'waivers register'),
  page(governanceAddress('audit'), 'Audit log', 'extract'),
  page('/console/jobs', 'Jobs', 'queue log'),
  page('/console/health', 'Health', 'status'),
];

/** Pages with a form for a new document: address, text and search words. */
const FORMS: readonly (readonly [string, string, string])[] = [
  ['/console/indices/new', 'New index', 'create an add'],
  ['/console/indices/templates', 'New index from a template', 'create add'],
  ['/console/schedules/new', 'New schedule', 'create a add'],
  [governanceAddress('clients', 'new'), 'New client', 'create a add delivery'],
  [governanceAddress('procedures', 'new'), 'New procedure', 'create a add cessation'],
  ['/console/reports/templates/new', 'New report template', 'create a add'],
  ['/console/watchlists/new', 'New watchlist', 'create a add'],
  ['/console/plugins/new', 'New plug-in', 'create a add plugin'],
  ['/console/risk-models', 'New risk model', 'create a add estimate'],
  ['/console/sweeps', 'New sweep', 'create a add variants'],
  ['/console/optimise', 'New optimisation', 'create an add constraint set'],
  ['/console/compare', 'New comparison', 'create a add compare'],
];

/** Returns the actions that create a document, if the API key allows writing. */
export const listFormTargets = (): readonly Target[] =>
  may('write')
    ? FORMS.map(([address, text, words]) => ({
        address: `form ${text}`,
        text,
        kind: 'action',
        words,
        act: () => go(address),
      }))
    : [];

interface Subject {
  readonly id: string;
  readonly name: string;
}

interface Subjects {
  readonly indices: readonly (Subject & { readonly calendar: string })[];
  readonly strategies: readonly Subject[];
  readonly stores: readonly Subject[];
}

/**
 * Returns the tabs of all indices, strategies and data stores, the closures of the calendars, and the statement and the
 * form of a new strategy for each index.
 */
export function listPartTargets({ indices, strategies, stores }: Subjects): readonly Target[] {
  const calendars = [...new Set(indices.map(({ calendar }) => calendar))];
  const parts =
    (list: readonly { readonly id: string; readonly text: string }[], addressOfPage: (id: string) => string) =>
    ({ id, name }: Subject): readonly Target[] =>
      list.map(({ id: tab, text }) => ({
        address: addressOf(addressOfPage(id), { tab }),
        text: `${id} ${text}`,
        kind: 'page',
        words: name,
      }));
  return [
    ...calendars.map((code) => page(closuresAddress(code), `Closures of ${code}`, 'calendar holidays half days')),
    ...[...indices, ...strategies].flatMap(parts(INDEX_PARTS, indexAddress)),
    ...stores.flatMap(parts(STORE_PARTS, storeAddress)),
    ...indices.map(({ id, name }) =>
      page(governanceAddress('statements', id), `Statement of ${id}`, `benchmark ${name}`),
    ),
    ...(may('write')
      ? indices.map(({ id, name }) => ({
          address: addressOf('/console/strategies/new', { index: id }),
          text: `New strategy on ${id}`,
          kind: 'action',
          words: `create a add follow ${name}`,
        }))
      : []),
  ];
}
