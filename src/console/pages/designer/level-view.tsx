import { useMemo } from 'preact/hooks';
import type { Finding, LevelSketch } from '#clients/typescript/divisor.js';
import { Chart } from '../../components/chart/chart.js';
import type { Line } from '../../components/chart/series.js';
import { Metrics } from '../../components/metrics.js';
import { Problem } from '../../components/problem.js';
import { Wait } from '../../components/wait.js';
import { useOneAtATime, type LatestRequest } from '../../state/one-at-a-time.js';
import { useResource } from '../../state/resource.js';
import { service, type Trouble } from '../../state/service.js';
import { formatChange, formatPercent } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { createBody, useWorkshop } from './draft.js';

interface LevelViewProps {
  /** Level of the draft. Empty until the service has accepted the draft. */
  readonly sketchedLevel: LatestRequest<LevelSketch>;
  /** True while the service has neither accepted nor refused the draft. */
  readonly isUnchecked: boolean;
  /** Findings that are already listed above the level. */
  readonly shown: readonly Finding[];
}

const sketch = (document: JsonObject) =>
  service.value.call('sketchLevel', { body: { document: createBody(document) } });

/** Loads the level of a draft; of no draft if it is null. */
export const useLevelSketch = (document: JsonObject | null): LatestRequest<LevelSketch> =>
  useOneAtATime(document === null ? null : JSON.stringify(document), () => sketch(document!)); // called only with a document

/** Renders the main figure of the draft: its realised volatility, or its return if it has no exposure. */
export function FoldedLevel({ sketch: sketchedLevel }: { readonly sketch: LevelSketch | undefined }) {
  if (sketchedLevel === undefined) return null;
  if (sketchedLevel.exposure !== null)
    return <span class="quiet">Volatility {formatPercent(listKnownValues(sketchedLevel.volatility).at(-1))}</span>;
  const levels = listKnownValues(sketchedLevel.level);
  const [first, last] = [levels[0], levels.at(-1)];
  if (first === undefined || last === undefined) return null;
  return <span class="quiet">{formatChange(last / first - 1)} in 3 years</span>;
}

/** Renders the levels of the draft, the stored index and the underlying index over the last three years. */
export function LevelView({ sketchedLevel, isUnchecked, shown }: LevelViewProps) {
  const { draft, isStored } = useWorkshop();
  const document = draft.document.value;
  const text = JSON.stringify(document);
  const id = isStored ? String(document['id']) : null;
  const beneath = typeof document['source_index_id'] === 'string' ? document['source_index_id'] : null;
  const storedLevels = useStored(id);
  const underlying = useStored(beneath);
  const isChanged = storedLevels.data !== undefined && JSON.stringify(storedLevels.data.document) !== text;
  const lines = useMemo(
    () =>
      createLines([
        { id: 'draft', label: 'This draft', colour: 1, level: sketchedLevel.data?.level },
        { id: 'stored', label: 'As stored', colour: 2, level: isChanged ? storedLevels.data?.level : undefined },
        { id: 'beneath', label: beneath ?? '', colour: 3, level: underlying.data?.level },
      ]),
    [sketchedLevel.data, storedLevels.data, underlying.data, isChanged, beneath],
  );
  const target = draft.at(['overlay', 'target']);
  return (
    <div class={sketchedLevel.isBehind ? 'live-answer is-behind' : 'live-answer'} aria-busy={sketchedLevel.isBehind}>
      {(sketchedLevel.isBehind || isUnchecked) && sketchedLevel.data === undefined && <Wait what="the level" />}
      {sketchedLevel.trouble !== null && !isListed(sketchedLevel.trouble, shown) && (
        <Problem trouble={sketchedLevel.trouble} />
      )}
      {lines.lines.length > 0 && (
        <>
          {sketchedLevel.data !== undefined && sketchedLevel.data.exposure !== null && (
            <ExposureFigures sketch={sketchedLevel.data} target={typeof target === 'number' ? target : null} />
          )}
          <Chart
            label={`Level of ${sketchedLevel.data === undefined ? lines.lines[0]!.label : 'the draft'}`}
            dates={lines.dates}
            lines={lines.lines}
            height={(sketchedLevel.data?.exposure ?? null) === null ? 260 : 170}
            compares={lines.lines.length > 1}
          />
          {sketchedLevel.data !== undefined && sketchedLevel.data.exposure !== null && (
            <ExposureCharts
              sketch={sketchedLevel.data}
              target={typeof target === 'number' ? target : null}
              underlying={
                beneath === null || underlying.data === undefined ? null : { ...underlying.data, id: beneath }
              }
            />
          )}
          <p class="quiet">
            The last three years, 100 at the first date. Rules with a memory, such as buffers, start without it; a run
            computes every session since the base date.
          </p>
        </>
      )}
    </div>
  );
}

/** Returns true if all findings of an error are listed elsewhere. */
export const isListed = ({ findings }: Trouble, shown: readonly Finding[]): boolean =>
  findings.length > 0 && findings.every(({ message }) => shown.some((other) => other.message === message));

interface ExposureProps {
  readonly sketch: LevelSketch;
  /** Target volatility; null if it is not a number yet. */
  readonly target: number | null;
}

