import type { MutableRef } from 'preact/hooks';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Badge } from '../components/badge.js';
import { navigate } from '../state/location.js';
import type { Target } from '../words/search.js';
import { useTargets } from './targets.js';
import './palette.css';

export interface PaletteProps {
  /** Text that was typed before the palette was loaded. */
  readonly typed: MutableRef<string>;
  onClose(): void;
  onShortcuts(): void;
}

/** Renders the content of the command palette. It finds pages, documents and securities by their text, and runs global actions. */
export function Palette({ typed: early, onClose, onShortcuts }: PaletteProps) {
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(early.current);
  const [at, setAt] = useState(0);
  useLayoutEffect(() => input.current?.focus(), []);
  const targets = useTargets(typed, onShortcuts);
  const chosenTarget = targets[Math.min(at, targets.length - 1)];
  const open = (target: Target | undefined) => {
    if (target === undefined) return;
    onClose();
    if (target.act === undefined) navigate(target.address);
    else target.act();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, targets.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(0, at - 1));
    else if (event.key === 'Enter') open(chosenTarget);
    else return;
    event.preventDefault();
  };
  return (
    <div onKeyDown={onKeyDown}>
      <input
        ref={input}
        class="control"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={chosenTarget && `to-${chosenTarget.address}`}
        aria-label="Page, document, security or action"
        placeholder="Page, document, security or action"
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
            aria-selected={target === chosenTarget}
            onClick={() => open(target)}
          >
            <span>
              {target.name === undefined ? (
                target.text
              ) : (
                <>
                  <strong>{target.text}</strong> <span class="palette-name">{target.name}</span>
                </>
              )}
            </span>{' '}
            {target.kind === 'action' ? <Badge kind="info">action</Badge> : <span class="quiet">{target.kind}</span>}
          </li>
        ))}
      </ul>
      {targets.length === 0 && (
        <p class="quiet" role="status">
          No matches.
        </p>
      )}
      <p class="quiet">↑ ↓ choose · Enter opens · Esc closes</p>
    </div>
  );
}
