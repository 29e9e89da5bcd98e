import type { OptimisationRunResult } from '#clients/typescript/divisor.js';
import { Bars, type BarEntry } from '../../components/bars.js';
import { labelWithName } from '../../components/name-column.js';
import { Section } from '../../components/page.js';
import type { NameFacts } from '../../state/names.js';
import { formatPoints } from '../../words/numbers.js';
import { listBindingMembers } from './bounds.js';
import type { ChosenPoint } from './frontier-point.js';
import { computeShownActive, DIGITS } from './weight-columns.js';

interface ActiveBarsProps {
  readonly run: OptimisationRunResult;
  readonly facts: ReadonlyMap<string, NameFacts>;
  /**
   * Point of the frontier whose weights are compared with the index. If absent, the weights of the solution are
   * compared.
   */
  readonly point: ChosenPoint | undefined;
  /** Labels of the binding bounds of the solution. */
  readonly bindingLabels: readonly string[];
}

/** Number of securities with the largest active weights. */
const SHOWN = 10;

/** Half of the last digit that a percentage shows. */
const SHOWN_MIN = 5e-5;

/** Formats an active weight. It has as many digits as in the table of weights. */
const formatActiveWeight = (value: number): string => formatPoints(value, DIGITS);

/** Renders the largest active weights of securities. If sectors are known, renders their active weights as well. */
export function ActiveBars({ run: { weights, index_id: index }, facts, point, bindingLabels }: ActiveBarsProps) {
  const pointWeights = point?.point.weights;
  const active = weights.map((row) => {
    const weight = pointWeights === undefined ? row.weight : (pointWeights[row.identifier] ?? 0);
    return {
      label: labelWithName(row.identifier, facts),
      value: computeShownActive({ weight, index_weight: row.index_weight }),
      exact: weight - row.index_weight,
      sector: facts.get(row.identifier)?.sector ?? 'No sector',
    };
  });
  const largest = sortBySize(active.filter(({ value }) => Math.abs(value) >= SHOWN_MIN)).slice(0, SHOWN);
  if (largest.length === 0) return null;
  const hasSectors = [...facts.values()].some(({ sector }) => sector !== null);
  const limitedNames =
    pointWeights === undefined
      ? listBindingMembers(bindingLabels, (row) => /^Active\w*Group/.test(row))
      : new Set<string>();
  const sums = new Map<string, number>();
  for (const { sector, exact } of active) sums.set(sector, (sums.get(sector) ?? 0) + exact);
  const sectors = sortBySize(
    [...sums].map(([sector, value]): BarEntry => ({
      label: limitedNames.has(sector) ? `${sector} (at limit)` : sector,
      value,
    })),
  ).slice(0, SHOWN);
  return (
    <div class="active-bars">
      <Section
        title="Largest active weights"
        aside={point === undefined ? `more or less than in ${index}` : `${point.label}, more or less than in ${index}`}
      >
        <Bars label="Largest active weights" bars={bySign(largest)} format={formatActiveWeight} />
      </Section>
      {hasSectors && (
        <Section title="Active weights of sectors">
          <Bars label="Active weights of sectors" bars={bySign(sectors)} format={formatActiveWeight} />
        </Section>
      )}
    </div>
  );
}

const sortBySize = (bars: readonly BarEntry[]): readonly BarEntry[] =>
  bars.toSorted((a, b) => Math.abs(b.value) - Math.abs(a.value));

const bySign = (bars: readonly BarEntry[]): readonly BarEntry[] => bars.toSorted((a, b) => b.value - a.value);
