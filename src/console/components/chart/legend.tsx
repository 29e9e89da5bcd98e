import { getColour, getSwatchWidth, formatValueAt, type Line, type Mark, type Unit } from './series.js';

interface LegendProps {
  readonly dates: readonly string[];
  readonly at: number;
  readonly lines: readonly Line[];
  readonly unit: Unit;
  readonly mark: Mark | undefined;
  /** Meaning of the marks on the axis. */
  readonly marksAre?: string | undefined;
  /** Reports the line whose label is under the pointer; null if there is none. */
  onPoint(id: string | null): void;
}

/** Renders the label of each colour and the value of each line at the cursor. */
export function Legend({ dates, at, lines, unit, mark, marksAre, onPoint }: LegendProps) {
  return (
    <div class="legend">
      <span class="legend-date">{dates[at]}</span>
      {lines.map(({ id, label, colour, values, isDashed, isBars, width }) => (
        <span key={id} class="legend-line" onPointerEnter={() => onPoint(id)} onPointerLeave={() => onPoint(null)}>
          <Swatch {...{ colour, isDashed, width }} />
          {label}{' '}
          <span class="number">
            {isBars === true ? formatLastBar(values, { at, dates, unit }) : formatValueAt(values, at, unit)}
          </span>
        </span>
      ))}
      {marksAre !== undefined && <MarkLegend text={marksAre} />}
      {mark !== undefined && <a href={mark.address}>{mark.label}</a>}
    </div>
  );
}

interface BarPlace {
  readonly at: number;
  readonly dates: readonly string[];
  readonly unit: Unit;
}

/** Formats the last bar on or before a date. If it is earlier, its date is added. */
function formatLastBar(values: Line['values'], { at, dates, unit }: BarPlace): string {
  const last = values.findLastIndex((value, t) => t <= at && value !== null);
  const text = formatValueAt(values, last, unit);
  return last < 0 || last === at ? text : `${text} on ${dates[last]}`;
}

interface SwatchProps {
  readonly colour: number;
  readonly isDashed: boolean | undefined;
  readonly width: number | undefined;
}

/** Renders the key of a line: its colour, its dashes, and its width if it is wide. */
export const Swatch = ({ colour, isDashed, width }: SwatchProps) => (
  <span
    class={isDashed === true ? 'swatch dashed' : 'swatch'}
    style={{ color: getColour(colour), borderTopWidth: `${getSwatchWidth(width)}px` }}
  />
);

/** Renders the meaning of the triangles on the date axis. */
export const MarkLegend = ({ text }: { readonly text: string }) => (
  <span class="legend-line mark-key">
    <span aria-hidden="true">▲</span> {text}
  </span>
);
