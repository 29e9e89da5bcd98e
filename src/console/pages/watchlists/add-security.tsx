import { useId, useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Icon } from '../../components/icon.js';
import type { Security } from './watched-columns.js';

/** Maximum number of suggestions. */
const SUGGESTED_MAX = 20;

interface AddSecurityProps {
  /** Securities of the store. */
  readonly known: readonly Security[];
  /** Identifiers of the list. */
  readonly listed: readonly string[];
  /** True for an input that takes the width of the page. */
  readonly isWide: boolean;
  onAdd(identifiers: readonly string[]): void;
}

/** Renders an input for one or several identifiers with a button. It suggests identifiers and companies. */
export function AddSecurity({ known, listed, isWide, onAdd }: AddSecurityProps) {
  const [typed, setTyped] = useState('');
  const listId = useId();
  const addedIdentifiers = parseTyped(typed, known).filter((identifier) => !listed.includes(identifier));
  return (
    <form
      class={isWide ? 'form-actions is-wide' : 'form-actions'}
      onSubmit={(event) => {
        event.preventDefault();
        if (addedIdentifiers.length > 0) onAdd([...new Set(addedIdentifiers)]);
        setTyped('');
      }}
    >
      <input
        class="control"
        aria-label="Security to add"
        placeholder="Add a security or company"
        list={listId}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <datalist id={listId}>
        {suggestionsFor(typed, known, listed).map(({ identifier, name }) => (
          <option key={identifier} value={identifier}>
            {name}
          </option>
        ))}
      </datalist>
      <Button type="submit" disabled={addedIdentifiers.length === 0}>
        <Icon name="plus" /> Add
      </Button>
    </form>
  );
}

/**
 * Returns the identifiers that were typed, separated by commas. Upper and lower case are those of the store. The name
 * of a company stands for its security.
 */
function parseTyped(typed: string, securities: readonly Security[]): readonly string[] {
  return typed
    .split(/[,;\n]/)
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map((text) => {
      const wantedText = text.toLowerCase();
      const foundSecurities = securities.find(
        ({ identifier, name }) => identifier.toLowerCase() === wantedText || name?.toLowerCase() === wantedText,
      );
      return foundSecurities?.identifier ?? text;
    });
}

function suggestionsFor(
  typed: string,
  securities: readonly Security[],
  listed: readonly string[],
): readonly Security[] {
  const text = typed.trim().toLowerCase();
  if (text === '') return [];
  return securities
    .filter(
      ({ identifier, name }) =>
        !listed.includes(identifier) && `${identifier} ${name ?? ''}`.toLowerCase().includes(text),
    )
    .slice(0, SUGGESTED_MAX);
}
