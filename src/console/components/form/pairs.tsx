import { useEffect, useState } from 'preact/hooks';
import { isObject, type Json } from '../../words/paths.js';
import { parsePastedPairs, type Pair } from '../../words/pasted.js';
import { formatQuantity, formatTypedQuantity, isFraction, parseQuantity } from '../../words/quantities.js';
import { Button } from '../button.js';
import { Icon } from '../icon.js';

interface PairsProps {
  readonly id: string;
  readonly label: string;
  readonly value: Json | undefined;
  /** True if the values are numbers. */
  readonly isNumeric: boolean;
  readonly unit: string | null;
  readonly isInvalid: boolean;
  readonly describedBy: string | undefined;
  onChange(value: Json | undefined): void;
}

/** Renders an object of texts or numbers as rows of name and value. */
export function Pairs({ id, label, value, isNumeric, unit, isInvalid, describedBy, onChange }: PairsProps) {
  const toObject = isNumeric ? createNumbers(unit) : toTexts;
  const valueJson = JSON.stringify(value ?? {});
  const [pairs, setPairs] = useState(() => listPairs(value, unit));
  useEffect(() => {
    if (JSON.stringify(toObject(pairs)) !== valueJson) setPairs(listPairs(value, unit));
  }, [valueJson]);
  const change = (next: readonly Pair[]) => {
    setPairs(next);
    onChange(toObject(next));
  };
  /** Replaces one row with the rows that were pasted from a spreadsheet. */
  const paste = (position: number) => (event: ClipboardEvent) => {
    const rows = parsePastedPairs(event.clipboardData?.getData('text/plain') ?? '');
    if (rows.length === 0) return;
    event.preventDefault();
    change([...pairs.slice(0, position), ...rows, ...pairs.slice(position + 1).filter(([name]) => name !== '')]);
  };
  const put = (position: number, pair: Pair) =>
    change(pairs.map((otherPair, i) => (i === position ? pair : otherPair)));
  return (
    <div id={id} class="pairs" role="group" aria-label={label} aria-describedby={describedBy}>
      {pairs.map(([name, text], position) => (
        <div key={position} class="pair">
          <input
            class="control"
            aria-label={`${label}: name ${position + 1}`}
            aria-invalid={isInvalid}
            spellcheck={false}
            value={name}
            onPaste={paste(position)}
            onInput={(event) => put(position, [event.currentTarget.value, text])}
          />
          <input
            class="control"
            aria-label={name === '' ? `${label}: value ${position + 1}` : `${label}: ${name}`}
            inputMode={isNumeric ? 'decimal' : 'text'}
            spellcheck={false}
            value={text}
            onInput={(event) => put(position, [name, event.currentTarget.value])}
          />
          {isFraction(unit) && <span class="quiet">{formatInterpretation(text, unit)}</span>}
          <Button
            kind="bare"
            aria-label={`Remove ${name === '' ? `line ${position + 1}` : name} of ${label}`}
            onClick={() => change(pairs.filter((_, i) => i !== position))}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
      <Button aria-label={`Add to ${label}`} onClick={() => setPairs([...pairs, ['', '']])}>
        <Icon name="plus" /> Add
      </Button>
    </div>
  );
}

const listPairs = (value: Json | undefined, unit: string | null): readonly Pair[] =>
  isObject(value) ? Object.entries(value).map(([name, own]): Pair => [name, formatPairValue(own, unit)]) : [];

function formatPairValue(value: Json | undefined, unit: string | null): string {
  if (typeof value === 'number') return formatTypedQuantity(value, unit);
  return value === undefined ? '' : String(value);
}

const toTexts = (pairs: readonly Pair[]): Json => Object.fromEntries(pairs.filter(([name]) => name !== ''));

/**
 * Creates a function that converts rows to numbers. Text that is not a number is sent as it was typed, and the service
 * reports the error.
 */
const createNumbers =
  (unit: string | null) =>
  (pairs: readonly Pair[]): Json =>
    Object.fromEntries(
      pairs.filter(([name]) => name !== '').map(([name, text]) => [name, parseQuantity(text, unit) ?? text]),
    );

/** Formats how a typed number is understood, such as `= -20%`. A typed percentage needs no explanation. */
function formatInterpretation(text: string, unit: string | null): string {
  const read = parseQuantity(text, unit);
  return read === undefined || text.trim().endsWith('%') ? '' : `= ${formatQuantity(read, unit)}`;
}
