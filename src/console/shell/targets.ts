import type { JobStatus } from '#clients/typescript/divisor.js';
import { consoleLocation } from '../state/location.js';
import { getVisitedPath, recentVisits } from '../state/recent.js';
import { useResource } from '../state/resource.js';
import { service } from '../state/service.js';
import { savedViews } from '../state/views.js';
import { useStores } from '../state/stores.js';
import {
  formatIndexAddress,
  formatPluginAddress,
  formatRiskModelAddress,
  storeAddress,
  formatTemplateAddress,
  formatWatchlistAddress,
} from '../words/addresses.js';
import { formatMoment } from '../words/dates.js';
import { formatJobAddress, formatJobId, describeSubject } from '../words/jobs.js';
import { createActions } from './palette-actions.js';
import { listFormTargets, listPartTargets, PAGE_TARGETS } from './palette-pages.js';
import { findTargets, listComparisons, type Target } from '../words/search.js';
import { useSecurityTargets } from './palette-securities.js';

const SHOWN_MAX = 12;
const RECENT_SHOWN = 6;

/** Kinds of jobs with a page for their result. */
const RESULT_PHRASES = { sweep: 'sweep', optimise: 'optimisation', render: 'report' } as const;
/** Maximum number of searched results, newest first. */
const RESULTS_MAX = 200;

/**
 * Returns the search results for a typed text. Pages, documents and actions are found from the first character,
 * securities from the second. If no text is typed, returns the pages that were visited recently.
 */
export function useTargets(typed: string, onShortcuts: () => void): readonly Target[] {
  const text = typed.trim().toLowerCase();
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const strategies = useResource('strategies', (signal) => service.value.call('listStrategies', { signal }));
  const stores = useStores();
  const templates = useResource('templates', (signal) => service.value.call('listTemplates', { signal }));
  const watchlists = useResource('watchlists', (signal) => service.value.call('listWatchlists', { signal }));
  const plugins = useResource('plug-ins', (signal) => service.value.call('listPlugins', { signal }));
  const models = useResource('risk models', (signal) => service.value.call('listRiskModels', { signal }));
  const results = useResource('palette results', (signal) =>
    service.value.call('listJobs', {
      query: { kind: ['sweep', 'optimise', 'render'], status: ['succeeded'], limit: RESULTS_MAX },
      signal,
    }),
  );
  const securities = useSecurityTargets(text, stores.data?.stores ?? [], SHOWN_MAX);
  const all: readonly Target[] = [
    ...PAGE_TARGETS,
    ...savedViews.value.map(({ name, address }) => ({ address, text: name, kind: 'view' })),
    ...(indices.data?.indices ?? []).map(({ id, name, kind }) => ({
      address: formatIndexAddress(id),
      text: id,
      name,
      kind: kind === 'overlay' ? 'overlay' : 'index',
    })),
    ...(strategies.data?.strategies ?? []).map(({ strategy: { id, name } }) => ({
      address: formatIndexAddress(id),
      text: id,
      name,
      kind: 'strategy',
    })),
    ...(stores.data?.stores ?? []).map(({ store_id: id, name }) => ({
      address: storeAddress(id),
      text: id,
      name,
      kind: 'store',
    })),
    ...(templates.data?.templates ?? []).map(({ template_id: id, name }) => ({
      address: formatTemplateAddress(id),
      text: id,
      name,
      kind: 'template',
    })),
    ...(watchlists.data?.watchlists ?? []).map(({ watchlist_id: id, name }) => ({
      address: formatWatchlistAddress(id),
      text: id,
      name,
      kind: 'watchlist',
    })),
    ...(plugins.data?.plugins ?? []).map(({ plugin_id: id, name }) => ({
      address: formatPluginAddress(id),
      text: id,
      name,
      kind: 'plug-in',
    })),
    ...(models.data?.risk_models ?? []).map(({ model_id: id }) => ({
      address: formatRiskModelAddress(id),
      text: id,
      kind: 'risk model',
    })),
    ...(results.data?.jobs ?? []).map(createResultTarget),
  ];
  if (text === '')
    return [
      ...recentVisits.value
        .toReversed()
        .filter((visit) => getVisitedPath(visit) !== consoleLocation.value.path)
        .slice(0, RECENT_SHOWN)
        .map((visit) => ({ ...visit, kind: 'recent' })),
      ...PAGE_TARGETS.filter(({ address }) => recentVisits.value.every((visit) => getVisitedPath(visit) !== address)),
    ].slice(0, SHOWN_MAX);
  const actions = createActions({
    indices: indices.data?.indices ?? [],
    stores: stores.data?.stores,
    onShortcuts,
  });
  const parts = listPartTargets({
    indices: indices.data?.indices ?? [],
    strategies: (strategies.data?.strategies ?? []).map(({ strategy }) => strategy),
    stores: (stores.data?.stores ?? []).map(({ store_id: id, name }) => ({ id, name })),
  });
  const comparisons = listComparisons(text, indices.data?.indices ?? []);
  const found = findTargets([...all, ...listFormTargets(), ...actions, ...parts], text, securities);
  return [...comparisons, ...found].slice(0, SHOWN_MAX);
}

/** Creates the search result for a job, for example `CORE, 21 Nov 2026 18:00` for a sweep of CORE. */
const createResultTarget = (job: JobStatus): Target => ({
  address: formatJobAddress(job),
  text: `${describeSubject(job) || formatJobId(job)}, ${formatMoment(job.finished_at ?? job.created_at)}`,
  kind: RESULT_PHRASES[job.kind as keyof typeof RESULT_PHRASES], // only these kinds were requested
});
