import type { ObjectiveTypes, OptimisationRunResult } from '#clients/typescript/divisor.js';
import type { Metric } from '../../components/metrics.js';
import { bps, figure, NONE, percent } from '../../words/numbers.js';

/** Unit and name of an objective in the catalogue. */
export type Measure = ObjectiveTypes['objectives'][number]['measure'];

/** Returns the objective of a run. Old runs do not store it, because there was only one objective. */
const objectiveOf = (run: Partial<OptimisationRunResult>): string => run.objective_type ?? 'min_tracking_error';

/**
 * Returns the measure of a run's objective. Objectives that the service no longer supports are measured as plain
 * numbers.
 */
export const measureOf = (run: OptimisationRunResult, { objectives }: ObjectiveTypes): Measure =>
  objectives.find(({ type }) => type === objectiveOf(run))?.measure ?? { name: objectiveOf(run), form: 'number' };

/** Returns true if the objective value is a fraction of the portfolio value. */
const isShare = (form: Measure['form']): boolean => form === 'return' || form === 'loss';

type Figures = NonNullable<OptimisationRunResult['before']>;
type SolvedFigures = Pick<
  OptimisationRunResult,
  'objective_value' | 'volatility' | 'tracking_error' | 'turnover' | 'expected_return'
>;

/** Returns the figures of the optimised weights, each with the figure of the index weights as a note. */
export function comparedTiles(
  before: Figures | undefined,
  after: Figures | SolvedFigures,
  { name, form }: Measure,
): readonly Metric[] {
  const note = (text: string | null) => (text === null ? {} : { note: `index ${text}` });
  const value = (figures: Figures | undefined) =>
    figures === undefined || figures.objective_value === null ? null : objectiveText(figures.objective_value, form);
  const other = (of: 'volatility' | 'expected_return') => {
    const figure = before?.[of] ?? null;
    return figure === null ? null : percent(figure);
  };
  return [
    {
      term: `Objective: ${name.replace(/^the /, '')}`,
      value: value(after) ?? NONE,
      help: 'The value of the objective, costs included',
      ...note(value(before)),
    },
    ...(/^(?:the )?volatility$/.test(name)
      ? []
      : [
          {
            term: 'Volatility',
            value: percent(after.volatility),
            help: 'Forecast, annualised',
            ...note(other('volatility')),
          },
        ]),
    ...(name.includes('tracking error')
      ? []
      : [
          {
            term: 'Forecast tracking error',
            value: percent(after.tracking_error),
            help: 'Annualised, against the index',
          },
        ]),
    { term: 'Turnover', value: percent(after.turnover), help: 'One-way, against the index weights' },
    ...(after.expected_return === null
      ? []
      : [{ term: 'Expected return', value: percent(after.expected_return), ...note(other('expected_return')) }]),
  ];
}

/** Formats an objective value in its unit. A variance is shown as its square root. */
function objectiveText(value: number, form: Measure['form']): string {
  if (form === 'number') return figure(value);
  return percent(isShare(form) ? value : Math.sqrt(Math.max(0, value)));
}

type Maybe = number | null | undefined;

/** Returns functions that format changes of the objective value, relative to the value of a run. */
export function changesOf({ objective_value: value }: OptimisationRunResult, { form }: Measure) {
  const root = (variance: number) => Math.sqrt(Math.max(0, variance));
  return {
    /** Formats a given change of the objective value. */
    step(change: Maybe): string {
      if (change === null || change === undefined) return NONE;
      if (form === 'number') return figure(change);
      return bps(isShare(form) ? change : root(value + change) - root(value));
    },
    /** Formats the cost of a constraint: the difference to the value without it, at least zero. */
    cost(without: Maybe): string {
      if (without === null || without === undefined) return NONE;
      if (form === 'number') return figure(Math.abs(value - without));
      return bps(Math.abs(isShare(form) ? value - without : root(value) - root(without)));
    },
    /**
     * Formats a small change of the objective value, linearised at the value of the run. At variance zero the square
     * root has no slope, so the text is a dash.
     */
    slope(change: Maybe): string {
      if (change === null || change === undefined) return NONE;
      if (form === 'number') return figure(change);
      if (isShare(form)) return bps(change);
      if (change === 0) return bps(0);
      return value <= 0 ? NONE : bps(change / (2 * root(value)));
    },
    /** Formats an objective value. */
    level(other: Maybe): string {
      if (other === null || other === undefined || form === 'number') return figure(other);
      return percent(isShare(form) ? other : root(other));
    },
  };
}
export type Changes = ReturnType<typeof changesOf>;

/**
 * Formats a constraint label: `PositionBounds[small]:upper:CAVX` becomes `Position bounds (small), upper, CAVX`. An id
 * that equals the name of the type is omitted.
 */
export function rowWords(label: string): string {
  const [, type, id, rest] = /^(\w+)(?:\[([^\]]*)\])?(?::(.*))?$/.exec(label) ?? [];
  if (type === undefined) return label;
  const spaced = type.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  const own = id === undefined || id === 'default' || id.replaceAll(/[-_]/g, ' ') === spaced ? '' : ` (${id})`;
  const words = `${spaced.charAt(0).toUpperCase()}${spaced.slice(1)}${own}`;
  return [words, ...(rest?.split(':') ?? []).filter((part) => part !== 'eq')].join(', ');
}

/**
 * Splits a constraint label: `PositionBounds[small]:upper:CAVX` becomes the constraint `Position bounds (small)` and
 * the subject `CAVX`.
 */
export function rowParts(label: string): { readonly constraint: string; readonly subject: string | null } {
  const [, head = label, rest = ''] = /^(\w+(?:\[[^\]]*\])?)(?::(.*))?$/.exec(label) ?? [];
  const subject = rest.replace(/^(?:eq|lower|upper)(?::|$)/, '');
  return { constraint: rowWords(head), subject: subject === '' ? null : subject };
}
