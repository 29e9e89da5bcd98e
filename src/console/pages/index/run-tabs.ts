import type { ComponentType } from 'preact';
import type { OverviewView } from '#clients/typescript/divisor.js';
import { createLazyComponent } from '../../components/feedback.js';
import type { Tab } from '../../components/layout/tabs.js';

export interface RunPartProps {
  readonly id: string;
  readonly run: OverviewView;
}

interface RunTab extends Tab {
  /** True if the tab shows the selected date range, not the whole run. */
  readonly isRanged?: true;
  /** Alternative words by which the search finds the tab. */
  readonly words?: string;
  /** Content that needs only the run. The page renders all other tabs. */
  readonly Part?: ComponentType<RunPartProps>;
}

const load = (what: string, part: () => Promise<ComponentType<RunPartProps>>) =>
  createLazyComponent<RunPartProps>(what, part);

/**
 * Tabs of the page of an index, in order. The first tab is open at first. The script of a tab is loaded when the tab is
 * first opened.
 */
export const RUN_TABS: readonly RunTab[] = [
  { id: 'performance', text: 'Performance', isRanged: true },
  {
    id: 'constituents',
    text: 'Constituents',
    Part: load('the constituents', async () => (await import('./constituents.js')).Constituents),
  },
  {
    id: 'weights',
    text: 'Weights',
    isRanged: true,
    Part: load('the weights', async () => (await import('./weights.js')).Weights),
  },
  {
    id: 'attribution',
    text: 'Attribution',
    isRanged: true,
    Part: load('the attribution', async () => (await import('./attribution.js')).Attribution),
  },
  { id: 'risk', text: 'Risk', isRanged: true, Part: load('the risk', async () => (await import('./risk.js')).Risk) },
  {
    id: 'limits',
    text: 'Limits',
    isRanged: true,
    Part: load('the limits', async () => (await import('./limits.js')).Limits),
  },
  {
    id: 'scenarios',
    text: 'Scenarios',
    Part: load('the scenarios', async () => (await import('./scenarios.js')).Scenarios),
  },
  {
    id: 'rebalances',
    text: 'Rebalances',
    Part: load('the rebalances', async () => (await import('./rebalances.js')).Rebalances),
  },
  {
    id: 'actions',
    text: 'Actions',
    isRanged: true,
    Part: load('the corporate actions', async () => (await import('./actions.js')).Actions),
  },
  { id: 'methodology', text: 'Methodology' },
  {
    id: 'publication',
    text: 'Publication',
    Part: load('the publication', async () => (await import('./publication.js')).Publication),
  },
  { id: 'versions', text: 'Versions' },
  { id: 'runs', text: 'Runs', Part: load('the runs', async () => (await import('./runs.js')).Runs) },
  {
    id: 'outside',
    text: 'Compare with a published level',
    words: 'explain difference deviation outside vendor',
    Part: load('the comparison with a published level', async () => (await import('./outside-level.js')).OutsideLevel),
  },
];
