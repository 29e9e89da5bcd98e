import { useEffect, useRef, useState } from 'preact/hooks';
import { useResource } from '../state/resource.js';
import { go } from '../state/place.js';
import { service } from '../state/service.js';
import { indexAddress, nameAddress } from '../words/addresses.js';
import './palette.css';

interface Target {
  readonly address: string;
  readonly text: string;
  readonly kind: string;
}

const PLACES: readonly Target[] = [
  { address: '/', text: 'Indices', kind: 'page' },
  { address: '/console/indices/new', text: 'New index', kind: 'page' },
  { address: '/console/compare', text: 'Compare', kind: 'page' },
  { address: '/console/optimise', text: 'Optimise', kind: 'page' },
  { address: '/console/risk-models', text: 'Risk models', kind: 'page' },
  { address: '/console/calendar', text: 'Calendar', kind: 'page' },
  { address: '/console/sweeps', text: 'Sweeps', kind: 'page' },
  { address: '/console/data', text: 'Data', kind: 'page' },
  { address: '/console/watchlists', text: 'Watchlists', kind: 'page' },
  { address: '/console/reports', text: 'Reports', kind: 'page' },
  { address: '/console/jobs', text: 'Jobs', kind: 'page' },
  { address: '/console/health', text: 'Health', kind: 'page' },
];
const SHOWN_MAX = 9;

/** Goes to a page, an index or a name of the market by a few letters. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  useEffect(() => dialog.current?.showModal(), []);
  const targets = useTargets(typed);
  const chosen = targets[Math.min(at, targets.length - 1)];
  const open = (target: Target | undefined) => {
    if (target === undefined) return;
    onClose();
    go(target.address);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, targets.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(0, at - 1));
    else if (event.key === 'Enter') open(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Go to" onClose={onClose} onKeyDown={onKeyDown}>
      <input
        class="control"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={chosen && `to-${chosen.address}`}
        aria-label="Page, index or name"
        placeholder="Page, index or name"
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Found">
        {targets.map((target) => (
          <li
            key={target.address}
            id={`to-${target.address}`}
            role="option"
            aria-selected={target === chosen}
            onClick={() => open(target)}
          >
            {target.text} <span class="quiet">{target.kind}</span>
          </li>
        ))}
      </ul>
    </dialog>
  );
}

/** What has the letters: pages and indices from the first on, names of the market from the second. */
function useTargets(typed: string): readonly Target[] {
  const text = typed.trim().toLowerCase();
  const indices = useResource('palette indices', (signal) => service.value.call('listIndices', { signal }));
  const names = useResource(
    text.length < 2 ? null : `palette names ${text}`,
    (signal) => service.value.call('searchIdentifiers', { query: { q: text, limit: SHOWN_MAX }, signal }),
    { follows: false },
  );
  const all: readonly Target[] = [
    ...PLACES,
    ...(indices.data?.indices ?? []).map(({ id, name }) => ({
      address: indexAddress(id),
      text: `${id} ${name}`,
      kind: 'index',
    })),
  ];
  const found = all.filter((target) => target.text.toLowerCase().includes(text));
  const ofMarket = (names.data?.identifiers ?? []).map(({ identifier, name }) => ({
    address: nameAddress(identifier),
    text: name === null ? identifier : `${identifier} ${name}`,
    kind: 'name',
  }));
  return [...found, ...ofMarket].slice(0, SHOWN_MAX);
}
