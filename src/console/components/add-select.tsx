import { useRef, useState } from 'preact/hooks';
import { Button } from './button.js';
import type { Option } from './choice.js';
import { Icon } from './icon.js';
import './control.css';
import './choice.css';

interface AddSelectProps {
  readonly label: string;
  /** Text shown while nothing is chosen. */
  readonly prompt: string;
  readonly options: readonly Option<string>[];
  onAdd(value: string): void;
}

/**
 * Renders a select element that adds one of several options. A mouse click adds an option at once. With the keyboard,
 * arrow keys move through the list; Enter or the button adds the option.
 */
export function AddSelect({ label, prompt, options, onAdd }: AddSelectProps) {
  const [chosen, setChosen] = useState('');
  const isByKeys = useRef(false);
  const add = (value: string) => {
    setChosen('');
    isByKeys.current = false;
    if (value !== '') onAdd(value);
  };
  const text = options.find(({ value }) => value === chosen)?.text;
  return (
    <span class="add-select">
      <label class="select">
        <span class="unseen">{label}</span>
        <select
          class="control"
          value={chosen}
          onPointerDown={() => {
            isByKeys.current = false;
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') isByKeys.current = true;
            else if (chosen !== '') {
              event.preventDefault();
              add(chosen);
            }
          }}
          onChange={({ currentTarget }) => {
            const { value } = currentTarget;
            if (isByKeys.current) return setChosen(value);
            currentTarget.value = '';
            add(value);
          }}
        >
          <option value="">{prompt}</option>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.text}
            </option>
          ))}
        </select>
      </label>
      {text !== undefined && (
        <Button onClick={() => add(chosen)}>
          <Icon name="plus" /> Add {text}
        </Button>
      )}
    </span>
  );
}
