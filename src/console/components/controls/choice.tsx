import '../control.css';
import '../choice.css';
import '../toggles.css';
import { useId, useRef, useState } from 'preact/hooks';
import { formatCount } from '../../words/numbers.js';
import { Button, Icon } from './button.js';

export interface Option<V extends string> {
  readonly value: V;
  readonly text: string;
  readonly help?: string;
  readonly count?: number;
}

interface ChoiceProps<V extends string> {
  readonly label: string;
  readonly options: readonly Option<V>[];
  readonly value: V;
  onChoose(value: V): void;
}

/** Renders a few options side by side. One of them is selected. */
export function Choice<V extends string>({ label, options, value, onChoose }: ChoiceProps<V>) {
  const name = useId();
  return (
    <fieldset class="choice">
      <legend class="unseen">{label}</legend>
      {options.map((option) => (
        <label key={option.value} title={option.help}>
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChoose(option.value)}
          />
          <span>
            {option.text}
            {option.count !== undefined && <small class="quiet">{formatCount(option.count)}</small>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

interface SelectProps<V extends string> extends ChoiceProps<V> {
  readonly isLabelShown?: boolean;
}

export function Select<V extends string>({ label, options, value, onChoose, isLabelShown = false }: SelectProps<V>) {
  return (
    <label class="inline-line gap-2 select">
      <span class={isLabelShown ? 'quiet' : 'unseen'}>{label}</span>
      <select class="control" value={value} onChange={(event) => onChoose(event.currentTarget.value as V)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
    </label>
  );
}

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
    <span class="gap-2 add-select">
      <label class="inline-line gap-2 select">
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

interface TogglesProps<V extends string> {
  readonly label: string;
  readonly values: readonly V[];
  readonly chosen: readonly V[];
  /** Maximum number of selected values. Default: no limit. */
  readonly most?: number;
  /** Returns the colour of the mark before a selected value. */
  readonly chooseColour?: (value: V) => string;
  /** Returns the classes of the mark before every value. For toggles that are also a legend. */
  readonly formatMark?: (value: V) => string;
  /** Label of a button that means all values. It is pressed if no value is selected. */
  readonly every?: string | undefined;
  /** Returns the label of a value. Default: the value. */
  readonly formatLabel?: (value: V) => string;
  onChoose(chosen: readonly V[]): void;
}

/** Renders values as toggle buttons, of which any number can be selected. */
export function Toggles<V extends string>({
  label,
  values,
  chosen,
  most,
  chooseColour,
  formatMark,
  every,
  formatLabel = (value) => value,
  onChoose,
}: TogglesProps<V>) {
  const toggle = (value: V) => (chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value]);
  return (
    <div class="wrap gap-2 toggles" role="group" aria-label={label}>
      {every !== undefined && (
        <button type="button" aria-pressed={chosen.length === 0} onClick={() => onChoose([])}>
          {every}
        </button>
      )}
      {values.map((value) => (
        <button
          key={value}
          type="button"
          aria-pressed={chosen.includes(value)}
          disabled={!chosen.includes(value) && chosen.length >= (most ?? Infinity)}
          onClick={() => onChoose(toggle(value))}
        >
          {chooseColour !== undefined && chosen.includes(value) && (
            <span class="swatch" style={{ color: chooseColour(value) }} />
          )}
          {formatMark !== undefined && <span class={formatMark(value)} />}
          {formatLabel(value)}
        </button>
      ))}
    </div>
  );
}
