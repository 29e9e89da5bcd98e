import type { LevelsView } from '#clients/typescript/divisor.js';
import { Chart } from '../../../components/chart/chart.js';
import { isWide, type Line } from '../../../components/chart/series.js';
import { Metrics } from '../../../components/metrics.js';
import { Section } from '../../../components/page.js';
import { FiguresSkeleton } from '../../../components/skeleton.js';
import { Answered } from '../../../components/wait.js';
import { useResource } from '../../../state/resource.js';
import { service } from '../../../state/service.js';
import { readShownRun, formatRunKey } from '../../../state/shown-run.js';
import { formatChange, formatCount, formatDecimal, getSignClass } from '../../../words/numbers.js';
import { returnText } from '../../../words/returns.js';

/** Reads the levels of the run on this page. A publication appends them to the log. */
export const useLevels = (id: string) =>
  useResource(`dates of ${formatRunKey(id)}`, (signal) =>
    service.value.call('getLevels', { params: { index_id: id }, query: readShownRun(), signal }),
  );

/** Renders the closes of a run before anything was published: their number, their dates and the last level. */
export function Unpublished({ id }: { readonly id: string }) {
  const levels = useLevels(id);
  return (
    <Section title="Nothing is published yet" aside="published closes are final, signed and chained by hashes">
      <Answered resource={levels} what="the closes of the run" skeleton={<FiguresSkeleton />}>
        {(view) => <Metrics label="Closes of the run" metrics={createFigures(view)} />}
      </Answered>
    </Section>
  );
}

function createFigures({ variant, levels: { index: dates, data: values } }: LevelsView) {
  const [first, last] = [Number(values[0]), Number(values.at(-1))];
  return [
    { term: 'Closes of the run', value: formatCount(dates.length), note: 'none of them is published' },
    { term: 'First level', value: formatDecimal(first), note: `points, ${String(dates[0])}` },
    { term: 'Last level', value: formatDecimal(last), note: `points, ${String(dates.at(-1))}` },
    {
      term: 'Return',
      value: formatChange(last / first - 1),
      kind: getSignClass(last / first - 1),
      note: returnText(variant),
    },
  ];
}

/** Renders the levels that the first publication would contain. */
export function UnpublishedLevels({ id }: { readonly id: string }) {
  const view = useLevels(id).data;
  if (view === undefined || view.levels.index.length < 2) return null;
  const dates = view.levels.index.map(String);
  const lines: readonly Line[] = [{ id, label: id, colour: 1, values: view.levels.data.map(Number) }];
  return (
    <Section title="Levels to publish" aside={returnText(view.variant)}>
      <Chart
        label={`Levels of ${id} that are not published`}
        dates={dates}
        lines={lines}
        height={200}
        isLog={isWide(lines, 0, dates.length - 1)}
      />
    </Section>
  );
}
