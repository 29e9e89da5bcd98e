import type { Column, Selection } from './columns.js';

/** Id of the column of checkboxes. */
export const SELECT_COLUMN = 'select';

/**
 * Creates a column of checkboxes. The space key also selects a row.
 * @param found rows that the checkbox in the header selects
 */
export function selectColumn<R>(
  selection: Selection,
  { label, getKey, found }: { readonly label: string; getKey(row: R): string; found(): readonly R[] },
): Column<R> {
  const { keys, max, onChange } = selection;
  return {
    id: SELECT_COLUMN,
    title: '',
    width: 38,
    value: () => null,
    head() {
      if (max !== undefined) return null;
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
          onChange={() => toggleSelection(selection, key)}
        />
      );
    },
  };
}

export function toggleSelection({ keys, max = Infinity, onChange }: Selection, key: string): void {
  onChange(keys.includes(key) ? keys.filter((one) => one !== key) : [...keys, key].slice(-max));
}
