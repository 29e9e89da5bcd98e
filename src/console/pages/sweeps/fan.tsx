import type { SweepView } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import { isLogarithmic, ScaleChoice } from '../../components/chart/scale-choice.js';
import type { Line } from '../../components/chart/series.js';
import { Section } from '../../components/page.js';
import { formatCount } from '../../words/numbers.js';
import type { Json } from '../../words/paths.js';
import { findBest, formatWithUnit, type ParameterLabels } from './values.js';

const QUANTILE_LABELS: Readonly<Record<string, string>> = {
  '0': 'Lowest',
  '0.25': 'Lower quartile',
  '0.5': 'Median',
  '0.75': 'Upper quartile',
  '1': 'Highest',
};

/** Colours of the quantiles. The first variant has colour 2. */
const QUANTILE_COLOURS: Readonly<Record<string, number>> = { '0': 7, '0.25': 5, '0.5': 1, '0.75': 8, '1': 10 };

/** Number of variants from which interpolated quantiles are drawn. */
const INTERPOLATED_MIN = 10;

type FanView = NonNullable<SweepView['fan']>;
type Rows = SweepView['rows'];

interface FanProps {
  readonly fan: FanView;
  readonly rows: Rows;
  readonly labels: ParameterLabels;
}

/** Renders the levels over time of each variant if there are few. Otherwise renders their quantiles on each date. */
export function Fan({ fan, rows, labels }: FanProps) {
  const { levels = [] } = fan;
  // The labels come from documents that do not change while the page is open.
  const lines = useMemo(
    () => (levels.length > 0 ? createVariantLines(levels, rows, labels) : createQuantileLines(fan, rows, labels)),
    [fan, rows],
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
      <Chart label="Levels of the variants" dates={fan.index} lines={lines} isLog={isLog} height={280} />
    </Section>
  );
}

/** Formats the values that a variant sets. */
const formatValues = ({ patch }: Rows[number], labels: ParameterLabels): string =>
  Object.entries(patch)
    .map(([pointer, value]) => formatWithUnit(value as Json, labels(pointer).unit)) // patch values are plain JSON
    .join(', ');

const formatFirst = (row: Rows[number] | undefined, labels: ParameterLabels): string =>
  ['First by rank', row === undefined ? '' : formatValues(row, labels)].filter(Boolean).join(': ');

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
      label: row.rank === 1 ? formatFirst(row, labels) : formatValues(row, labels),
      values: data,
      colour: k === 0 ? 2 : k === 1 ? 1 : k + 1,
    }));

/** Returns the quantiles from the highest to the lowest. With few variants, each is the level of a variant. */
const selectQuantiles = ({ quantiles, variants }: FanView): FanView['quantiles'] =>
  quantiles
    .filter(({ share }) => variants >= INTERPOLATED_MIN || Number.isInteger(share * (variants - 1)))
    .toReversed();

const createQuantileLines = (fan: FanView, rows: Rows, labels: ParameterLabels): readonly Line[] => [
  ...(fan.first === null
    ? []
    : [{ id: 'first', label: formatFirst(findBest({ rows }), labels), values: fan.first, colour: 2 }]),
  ...selectQuantiles(fan).map(({ share, data }) => ({
    id: String(share),
    label: QUANTILE_LABELS[String(share)] ?? String(share),
    values: data,
    colour: QUANTILE_COLOURS[String(share)] ?? 12,
    isDashed: share === 0 || share === 1,
  })),
];
