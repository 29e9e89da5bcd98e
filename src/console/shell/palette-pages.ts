import { may } from '../state/principal.js';
import { formatAddress, navigate } from '../state/location.js';
import {
  formatClosuresAddress,
  formatGovernanceAddress,
  formatIndexAddress,
  storeAddress,
} from '../words/addresses.js';
import { INDEX_PARTS, STORE_PARTS } from '../words/parts.js';
import type { Target } from '../words/search.js';

const createPageTarget = (address: string, text: string, words = ''): Target => ({
  address,
  text,
  kind: 'page',
  words,
});

/** Pages whose address contains no id, with other words by which they are found. */
export const PAGE_TARGETS: readonly Target[] = [
  createPageTarget('/', 'Indices', 'home overview'),
  createPageTarget('/console/dashboard', 'Dashboard', 'pinned'),
  createPageTarget('/console/compare', 'Compare', 'comparison correlation'),
  createPageTarget('/console/optimise', 'Optimise', 'optimisation constraints'),
  createPageTarget('/console/risk-models', 'Risk models', 'covariance'),
  createPageTarget('/console/calendar', 'Calendar', 'events holidays'),
  createPageTarget('/console/sweeps', 'Sweeps', 'variants parameters'),
  createPageTarget('/console/batches', 'Personal indices', 'batches accounts'),
  createPageTarget('/console/data', 'Data', 'stores datasets'),
  createPageTarget('/console/data/import', 'Import data', 'files csv zip upload'),
  createPageTarget('/console/data/connect', 'Connect data', 'database vendor source'),
  createPageTarget('/console/data/sql', 'SQL', 'query tables'),
  createPageTarget('/console/names', 'Securities', 'names identifiers'),
  createPageTarget('/console/watchlists', 'Watchlists'),
  createPageTarget('/console/indices/templates', 'Templates', 'methodologies gallery'),
  createPageTarget('/console/plugins', 'Plug-ins', 'extensions plugins'),
  createPageTarget('/console/reports', 'Reports', 'factsheets pdf'),
  createPageTarget('/console/actions', 'Corporate actions', 'dividends splits'),
  createPageTarget('/console/schedules', 'Schedules', 'unattended'),
  createPageTarget('/console/approvals', 'Approvals'),
  createPageTarget('/console/governance', 'Governance', 'statements iosco bmr evidence'),
  createPageTarget(formatGovernanceAddress('clients'), 'Clients', 'deliveries targets entitlements'),
  createPageTarget(formatGovernanceAddress('procedures'), 'Procedures', 'cessation complaints'),
  createPageTarget(formatGovernanceAddress('errors'), 'Register of errors', 'restatements'),
  createPageTarget(formatGovernanceAddress('judgements'), 'Expert judgements', 'waivers register'),
  createPageTarget(formatGovernanceAddress('audit'), 'Audit log', 'extract'),
  createPageTarget('/console/jobs', 'Jobs', 'queue log'),
  createPageTarget('/console/health', 'Health', 'status'),
];

/** Pages with a form for a new document. Each has its address, its text and words by which it is found. */
const FORM_TARGETS: readonly (readonly [string, string, string])[] = [
  ['/console/indices/new', 'New index', 'create an add'],
  ['/console/indices/templates', 'New index from a template', 'create add'],
  ['/console/schedules/new', 'New schedule', 'create a add'],
  [formatGovernanceAddress('clients', 'new'), 'New client', 'create a add delivery'],
  [formatGovernanceAddress('procedures', 'new'), 'New procedure', 'create a add cessation'],
  ['/console/reports/templates/new', 'New report template', 'create a add'],
  ['/console/watchlists/new', 'New watchlist', 'create a add'],
  ['/console/plugins/new', 'New plug-in', 'create a add plugin'],
  ['/console/risk-models', 'New risk model', 'create a add estimate'],
  ['/console/sweeps/new', 'New sweep', 'create a add variants'],
  ['/console/optimise', 'New optimisation', 'create an add constraint set'],
  ['/console/compare', 'New comparison', 'create a add compare'],
];

/** Returns the actions that create a document. Returns none if the API key may not write. */
export const listFormTargets = (): readonly Target[] =>
  may('write')
    ? FORM_TARGETS.map(([address, text, words]) => ({
        address: `form ${text}`,
        text,
        kind: 'action',
        words,
        act: () => navigate(address),
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
 * Returns targets below a page: the tabs of all indices, strategies and data stores, and the closures of the calendars.
 * For each index, also its statement and the form of a new strategy.
 */
export function listPartTargets({ indices, strategies, stores }: Subjects): readonly Target[] {
  const calendars = [...new Set(indices.map(({ calendar }) => calendar))];
  const createPartTargets =
    (list: readonly { readonly id: string; readonly text: string }[], addressOfPage: (id: string) => string) =>
    ({ id, name }: Subject): readonly Target[] =>
      list.map(({ id: tab, text }) => ({
        address: formatAddress(addressOfPage(id), { tab }),
        text: `${id} ${text}`,
        tab: text,
        kind: 'page',
        words: name,
      }));
  return [
    ...calendars.map((code) =>
      createPageTarget(formatClosuresAddress(code), `Closures of ${code}`, 'calendar holidays half days'),
    ),
    ...[...indices, ...strategies].flatMap(createPartTargets(INDEX_PARTS, formatIndexAddress)),
    ...stores.flatMap(createPartTargets(STORE_PARTS, storeAddress)),
    ...indices.map(({ id, name }) =>
      createPageTarget(formatGovernanceAddress('statements', id), `Statement of ${id}`, `benchmark ${name}`),
    ),
    ...(may('write')
      ? indices.map(({ id, name }) => ({
          address: formatAddress('/console/strategies/new', { index: id }),
          text: `New strategy on ${id}`,
          kind: 'action',
          words: `create a add follow ${name}`,
        }))
      : []),
  ];
}
