import type { ExceededLimit, ObjectiveTypes, OptimisationRunResult } from '#clients/typescript/divisor.js';
import type { LabelledFigure } from '../../components/layout/facts.js';
import { formatDecimal, formatFigure, MISSING_TEXT, formatPercent } from '../../words/numbers.js';
import { createExcessNote } from './bounds.js';

/** Unit and name of an objective in the catalogue. */
export type Measure = ObjectiveTypes['objectives'][number]['measure'];

/** Returns the objective of a run. Old runs do not store it: there was only one objective. */
const getObjective = (run: Partial<OptimisationRunResult>): string => run.objective_type ?? 'min_tracking_error';

/**
 * Returns how the objective of a run is measured. If the service no longer supports the objective, its value is a plain
 * number.
 */
export const measureOf = (run: OptimisationRunResult, { objectives }: ObjectiveTypes): Measure =>
  objectives.find(({ type }) => type === getObjective(run))?.measure ?? { name: getObjective(run), form: 'number' };

/** Returns true if the objective value is a fraction of the portfolio value. */
const isShare = (form: Measure['form']): boolean => form === 'return' || form === 'loss';

type Figures = NonNullable<OptimisationRunResult['before']>;
type SolvedFigures = Pick<
  OptimisationRunResult,
  'objective_value' | 'volatility' | 'tracking_error' | 'turnover' | 'expected_return'
>;

interface ComparedFigures {
  /** Figures of the index weights. */
  readonly before: Figures | undefined;
  /** Figures of the optimised weights. */
  readonly after: Figures | SolvedFigures;
  /** Soft bounds that the optimised weights violate. */
  readonly exceeded: readonly ExceededLimit[];
}

/** Tracking error and turnover of the index weights themselves. They are not shown. */
const ZERO_TEXT = formatPercent(0);

/**
 * Returns the figures of the optimised weights. Each has the figure of the index weights as a note. A figure that
 * exceeds a soft limit is marked.
 */
export function createComparedTiles(
  { before, after, exceeded }: ComparedFigures,
  { name, form }: Measure,
): readonly LabelledFigure[] {
  /** Returns the figure of the index as a note, after the basis of the figure. */
  const createNote = (text: string | null, basis?: string) => {
    if (text === ZERO_TEXT) return basis === undefined ? {} : { note: basis };
    const parts = [basis, text === null ? undefined : `index ${text}`].filter((part) => part !== undefined);
    return parts.length === 0 ? {} : { note: parts.join(', ') };
  };
  const formatValue = (figures: Figures | undefined) =>
    figures === undefined || figures.objective_value === null ? null : formatObjective(figures.objective_value, form);
  const formatOther = (measure: 'volatility' | 'expected_return' | 'tracking_error' | 'turnover') => {
    const figure = before?.[measure] ?? null;
    return figure === null ? null : formatPercent(figure);
  };
  return [
    {
      term: formatTerm(name),
      value: formatValue(after) ?? MISSING_TEXT,
      help: name.includes('tracking error')
        ? 'Annualised, against the index, costs included'
        : 'The value of the objective, costs included',
      ...createNote(formatValue(before), 'objective'),
      ...(name.includes('tracking error') ? createExcessNote(exceeded, 'TrackingError') : {}),
    },
    ...(/^(?:the )?volatility$/.test(name)
      ? []
      : [
          {
            term: 'Forecast volatility',
            value: formatPercent(after.volatility),
            help: 'Annualised',
            ...createNote(formatOther('volatility')),
          },
        ]),
    ...(name.includes('tracking error')
      ? []
      : [
          {
            term: 'Forecast tracking error',
            value: formatPercent(after.tracking_error),
            help: 'Annualised, against the index',
            ...createNote(formatOther('tracking_error')),
            ...createExcessNote(exceeded, 'TrackingError'),
          },
        ]),
    {
      term: 'Turnover',
      value: formatPercent(after.turnover),
      ...createNote(formatOther('turnover'), 'one way'),
      ...createExcessNote(exceeded, 'Turnover'),
    },
    ...(after.expected_return === null
      ? []
      : [
          {
            term: 'Expected return',
            value: formatPercent(after.expected_return),
            ...createNote(formatOther('expected_return')),
          },
        ]),
  ];
}

/** Formats the objective of a solution next to that of the index: `Volatility 16.50%, index 16.67%`. */
export function formatObjectives(
  { before, after }: Omit<ComparedFigures, 'exceeded'>,
  { name, form }: Measure,
): string {
  const [value, indexValue] = [after, before].map((figures) =>
    figures?.objective_value == null ? null : formatObjective(figures.objective_value, form),
  );
  const text = `${formatTerm(name)} ${value ?? MISSING_TEXT}`;
  return name.includes('tracking error') || indexValue == null ? text : `${text}, index ${indexValue}`;
}

/** Formats the name of an objective as a term. Tracking errors of optimisations are forecasts. */
function formatTerm(name: string): string {
  const measure = name.replace(/^the /, '').replace(/^tracking error/, 'forecast tracking error');
  return `${measure.charAt(0).toUpperCase()}${measure.slice(1)}`;
}

/** Formats the value of an objective in its unit. For a variance, the square root is shown. */
function formatObjective(value: number, form: Measure['form']): string {
  if (form === 'number') return formatFigure(value);
  return formatPercent(isShare(form) ? value : Math.sqrt(Math.max(0, value)));
}

type OptionalNumber = number | null | undefined;

/**
 * Returns functions that convert changes of the objective to the shown unit: basis points, or no unit if the objective
 * is a plain number. Changes are relative to the value of a run.
 */
export function createChangeScale({ objective_value: value }: OptimisationRunResult, { form }: Measure) {
  const computeRoot = (variance: number) => Math.sqrt(Math.max(0, variance));
  const isNumber = form === 'number';
  const scale = (objective: number) =>
    isNumber ? objective : 1e4 * (isShare(form) ? objective : computeRoot(objective));
  return {
    /** Unit for the title of a column. */
    unit: isNumber ? '' : ', bp',
    format: (change: number | null): string => (isNumber ? formatFigure(change) : formatDecimal(change)),
    /** Converts a given change of the objective value. */
    step: (change: OptionalNumber): number | null =>
      change === null || change === undefined ? null : scale(value + change) - scale(value),
    /** Returns what a constraint costs: the difference to the objective without it. The result is at least zero. */
    cost: (without: OptionalNumber): number | null =>
      without === null || without === undefined ? null : Math.abs(scale(value) - scale(without)),
    /**
     * Converts a small change of the objective, by its slope at the value of the run. If the variance is zero, its
     * square root has no slope, and the result is null.
     */
    slope(change: OptionalNumber): number | null {
      if (change === null || change === undefined) return null;
      if (isNumber) return change;
      if (isShare(form) || change === 0) return 1e4 * change;
      return value <= 0 ? null : (1e4 * change) / (2 * computeRoot(value));
    },
  };
}
export type ChangeScale = ReturnType<typeof createChangeScale>;
