import type { SweepView } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import { isLogarithmic, ScaleChoice } from '../../components/chart/scale-choice.js';
import type { Line } from '../../components/chart/series.js';
import { Section } from '../../components/page.js';
import type { Json } from '../../words/paths.js';
import { formatWithUnit, type ParameterLabels } from './values.js';

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

/** Returns the quantiles from the highest to the lowest. With few variants, each is the level of a variant. */
const selectQuantiles = ({ quantiles, variants }: FanProps['fan']): FanProps['fan']['quantiles'] =>
  quantiles
    .filter(({ share }) => variants >= INTERPOLATED_MIN || Number.isInteger(share * (variants - 1)))
    .toReversed();

interface FanProps {
  readonly fan: NonNullable<SweepView['fan']>;
  /** Values that the first variant sets, by their pointers. */
  readonly patch: SweepView['rows'][number]['patch'];
  readonly labels: ParameterLabels;
}

/**
 * Renders the levels of all variants over time, as quantiles of each date, and the level of the first variant, which
 * is labelled by its values.
 */
export function Fan({ fan, patch, labels }: FanProps) {
  const values = Object.entries(patch).map(([pointer, value]) => formatWithUnit(value as Json, labels(pointer).unit)); // patch values are plain JSON
  const firstLabel = ['First by rank', values.join(', ')].filter(Boolean).join(': ');
  const lines = useMemo(
    (): readonly Line[] => [
      ...(fan.first === null ? [] : [{ id: 'first', label: firstLabel, values: fan.first, colour: 2 }]),
      ...selectQuantiles(fan).map(({ share, data }) => ({
        id: String(share),
        label: QUANTILE_LABELS[String(share)] ?? String(share),
        values: data,
        colour: QUANTILE_COLOURS[String(share)] ?? 12,
        isDashed: share === 0 || share === 1,
      })),
    ],
    [fan, firstLabel],
  );
  const isLog = isLogarithmic(lines, 0, fan.index.length - 1);
  return (
    <Section
      title="Levels of the variants"
      aside={
        <>
          quantiles of each date, first date = 100 <ScaleChoice isLog={isLog} />
        </>
      }
    >
      <Chart label="Levels of the variants" dates={fan.index} lines={lines} isLog={isLog} height={280} />
    </Section>
  );
}
