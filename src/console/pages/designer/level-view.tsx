import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import type { Line } from '../../components/chart/series.js';
import { Problem } from '../../components/problem.js';
import { Wait } from '../../components/wait.js';
import { useOneAtATime } from '../../state/one-at-a-time.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';
import { bodyOf, useWorkshop } from './draft.js';

interface LevelViewProps {
  /** True if the service has accepted the draft. */
  readonly isValid: boolean;
  /** True while the service has neither accepted nor refused the draft. */
  readonly isUnchecked: boolean;
}

const sketch = (document: JsonObject) => service.value.call('sketchLevel', { body: { document: bodyOf(document) } });

/** Renders the levels of the draft, the stored index and the underlying index over the last three years. */
export function LevelView({ isValid, isUnchecked }: LevelViewProps) {
  const { draft, isStored } = useWorkshop();
  const document = draft.document.value;
  const text = JSON.stringify(document);
  const own = useOneAtATime(isValid ? text : null, () => sketch(document));
  const id = isStored ? String(document['id']) : null;
  const beneath = typeof document['source_index_id'] === 'string' ? document['source_index_id'] : null;
  const stored = useStored(id);
  const underlying = useStored(beneath);
  const isChanged = stored.data !== undefined && JSON.stringify(stored.data.document) !== text;
  const lines = useMemo(
    () =>
      linesOf([
        { id: 'draft', label: 'This draft', colour: 1, level: own.data?.level },
        { id: 'stored', label: 'As stored', colour: 2, level: isChanged ? stored.data?.level : undefined },
        { id: 'beneath', label: beneath ?? '', colour: 3, level: underlying.data?.level },
      ]),
    [own.data, stored.data, underlying.data, isChanged, beneath],
  );
  return (
    <div class={own.isBehind ? 'live-answer is-behind' : 'live-answer'} aria-busy={own.isBehind}>
      {(own.isBehind || isUnchecked) && own.data === undefined && <Wait what="the level" />}
      {own.trouble !== null && <Problem trouble={own.trouble} />}
      {own.data !== undefined && lines.lines.length > 0 && (
        <>
          <Chart
            label="Level of the draft"
            dates={lines.dates}
            lines={lines.lines}
            height={260}
            compares={lines.lines.length > 1}
          />
          <p class="quiet">
            The last three years, 100 at the first date. Rules with a memory, such as buffers, start without it; a run
            computes every session since the base date.
          </p>
        </>
      )}
    </div>
  );
}

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

/** Returns lines on the dates of all levels, each rebased to 100 at the first date on which all levels are known. */
function linesOf(sketched: readonly SketchedLevel[]): {
  readonly dates: readonly string[];
  readonly lines: readonly Line[];
} {
  const known = sketched.flatMap(({ level, ...rest }) => (level === undefined ? [] : [{ ...rest, level }]));
  const dates = [...new Set(known.flatMap(({ level }) => level.index))].toSorted();
  const first = known.reduce((latest, { level }) => (level.index[0]! > latest ? level.index[0]! : latest), '');
  const shown = dates.filter((date) => date >= first);
  const lines = known.map(({ id, label, colour, level }): Line => {
    const values = shown.map((date) => valueOn(level, date));
    const base = values[0] ?? null;
    return {
      id,
      label,
      colour,
      values: values.map((value) => (value === null || base === null ? null : (100 * value) / base)),
    };
  });
  return { dates: shown, lines };
}

/** Returns the value on a date, or the last value before it; null if there is none. */
function valueOn({ index, data }: NonNullable<SketchedLevel['level']>, date: string): number | null {
  const at = index.findLastIndex((own) => own <= date);
  return at < 0 ? null : (data[at] ?? null);
}
