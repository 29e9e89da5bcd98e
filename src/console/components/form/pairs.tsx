import { useEffect, useState } from 'preact/hooks';
import { isObject, type Json } from '../../words/paths.js';
import { Button } from '../button.js';
import { Icon } from '../icon.js';

interface PairsProps {
  readonly id: string;
  readonly label: string;
  readonly value: Json | undefined;
  /** Whether what stands beside a name is a number. */
  readonly isNumeric: boolean;
  readonly isInvalid: boolean;
  readonly describedBy: string | undefined;
  onChange(value: Json | undefined): void;
}

type Pair = readonly [name: string, value: string];

/** Names, and what stands beside each. */
export function Pairs({ id, label, value, isNumeric, isInvalid, describedBy, onChange }: PairsProps) {
  const written = JSON.stringify(value ?? {});
  const [pairs, setPairs] = useState(() => pairsOf(value));
  useEffect(() => {
    if (JSON.stringify(objectOf(pairs, isNumeric)) !== written) setPairs(pairsOf(value));
  }, [written]);
  const change = (next: readonly Pair[]) => {
    setPairs(next);
    onChange(objectOf(next, isNumeric));
  };
  const put = (at: number, pair: Pair) => change(pairs.map((own, i) => (i === at ? pair : own)));
  return (
    <div id={id} class="pairs" role="group" aria-label={label} aria-describedby={describedBy}>
      {pairs.map(([name, text], at) => (
        <div key={at} class="pair">
          <input
            class="control"
            aria-label={`${label}: name ${at + 1}`}
            aria-invalid={isInvalid}
            spellcheck={false}
            value={name}
            onInput={(event) => put(at, [event.currentTarget.value, text])}
          />
          <input
            class="control"
            aria-label={name === '' ? `${label}: value ${at + 1}` : `${label}: ${name}`}
            inputMode={isNumeric ? 'decimal' : 'text'}
            spellcheck={false}
            value={text}
            onInput={(event) => put(at, [name, event.currentTarget.value])}
          />
          <Button
            kind="bare"
            aria-label={`Remove ${name === '' ? `line ${at + 1}` : name} of ${label}`}
            onClick={() => change(pairs.filter((_, i) => i !== at))}
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

const pairsOf = (value: Json | undefined): readonly Pair[] =>
  isObject(value) ? Object.entries(value).map(([name, own]): Pair => [name, own === undefined ? '' : String(own)]) : [];

/** What is no number goes to the service as it was typed: it says what is wrong with it. */
function objectOf(pairs: readonly Pair[], isNumeric: boolean): Json {
  const read = (text: string) => {
    const number = Number(text);
    return isNumeric && text.trim() !== '' && Number.isFinite(number) ? number : text;
  };
  return Object.fromEntries(pairs.filter(([name]) => name !== '').map(([name, text]) => [name, read(text)]));
}
