import type { SweepView } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import { isLogarithmic, ScaleChoice } from '../../components/chart/scale-choice.js';
import type { Line } from '../../components/chart/series.js';
import { Section } from '../../components/page.js';
import { formatCount } from '../../words/numbers.js';
import { FIRST_COLOUR } from './map-colours.js';
import { createReferenceLine, REFERENCE_COLOUR, type Reference } from './reference-line.js';
import { findBest, nameVariant, type ParameterLabels } from './values.js';

const QUANTILE_LABELS: Readonly<Record<string, string>> = { '0': 'Lowest', '0.5': 'Median', '1': 'Highest' };

/** Shares of the variants that are drawn: the lowest level, the median and the highest level. */
const DRAWN_SHARES: readonly number[] = [0, 0.5, 1];

/** Grey of the quantiles. Only the first variant and the index have other colours. */
const QUANTILE_COLOUR = 12;

/** Widths of lines in pixels: of the first variant, and of others. The dashes of the index are drawn on top of both. */
const FIRST_WIDTH = 2.75;
const OTHER_WIDTH = 2;

/** Number of variants from which interpolated quantiles are drawn. */
const INTERPOLATED_MIN = 10;

type FanView = NonNullable<SweepView['fan']>;
type Rows = SweepView['rows'];

interface FanProps {
  readonly fan: FanView;
  readonly rows: Rows;
  readonly labels: ParameterLabels;
  /** Newest run of the index; null if there is none, or until it is loaded. */
  readonly reference: Reference | null;
}

/**
 * Renders the levels over time of each variant if there are few, otherwise their quantiles on each date. The newest run
 * of the index is drawn for comparison.
 */
export function Fan({ fan, rows, labels, reference }: FanProps) {
  const { levels = [] } = fan;
  // The labels come from documents that do not change while the page is open.
  const lines = useMemo(
    () => [
      ...(levels.length > 0 ? createVariantLines(levels, rows, labels) : createQuantileLines(fan, rows, labels)),
      ...createReferenceLine(fan.index, reference),
    ],
    [fan, rows, reference],
  );
  const isLog = isLogarithmic(lines, 0, fan.index.length - 1);
  return (
    <Section
      title="Levels of the variants"
      aside={
        <>
          {levels.length === 0 && 'quantiles of each date, '}
          {formatCount(fan.index.length)} dates, first date = 100 <ScaleChoice isLog={isLog} />
        </>
      }
    >
      <Chart label="Levels of the variants" dates={fan.index} lines={lines} isLog={isLog} height={320} />
    </Section>
  );
}

const formatFirst = (row: Rows[number] | undefined, labels: ParameterLabels): string =>
  ['First by rank', row === undefined ? '' : nameVariant(row.patch, labels)].filter(Boolean).join(': ');

/** Creates one line per variant, by rank. Variants with identical levels have one line. */
const createVariantLines = (
  levels: NonNullable<FanView['levels']>,
  rows: Rows,
  labels: ParameterLabels,
): readonly Line[] =>
  rows
    .flatMap((row) => {
      const data = levels.find(({ variant }) => variant === row.variant)?.data;
      return data === undefined ? [] : [{ row, data }];
    })
    .map(({ row, data }, k) => ({
      id: String(row.variant),
      label: row.rank === 1 ? formatFirst(row, labels) : nameVariant(row.patch, labels),
      values: data,
      colour: k === 0 ? FIRST_COLOUR : REFERENCE_COLOUR + k,
      width: k === 0 ? FIRST_WIDTH : OTHER_WIDTH,
    }));

/** Returns the quantiles from the highest to the lowest. With few variants, each is the level of a variant. */
const selectQuantiles = ({ quantiles, variants }: FanView): FanView['quantiles'] =>
  quantiles
    .filter(({ share }) => DRAWN_SHARES.includes(share))
    .filter(({ share }) => variants >= INTERPOLATED_MIN || Number.isInteger(share * (variants - 1)))
    .toReversed();

const createQuantileLines = (fan: FanView, rows: Rows, labels: ParameterLabels): readonly Line[] => [
  ...(fan.first === null
    ? []
    : [
        {
          id: 'first',
          label: formatFirst(findBest({ rows }), labels),
          values: fan.first,
          colour: FIRST_COLOUR,
          width: FIRST_WIDTH,
        },
      ]),
  ...selectQuantiles(fan).map(({ share, data }) => ({
    id: String(share),
    label: QUANTILE_LABELS[String(share)] ?? String(share),
    values: data,
    colour: QUANTILE_COLOUR,
    isDashed: share === 0 || share === 1,
    ...(share === 0.5 && { width: OTHER_WIDTH }),
  })),
];
