import './toggles.css';

interface TogglesProps<V extends string> {
  readonly label: string;
  readonly values: readonly V[];
  readonly chosen: readonly V[];
  /** Maximum number of selected values. Default: no limit. */
  readonly most?: number;
  /** Colour of a chosen value, as a mark before its text. */
  readonly colourOf?: (value: V) => string;
  /** Label of a value. Default: the value itself. */
  readonly wordOf?: (value: V) => string;
  onChoose(chosen: readonly V[]): void;
}

/** Any of several values, each a button that is pressed or not. */
export function Toggles<V extends string>({
  label,
  values,
  chosen,
  most,
  colourOf,
  wordOf = (value) => value,
  onChoose,
}: TogglesProps<V>) {
  const toggle = (value: V) => (chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value]);
  return (
    <div class="toggles" role="group" aria-label={label}>
      {values.map((value) => (
        <button
          key={value}
          type="button"
          aria-pressed={chosen.includes(value)}
          disabled={!chosen.includes(value) && chosen.length >= (most ?? Infinity)}
          onClick={() => onChoose(toggle(value))}
        >
          {colourOf !== undefined && chosen.includes(value) && (
            <span class="swatch" style={{ color: colourOf(value) }} />
          )}
          {wordOf(value)}
        </button>
      ))}
    </div>
  );
}
