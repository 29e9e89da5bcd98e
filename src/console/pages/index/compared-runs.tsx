import type { StoredRun } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Metrics, type Metric } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import type { Column, Selection } from '../../components/table/columns.js';
import { getParameter, setParameters } from '../../state/location.js';
import { formatMoment } from '../../words/dates.js';
import { formatDecimal, formatPercent, formatPoints } from '../../words/numbers.js';
import { RunDifference } from './run-difference.js';
import { LINE_COLOURS, RunLevels } from './run-levels.js';

/** Runs that are ticked. If only one is ticked, it is the earlier one. */
interface ComparedPair {
  readonly earlier: StoredRun | undefined;
  readonly later: StoredRun | undefined;
}

/**
 * Returns the runs in the address. If the address has none, returns the latest run and the run before it.
 * @param runs all stored runs, newest first
 */
export function findComparedRuns(runs: readonly StoredRun[]): ComparedPair {
  const chosenIds = [getParameter('run_from'), getParameter('run_to')];
  const chosenRuns = runs.filter(({ run_id: run }) => chosenIds.includes(run));
  const [later, earlier] = chosenRuns.length === 0 ? runs : chosenRuns;
  return earlier === undefined ? { earlier: later, later: undefined } : { earlier, later };
}

/** Returns the ticks of the compared runs. The address keeps them. A third run replaces the first of them. */
export const createSelection = ({ earlier, later }: ComparedPair): Selection => ({
  keys: [earlier, later].flatMap((run) => run?.run_id ?? []),
  isLimited: true,
  onChange(keys) {
    const [from = null, to = null] = keys.slice(-2);
    setParameters({ run_from: from, run_to: to });
  },
});

/** Number of characters of an id that are shown. They distinguish runs that were started in the same minute. */
export const ID_CHARACTERS = 4;

export const formatRun = ({ run_at: runAt, run_id: run }: StoredRun): string =>
  `${formatMoment(runAt)}, ${run.slice(0, ID_CHARACTERS)}`;

/** Creates a column that marks the compared runs in the colours of their lines, and the run that the page shows. */
export function createComparedColumn(compared: ComparedPair, shown: StoredRun | undefined): Column<StoredRun> {
  const { earlier, later } = compared;
  const isSame = haveSameFigures(compared);
  const findSide = (run: StoredRun) => (run === later ? 'later' : run === earlier ? 'earlier' : null);
  const show = (run: StoredRun) => {
    const side = findSide(run);
    return side === null && run !== shown ? null : (
      <>
        {side !== null && (
          <Badge>
            {side} <span class="swatch" style={{ color: `var(--series-${LINE_COLOURS[isSame ? 'later' : side]})` }} />
          </Badge>
        )}{' '}
        {run === shown && <Badge kind="info">shown</Badge>}
      </>
    );
  };
  return {
    id: 'compared',
    title: 'Compared',
    help: 'Side of the comparison, and the run that this page shows',
    width: 132,
    priority: 2,
    value: findSide,
    show,
    showBelow: show,
  };
}

interface ComparedRunsProps {
  readonly id: string;
  readonly compared: ComparedPair;
}

/** Renders the comparison of the ticked runs: their figures, their levels, and why they differ. */
export function ComparedRuns({ id, compared }: ComparedRunsProps) {
  const { earlier, later } = compared;
  if (earlier === undefined || later === undefined)
    return (
      <Section title="Comparison">
        <p class="quiet">Tick a second run in the table above.</p>
      </Section>
    );
  return (
    <Section title="Comparison" aside={`earlier ${formatRun(earlier)}; later ${formatRun(later)}`}>
      {!haveSameFigures(compared) && (
        <Metrics label="Figures of the compared runs" metrics={createDifferences(earlier, later)} />
      )}
      <RunLevels id={id} earlier={earlier} later={later}>
        <RunDifference id={id} from={earlier.run_id} to={later.run_id} version={later.index_version} />
      </RunLevels>
    </Section>
  );
}

type Figures = NonNullable<StoredRun['metrics']>;

const FIGURES: readonly (readonly [term: string, read: (figures: Figures) => number | null, isRatio?: true])[] = [
  ['Return', (figures) => figures.total_return],
  ['Annualised return', (figures) => figures.annualised_return],
  ['Volatility', (figures) => figures.volatility],
  ['Sharpe ratio', (figures) => figures.sharpe_ratio, true],
  ['Max drawdown', (figures) => figures.max_drawdown],
];

/** Maximum absolute difference between two figures that can come from the rounding of doubles. */
const ROUNDING = 1e-9;

/** Returns true if all figures of the compared runs are equal. One line then represents both runs. */
const haveSameFigures = ({ earlier, later }: ComparedPair): boolean => {
  const [from, to] = [earlier?.metrics ?? null, later?.metrics ?? null];
  return (
    from !== null &&
    to !== null &&
    FIGURES.every(([, read]) => Math.abs((read(from) ?? 0) - (read(to) ?? 0)) < ROUNDING)
  );
};

/** Returns the figures of the later run minus those of the earlier run. Both are in the note. */
const createDifferences = (earlier: StoredRun, later: StoredRun): readonly Metric[] =>
  FIGURES.map(([term, read, isRatio = false]) => {
    const [from, to] = [earlier, later].map(({ metrics }) => (metrics === null ? null : read(metrics)));
    const difference = from == null || to == null ? null : to - from;
    const format = isRatio ? formatDecimal : formatPercent;
    return {
      term,
      value: isRatio ? formatSigned(difference) : formatPoints(difference),
      note: `${format(from)} → ${format(to)}`,
      help: 'Later run minus earlier run; portfolio after costs',
    };
  });

const formatSigned = (value: number | null): string => `${(value ?? 0) > 0 ? '+' : ''}${formatDecimal(value)}`;