/** Returns the known values of a series. */
const listKnownValues = ({ data }: LevelSketch['level']): readonly number[] =>
  data.filter((value): value is number => typeof value === 'number');

/** Renders the target, the realised volatility and the exposure, with their ranges. */
function ExposureFigures({ sketch: { volatility, exposure }, target }: ExposureProps) {
  const [realised, held] = [listKnownValues(volatility), exposure === null ? [] : listKnownValues(exposure)];
  const formatRange = (values: readonly number[], digits: number) =>
    values.length === 0
      ? undefined
      : `3 years: ${formatPercent(Math.min(...values), digits)} to ${formatPercent(Math.max(...values), digits)}`;
  return (
    <Metrics
      label="Figures of the exposure"
      metrics={[
        { term: 'Target volatility', value: formatPercent(target), note: 'per year' },
        {
          term: 'Realised',
          value: formatPercent(realised.at(-1)),
          note: formatRange(realised, 1),
          help: 'Annualised volatility of this draft over the last 60 sessions',
        },
        {
          term: 'Exposure',
          value: formatPercent(held.at(-1), 1),
          note: formatRange(held, 0),
          help: 'Fraction in the underlying index after the last close; the rest is cash',
        },
      ]}
    />
  );
}

interface ExposureChartsProps extends ExposureProps {
  readonly underlying: (LevelSketch & { readonly id: string }) | null;
}

/** Renders the realised volatility against its target, and the exposure over time. */
function ExposureCharts({ sketch: { volatility, exposure }, target, underlying }: ExposureChartsProps) {
  const [volatilities, exposures] = useMemo(() => {
    const { index: dates } = volatility;
    const realisedLines: readonly Line[] = [
      { id: 'draft', label: 'This draft', colour: 1, values: listValues(volatility) },
      ...(underlying === null
        ? []
        : [
            {
              id: 'beneath',
              label: underlying.id,
              colour: 3,
              values: dates.map((date) => findValueOn(underlying.volatility, String(date))),
            },
          ]),
      ...(target === null
        ? []
        : [{ id: 'target', label: 'Target', colour: 2, isDashed: true, values: dates.map(() => target) }]),
    ];
    const shownLines: readonly Line[] =
      exposure === null
        ? []
        : [{ id: 'exposure', label: 'Exposure', colour: 1, isFilled: true, values: listValues(exposure) }];
    return [realisedLines, shownLines];
  }, [volatility, exposure, target, underlying]);
  const dates = volatility.index.map(String);
  return (
    <>
      <h3>Realised volatility, 60 sessions, per year</h3>
      <Chart label="Realised volatility" dates={dates} lines={volatilities} unit={TENTHS} height={130} />
      <h3>Exposure to the underlying index</h3>
      <Chart label="Exposure" dates={dates} lines={exposures} unit={WHOLE} height={110} />
    </>
  );
}

const TENTHS = { of: 'percent', digits: 1 } as const;
const WHOLE = { of: 'percent', digits: 0 } as const;

const listValues = ({ data }: LevelSketch['level']): readonly (number | null)[] =>
  data.map((value) => (typeof value === 'number' ? value : null));

/** Loads the level sketch of a stored index. */
const useStored = (id: string | null) =>
  useResource(id === null ? null : `sketch ${id}`, async (signal) => {
    const document = (await service.value.call('getIndex', {
      params: { index_id: id! }, // requested only if there is an id
      signal,
    })) as unknown as JsonObject;
    return { document, ...(await sketch(document)) };
  });

interface SketchedLevel {
  readonly id: string;
  readonly label: string;
  readonly colour: number;
  readonly level: { readonly index: readonly string[]; readonly data: readonly (number | null)[] } | undefined;
}

/** Returns lines on the dates of all levels. Each is rebased to 100 at the first date on which all levels are known. */
function createLines(sketched: readonly SketchedLevel[]): {
  readonly dates: readonly string[];
  readonly lines: readonly Line[];
} {
  const knownLevels = sketched.flatMap(({ level, ...rest }) => (level === undefined ? [] : [{ ...rest, level }]));
  const dates = [...new Set(knownLevels.flatMap(({ level }) => level.index))].toSorted();
  const firstDate = knownLevels.reduce(
    (latest, { level }) => (level.index[0]! > latest ? level.index[0]! : latest),
    '',
  );
  const shownDates = dates.filter((date) => date >= firstDate);
  const reference = knownLevels.at(-1)?.id;
  const lines = knownLevels.map(({ id, label, colour, level }): Line => {
    const values = shownDates.map((date) => findValueOn(level, date));
    const base = values[0] ?? null;
    return {
      id,
      label,
      colour,
      // The draft is compared with the stored definition and with the underlying index, and not the other way round.
      ...(id === reference ? { reference: label } : {}),
      values: values.map((value) => (value === null || base === null ? null : (100 * value) / base)),
    };
  });
  return { dates: shownDates, lines };
}

/** Returns the value on a date, or the last value before it; null if there is none. */
function findValueOn({ index, data }: NonNullable<SketchedLevel['level']>, date: string): number | null {
  const position = index.findLastIndex((indexDate) => indexDate <= date);
  return position < 0 ? null : (data[position] ?? null);
}
