import '../sparkline.css';

const WIDTH = 96;
const HEIGHT = 24;

interface SparklineProps {
  readonly values: readonly (number | null)[];
  /** Positions of the values on the time axis, from 0 to 1. Default: equal distances over the whole axis. */
  readonly positions?: readonly number[] | undefined;
  /** Description of the line for screen readers. */
  readonly label: string;
}

/** Renders a line without axes. */
export function Sparkline({ values, positions, label }: SparklineProps) {
  const knownValues = values.filter((value): value is number => value !== null);
  if (knownValues.length < 2) return null;
  const least = Math.min(...knownValues);
  const span = Math.max(...knownValues) - least || 1;
  const points = knownValues.map((value, i) => {
    const x = (positions?.[i] ?? i / (knownValues.length - 1)) * (WIDTH - 2) + 1;
    const y = HEIGHT - 2 - ((value - least) / span) * (HEIGHT - 4);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  const isUp = knownValues.at(-1)! >= knownValues[0]!;
  return (
    <svg class={`sparkline ${isUp ? 'up' : 'down'}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <polyline points={points.join(' ')} />
    </svg>
  );
}
