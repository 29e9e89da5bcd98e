import './toggles.css';

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
    <div class="toggles" role="group" aria-label={label}>
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
