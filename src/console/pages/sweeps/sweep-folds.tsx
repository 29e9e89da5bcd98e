import type { SweepFoldsView, SweepView } from '#clients/typescript/divisor.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { formatLabel } from '../../words/labels.js';
import { countValues, formatCount, formatDecimal, formatPercent } from '../../words/numbers.js';
import { formatMetric } from './values.js';

type Choice = SweepFoldsView['choices'][number];

interface SweepFoldsProps {
  readonly folds: SweepFoldsView;
  /** Names a variant by the values that it sets. */
  nameOf(variant: number): string;
}

/** Renders how the best variant of a sweep performs out of sample after it was selected. */
export function SweepFolds({ folds, nameOf }: SweepFoldsProps) {
  const write = folds.select_by === 'sharpe_ratio' ? (value: number | null) => formatDecimal(value, 3) : formatPercent;
  const outside = folds.over_paths[folds.select_by];
  const metricLabel = formatLabel(folds.select_by);
  return (
    <Section
      title="Out of sample"
      aside={`chosen by ${formatMetric(folds.select_by)}, ${folds.method.replaceAll('_', ' ')}`}
    >
      <Metrics
        label="The choice out of sample"
        metrics={[
          {
            term: `${metricLabel} in sample`,
            value: write(folds.in_sample.mean),
            note: `mean of ${formatCount(folds.choices.length)} splits`,
          },
          {
            term: `${metricLabel} out of sample`,
            value: write(folds.out_of_sample.mean),
            note: `mean of the same ${formatCount(folds.choices.length)} splits`,
          },
          {
            term: `${metricLabel} of the joined ${folds.paths.length === 1 ? 'path' : 'paths'}`,
            value: write(outside.percentiles['0.5'] ?? null),
            note: folds.paths.length === 1 ? 'one path over all tests' : formatRange(folds, write),
            help: 'A path joins the tests of several splits, so that it contains each group once',
          },
          {
            term: 'Paths with a loss',
            value: formatPercent(folds.probability_of_loss, 1),
            note: `of ${countValues(folds.paths.length, 'path')}, by total return`,
          },
          { term: 'Variants chosen', value: formatCount(folds.chosen.length), note: formatChosen(folds, nameOf) },
          {
            term: 'Sessions left out',
            value: `${formatCount(folds.left_before)} before, ${formatCount(folds.left_after)} after`,
            note: 'each test',
          },
        ]}
      />
      <Table
        label="choices by split"
        name="folds"
        columns={createColumns(folds, nameOf, write)}
        rows={folds.choices}
        getKey={({ test }) => test.join('-')}
      />
    </Section>
  );
}

function formatRange(
  { over_paths: over, paths, select_by: metric }: SweepFoldsView,
  write: (value: number | null) => string,
) {
  const { percentiles } = over[metric];
  return `median; ${write(percentiles['0.05'] ?? null)} to ${write(percentiles['0.95'] ?? null)} in 90% of ${formatCount(paths.length)}`;
}

/** Describes the variant that was selected in most folds. */
function formatChosen({ chosen, choices }: SweepFoldsView, nameOf: SweepFoldsProps['nameOf']): string {
  const [first] = chosen;
  return first === undefined
    ? ''
    : `${nameOf(first.variant)} in ${formatCount(first.splits)} of ${formatCount(choices.length)}`;
}

function createColumns(
  { groups }: SweepFoldsView,
  nameOf: SweepFoldsProps['nameOf'],
  write: (value: number | null) => string,
): readonly Column<Choice>[] {
  const listSpans = (positions: readonly number[]): readonly string[] =>
    positions.map((group) => `${groups[group]?.start ?? ''} to ${groups[group]?.end ?? ''}`);
  return [
    {
      id: 'test',
      title: 'Tested on',
      width: 190,
      ideal: 390,
      grow: 1,
      lines: 2,
      value: ({ test }) => listSpans(test).join(', '),
      show: ({ test }) => listSpans(test).map((span, k) => [k > 0 && ', ', <span class="whole-date">{span}</span>]),
    },
    { id: 'chosen', title: 'Chosen variant', width: 140, grow: 1, value: ({ variant }) => nameOf(variant) },
    createNumericColumn({ id: 'inside', title: 'In sample', width: 90, of: (row) => row.in_sample, write }),
    createNumericColumn({ id: 'outside', title: 'Out of sample', width: 110, of: (row) => row.out_of_sample, write }),
    {
      id: 'place',
      title: 'Rank',
      help: 'Of the variant among all trials on the test, 1 for the best',
      width: 56,
      align: 'right',
      value: ({ rank }) => rank,
    },
  ];
}

type Shortage = NonNullable<SweepView['folds_shortage']>;

/** Renders the reason why the choice was not tested out of sample. */
export const FoldsShortage = ({ observations, needed }: Shortage) => (
  <Section title="Out of sample">
    <p>
      The choice was not tested: the variants have {formatCount(observations)} common returns, but the test needs{' '}
      {formatCount(needed)}.
    </p>
  </Section>
);
