import type { StoredRun } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import { layerCovered, type Line } from '../../components/chart/series.js';
import { readVersion } from '../../components/versions/families.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatDecimal, formatFigure } from '../../words/numbers.js';
import { rebase } from './relative-pane.js';

/** Numbers of the colours of the lines. */
export const LINE_COLOURS = { later: 1, earlier: 2 } as const;

interface RunLevelsProps {
  readonly id: string;
  readonly earlier: StoredRun;
  readonly later: StoredRun;
  /** Causes of a difference, which are rendered if they are not known yet. */
  readonly children: ComponentChildren;
}

/**
 * Renders the portfolios of two runs after costs, rebased to 100 at their first common date. Also renders the later run
 * divided by the earlier run.
 */
export function RunLevels({ id, earlier, later, children }: RunLevelsProps) {
  const levels = useResource(
    `run levels ${id} ${earlier.run_id} ${later.run_id}`,
    (signal) => Promise.all([earlier, later].map((run) => readLevels(id, run, signal))),
    { keeps: true },
  );
  return (
    <Answered resource={levels} what="the levels of the runs">
      {([first, second]) => (
        <Lines id={id} first={first!} second={second!}>
          {children}
        </Lines>
      )}
    </Answered>
  );
}

interface Levels {
  readonly index: readonly string[];
  readonly data: readonly (number | null)[];
}

interface RunSeries {
  /** Levels of the portfolio, 100 at the start. */
  readonly portfolio: Levels;
  /** Levels of the index in points. */
  readonly points: Levels;
  /** Base value of the definition that the run used; null if unknown. */
  readonly baseValue: number | null;
}

async function readLevels(id: string, run: StoredRun, signal: AbortSignal): Promise<RunSeries> {
  const { run_id: runId, index_version: version } = run;
  const request = { params: { index_id: id }, query: { run_id: runId }, signal };
  const [{ level: portfolio }, { levels: points }, document] = await Promise.all([
    service.value.call('getOverview', request),
    service.value.call('getLevels', request),
    // A strategy has no base value, and a deleted version cannot be read.
    version === null ? null : readVersion({ kind: 'index', id }, version, signal).catch(() => null),
  ]);
  const baseValue = (document as { readonly base_value?: unknown } | null)?.base_value;
  return { portfolio, points, baseValue: typeof baseValue === 'number' ? baseValue : null };
}

interface LinesProps extends Pick<RunLevelsProps, 'id' | 'children'> {
  readonly first: RunSeries;
  readonly second: RunSeries;
}

function Lines({ id, first, second, children }: LinesProps) {
  const { dates, levels, ratio } = useMemo(() => draw(first.portfolio, second.portfolio), [first, second]);
  const scaled = findScaledLevel(first.points, second.points);
  const isSame = ratio.every(({ values }) => values.every((value) => value === null || value === BASE_LEVEL));
  const cause = scaled === null ? null : formatCause(first, second, scaled);
  return (
    <>
      {isSame && (
        <p>
          {scaled === null
            ? 'No difference: the levels of both runs are the same on every date.'
            : `The returns of both runs are the same on every date. The index levels of the later run are those of the earlier run times ${formatFigure(scaled.to / scaled.from)}: ${formatDecimal(scaled.to)} instead of ${formatDecimal(scaled.from)} on ${scaled.date}. ${cause ?? ''}`}
        </p>
      )}
      <p class="quiet">Portfolio after costs; first common date = {BASE_LEVEL}</p>
      <Chart
        label={`Portfolios of two runs of ${id}`}
        dates={dates}
        lines={isSame ? levels.slice(0, 1).map((line) => ({ ...line, label: 'Both runs' })) : levels}
        height={220}
        sync="runs"
      />
      {!isSame && (
        <Chart label="Later run divided by the earlier run" dates={dates} lines={ratio} height={120} sync="runs" />
      )}
      {(!isSame || (scaled !== null && cause === null)) && children}
    </>
  );
}

/** Names the base value as the cause of scaled levels. Returns null if it is not the only cause. */
const formatCause = (
  { baseValue: before }: RunSeries,
  { baseValue: after }: RunSeries,
  { from, to }: { readonly from: number; readonly to: number },
): string | null =>
  before === null || after === null || Math.abs(to / from / (after / before) - 1) > ROUNDING
    ? null
    : `Cause: the base value, ${formatFigure(before)} → ${formatFigure(after)} points.`;

/** Value that both runs have at the first common date. */
const BASE_LEVEL = 100;
/** Maximum absolute difference between a ratio and the base that can come from the rounding of doubles. */
const ROUNDING = 1e-9;

/** Returns the index levels of both runs on their last common date. Returns null if they are equal. */
function findScaledLevel(first: Levels, second: Levels) {
  const levelByDate = new Map(first.index.map((date, t) => [date, first.data[t] ?? null]));
  const at = second.index.findLastIndex(
    (date, t) => (levelByDate.get(date) ?? null) !== null && (second.data[t] ?? null) !== null,
  );
  const date = second.index[at];
  if (date === undefined) return null;
  const [from, to] = [levelByDate.get(date)!, second.data[at]!];
  return Math.abs(to / from - 1) < ROUNDING ? null : { date, from, to };
}

function draw(first: Levels, second: Levels) {
  const dates = [...new Set([...first.index, ...second.index])].toSorted();
  const toRebased = ({ index, data }: Levels) => {
    const levelByDate = new Map(index.map((date, t) => [date, data[t] ?? null]));
    return dates.map((date) => levelByDate.get(date) ?? null);
  };
  const [earlier, later] = [toRebased(first), toRebased(second)];
  const firstSharedPosition = Math.max(
    0,
    earlier.findIndex((value, t) => value !== null && later[t] !== null),
  );
  const [from, to] = [rebase(earlier, firstSharedPosition), rebase(later, firstSharedPosition)];
  const levels: readonly Line[] = [
    { id: 'later', label: 'Later run', values: to, colour: LINE_COLOURS.later },
    { id: 'earlier', label: 'Earlier run', values: from, colour: LINE_COLOURS.earlier },
  ];
  const values = to.map((value, t) => {
    const base = from[t] ?? null;
    if (value === null || base === null || base === 0) return null;
    const ratio = (BASE_LEVEL * value) / base;
    return Math.abs(ratio - BASE_LEVEL) < ROUNDING ? BASE_LEVEL : ratio;
  });
  return { dates, levels: layerCovered(levels), ratio: [{ id: 'ratio', label: 'Later / earlier', values, colour: 5 }] };
}
