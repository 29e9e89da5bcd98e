import { useId } from 'preact/hooks';
import { formatCount } from '../words/numbers.js';
import './control.css';
import './choice.css';

export interface Option<V extends string> {
  readonly value: V;
  readonly text: string;
  readonly help?: string;
  /** Number of rows of the option. */
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

/** Renders a select element with the options. */
export function Select<V extends string>({ label, options, value, onChoose, isLabelShown = false }: SelectProps<V>) {
  return (
    <label class="select">
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
