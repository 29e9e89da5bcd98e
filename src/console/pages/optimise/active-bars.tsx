import type { OptimisationRunResult, WeightRow } from '#clients/typescript/divisor.js';
import { Bars, type BarEntry } from '../../components/bars.js';
import { Section } from '../../components/page.js';
import type { NameFacts } from '../../state/names.js';
import { formatPoints } from '../../words/numbers.js';
import { listLimitedGroups } from './bounds.js';
import type { ChosenPoint } from './frontier-point.js';
import { computeShownActive, DIGITS } from './weight-columns.js';

interface ActiveBarsProps {
  readonly run: OptimisationRunResult;
  /** Weights that are compared with the index: those of the solution or of a point of the frontier. */
  readonly rows: readonly WeightRow[];
  readonly facts: ReadonlyMap<string, NameFacts>;
  /** Point of the frontier whose weights are compared; undefined for the solution. */
  readonly point: ChosenPoint | undefined;
  /** Labels of the binding bounds of the solution. */
  readonly bindingLabels: readonly string[];
  /** Securities that were excluded because they have no risk estimate. */
  readonly uncovered: ReadonlySet<string>;
}

/** Number of securities with the largest active weights. */
const SHOWN = 10;

/** Half of the last digit that a percentage shows. */
const SHOWN_MIN = 5e-5;

/** Formats an active weight. It has as many digits as in the table of weights. */
const formatActiveWeight = (value: number): string => formatPoints(value, DIGITS);

/**
 * Renders the largest active weights of securities, with marks of excluded securities and of limits. If sectors are
 * known, renders their active weights as well.
 */
export function ActiveBars({ run, rows, facts, point, bindingLabels, uncovered }: ActiveBarsProps) {
  const active = rows.map((row) => ({
    label: `${row.identifier}${formatMark(row, uncovered)}`,
    name: facts.get(row.identifier)?.name ?? null,
    value: computeShownActive(row),
  }));
  const largest = sortBySize(active.filter(({ value }) => Math.abs(value) >= SHOWN_MIN)).slice(0, SHOWN);
  if (largest.length === 0) return null;
  const hasSectors = [...facts.values()].some(({ sector }) => sector !== null);
  const sums = sumBySector(rows, facts);
  const limited = listLimitedGroups(bindingLabels, { solution: sumBySector(run.weights, facts), shown: sums });
  const sectors = sortBySize(
    [...sums].map(([sector, value]): BarEntry => ({
      label: limited.has(sector) ? `${sector} (at limit)` : sector,
      value,
    })),
  ).slice(0, SHOWN);
  const difference = `more or less than in ${run.index_id}`;
  return (
    <div class="active-bars">
      <Section
        title="Largest active weights"
        aside={point === undefined ? difference : `${point.label}, ${difference}`}
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

/** Returns the mark of a security that is excluded, or whose weight is at a bound. */
function formatMark({ identifier, at_bound: bound }: WeightRow, uncovered: ReadonlySet<string>): string {
  if (uncovered.has(identifier)) return ' (excluded)';
  return bound === null ? '' : ' (at limit)';
}

/** Returns the active weights of sectors. */
function sumBySector(rows: readonly WeightRow[], facts: ReadonlyMap<string, NameFacts>): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { identifier, weight, index_weight: index } of rows) {
    const sector = facts.get(identifier)?.sector ?? 'No sector';
    sums.set(sector, (sums.get(sector) ?? 0) + weight - index);
  }
  return sums;
}

const sortBySize = (bars: readonly BarEntry[]): readonly BarEntry[] =>
  bars.toSorted((a, b) => Math.abs(b.value) - Math.abs(a.value));

const bySign = (bars: readonly BarEntry[]): readonly BarEntry[] => bars.toSorted((a, b) => b.value - a.value);
