import type { Column, Selection } from './columns.js';

/** Id of the column of checkboxes. */
export const SELECT_COLUMN = 'select';

/**
 * Creates a column of checkboxes. The space key also selects a row.
 * @param found rows that the checkbox in the header selects
 */
export function selectColumn<R>(
  { keys, isLimited, onChange }: Selection,
  { label, getKey, found }: { readonly label: string; getKey(row: R): string; found(): readonly R[] },
): Column<R> {
  return {
    id: SELECT_COLUMN,
    title: '',
    width: 38,
    value: () => null,
    head() {
      if (isLimited) return null;
      const foundKeys = found().map(getKey);
      const isWhole = foundKeys.length > 0 && foundKeys.every((key) => keys.includes(key));
      return (
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Select all ${label}`}
          checked={isWhole}
          indeterminate={!isWhole && keys.length > 0}
          onChange={() => onChange(isWhole ? [] : foundKeys)}
        />
      );
    },
    show(row) {
      const key = getKey(row);
      return (
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={key}
          checked={keys.includes(key)}
          onChange={() => onChange(toggleSelection(keys, key))}
        />
      );
    },
  };
}

export const toggleSelection = (keys: readonly string[], key: string): readonly string[] =>
  keys.includes(key) ? keys.filter((one) => one !== key) : [...keys, key];
