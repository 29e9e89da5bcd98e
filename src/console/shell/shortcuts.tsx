import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../components/controls/button.js';
import '../components/dialog.css';

const SHORTCUTS = [
  ['Ctrl K', 'Go to a page, document or security, or start an action'],
  ['?', 'Show these shortcuts'],
  ['/', 'Search the table of the page'],
  ['Arrow keys', 'Move in tables and charts; with Shift, select a range of a chart'],
  ['Enter', 'Open the row, or apply the range'],
  ['Escape', 'Show the whole range, or close what is open'],
  ['Alt ↑, Alt ↓', 'Move a rule or a constraint'],
  ['Ctrl Z, Ctrl Shift Z', 'Undo and redo in the designer'],
] as const;

export function Shortcuts({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="pile raised gap-3 dialog" aria-label="Keyboard shortcuts" onClose={onClose}>
      <h2>Keyboard shortcuts</h2>
      <dl class="pile gap-2 shortcuts">
        {SHORTCUTS.map(([keys, effect]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{effect}</dd>
          </div>
        ))}
      </dl>
      <div class="gap-2 dialog-actions">
        <Button onClick={onClose}>Close</Button>
      </div>
    </dialog>
  );
}
