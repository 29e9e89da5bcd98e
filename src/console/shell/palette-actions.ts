import type { DataStore } from '#clients/typescript/divisor.js';
import { activateStore, runIndex } from '../state/actions.js';
import { copyText } from '../state/clipboard.js';
import { may } from '../state/principal.js';
import { chooseTheme, THEMES } from '../state/theme.js';
import { formatAddress, navigate } from '../state/location.js';
import { findLastVisit } from '../state/recent.js';
import { formatKeptAddress, isUnregistered } from '../state/stores.js';
import { showToast } from '../state/toasts.js';
import { startTour } from '../state/tour.js';
import { formatIndexAddress } from '../words/addresses.js';
import type { Target } from '../words/search.js';
import { STEPS } from './tour-steps.js';

interface KnownSubjects {
  readonly indices: readonly { readonly id: string; readonly store_id: string | null }[];
  /** Registered data stores; undefined until they are known. */
  readonly stores: readonly DataStore[] | undefined;
  /** Opens the list of keyboard shortcuts. */
  onShortcuts(): void;
}

const createAction = (name: string, text: string, act: () => unknown, words = ''): Target => ({
  address: `action ${name}`,
  text,
  kind: 'action',
  words,
  act,
});

const link = (address: string, text: string): Target => ({ address, text, kind: 'action' });

/** Returns the global actions that the API key allows. */
export function createActions({ indices, stores, onShortcuts }: KnownSubjects): readonly Target[] {
  return [
    ...indices.flatMap(({ id, store_id: store }) => [
      ...(may('run') && !isUnregistered(stores, store)
        ? [createAction(`run ${id}`, `Run ${id}`, () => runStaleIndex(id), 'backtest')]
        : []),
      ...(may('write')
        ? [
            link(`${formatIndexAddress(id)}/edit`, `Edit ${id}`),
            link(formatAddress('/console/optimise', { index: id }), `Optimise ${id}`),
          ]
        : []),
    ]),
    ...(may('data')
      ? (stores ?? [])
          .filter(({ active }) => !active)
          .map(({ store_id: id, name }) => ({
            ...createAction(`serve ${id}`, `Serve ${id}`, () => activateStore(id), 'switch market'),
            name,
          }))
      : []),
    ...THEMES.map((theme) => createAction(`theme ${theme}`, `Theme: ${theme}`, () => chooseTheme(theme))),
    ...(indices.length === 0 ? [] : [createAction('tour', 'Take the tour', () => takeTour(indices))]),
    createAction('copy', 'Copy the address of the page', () =>
      copyText(location.origin + formatKeptAddress(), 'the address'),
    ),
    createAction('print', 'Print the page', () => print()),
    createAction('shortcuts', 'Keyboard shortcuts', onShortcuts),
  ];
}

/** Runs an index if its run is stale. Otherwise reports that its run is current. */
async function runStaleIndex(id: string): Promise<void> {
  const answer = await runIndex(id, { if_stale: true });
  if (answer !== undefined && !('created_at' in answer))
    showToast('info', `The run of ${id} is current.`, { address: formatIndexAddress(id), text: 'Open' });
}

/** Starts the tour on the index that is open or was open last. */
function takeTour(indices: KnownSubjects['indices']): void {
  const id = findLastVisit(indices.map((index) => index.id))!; // there are indices
  startTour(id);
  navigate(STEPS[0]!.address(id)); // the tour has steps
}
