import type { OverviewView, PublicationEntry, PublishedLog } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../../components/chart/chart.js';
import { layerCovered, type Line } from '../../../components/chart/series.js';
import { GuideLink } from '../../../components/guide-link.js';
import { LinkCards, type LinkCard } from '../../../components/link-cards.js';
import { MayNot } from '../../../components/may-not.js';
import { Metrics } from '../../../components/metrics.js';
import { Section } from '../../../components/page.js';
import { Problem } from '../../../components/problem.js';
import { Answered } from '../../../components/wait.js';
import { formatAddress } from '../../../state/location.js';
import { may } from '../../../state/principal.js';
import { useResource } from '../../../state/resource.js';
import { service } from '../../../state/service.js';
import { formatGovernanceAddress } from '../../../words/addresses.js';
import { createMomentFigure } from '../../../words/dates.js';
import { countValues, formatCount, formatDecimal } from '../../../words/numbers.js';
import { findLatestClose } from '../../../words/publication.js';
import { returnText } from '../../../words/returns.js';
import { Log } from './log.js';
import { Publish } from './publish.js';
import { Unpublished, UnpublishedLevels } from './unpublished.js';
import { Verification } from './verification.js';
import './publication.css';

interface PublicationProps {
  readonly id: string;
  readonly run: OverviewView;
}

/** Renders the published closes, the verification of their log, and the unpublished closes of the run. */
export function Publication({ id, run }: PublicationProps) {
  const log = useResource(`published ${id}`, (signal) => readLog(id, signal));
  const isEmpty = log.data === null;
  const entries = log.data?.entries ?? [];
  return (
    <div class="index-part">
      {log.data === null ? (
        <Unpublished id={id} />
      ) : log.data === undefined && log.trouble !== null ? (
        <Problem trouble={log.trouble} onRetry={log.reload} />
      ) : (
        <Answered resource={log} what="the published log">
          {() => <Figures entries={entries} run={run} />}
        </Answered>
      )}
      <div class={entries.length > 0 ? 'index-part publication-next is-published' : 'index-part publication-next'}>
        {entries.length > 0 && <Levels id={id} entries={entries} />}
        {log.data === undefined && !isEmpty ? null : may('publish') ? (
          <Publish id={id} run={run} last={isEmpty ? null : (findLatestClose(entries)?.date ?? '')} />
        ) : (
          <MayNot scope="publish" what="publish closes" />
        )}
        {isEmpty && <UnpublishedLevels id={id} />}
      </div>
      {entries.length > 0 && (
        <>
          <Verification id={id} entries={entries} />
          <Log id={id} entries={entries} />
        </>
      )}
      {isEmpty && <LinkCards label="More about publication" cards={createCards(id)} />}
      <p class="quiet">
        <GuideLink page="publish">How publication works</GuideLink>
        {' · '}
        <a href={formatGovernanceAddress('statements', id)}>Benchmark statement</a>
        {' · '}
        <a href={formatAddress(formatGovernanceAddress('errors'), { 'errors.q': id })}>Register of errors</a>
      </p>
    </div>
  );
}

/** Reads the published log. Returns null if nothing was ever published. */
async function readLog(id: string, signal: AbortSignal): Promise<PublishedLog | null> {
  const params = { index_id: id };
  const { has_published: isPublished } = await service.value.call('listRuns', { params, query: { limit: 1 }, signal });
  return isPublished === false ? null : await service.value.call('getPublished', { params, signal });
}

const createCards = (id: string): readonly LinkCard[] => [
  {
    icon: 'schedules',
    title: 'Publish each session',
    text: 'A schedule runs, checks and publishes the index after each close.',
    address: formatAddress('/console/schedules/new', { index: id }),
  },
  {
    icon: 'approvals',
    title: 'A second person',
    text: 'With approvals, a close is published once another person agrees.',
    address: '/console/approvals',
  },
  {
    icon: 'calendar',
    title: 'Calendar',
    text: 'Sessions, holidays and recorded closures of the exchange.',
    address: formatAddress('/console/calendar', { index: id }),
  },
];

interface LevelsProps {
  readonly id: string;
  readonly entries: readonly PublicationEntry[];
}

/** Return variants of the published level. */
const VARIANTS = [
  { id: 'price', label: 'Price' },
  { id: 'total', label: 'Total' },
  { id: 'net', label: 'Net' },
] as const;

/** Maximum relative difference of two levels that can come from the rounding of doubles. */
const ROUNDING = 1e-12;

const areEqual = ({ net, total }: PublicationEntry): boolean =>
  net === total || (net !== null && total !== null && Math.abs(net / total - 1) < ROUNDING);

/** Renders the published levels. If a close was restated, its last published level is shown. */
function Levels({ id, entries }: LevelsProps) {
  const { dates, lines, isUntaxed } = useMemo(() => {
    const last = [...new Map(entries.map((entry) => [entry.date, entry])).values()].toSorted((a, b) =>
      a.date < b.date ? -1 : 1,
    );
    const isUntaxed = last.some(({ net }) => net !== null) && last.every(areEqual);
    const drawn = VARIANTS.filter(({ id: variant }) => !isUntaxed || variant !== 'net')
      .map((variant, k): Line => ({
        ...variant,
        values: last.map((entry) => entry[variant.id]),
        colour: k + 1,
      }))
      .filter(({ values }) => values.some((value) => value !== null));
    return { dates: last.map(({ date }) => date), lines: layerCovered(drawn), isUntaxed };
  }, [entries]);
  if (dates.length < 2) return null;
  return (
    <Section
      title="Published levels"
      aside={`${dates[0]} to ${dates.at(-1)}${isUntaxed ? '; net levels equal total levels' : ''}`}
    >
      <Chart label={`Published levels of ${id}`} dates={dates} lines={lines} height={220} />
    </Section>
  );
}

interface FiguresProps {
  readonly entries: readonly PublicationEntry[];
  readonly run: OverviewView;
}

function Figures({ entries, run }: FiguresProps) {
  const last = entries.at(-1);
  const latest = findLatestClose(entries);
  const ownPublication =
    VARIANTS.find(({ id }) => id === run.return_variant && latest?.[id] != null) ??
    VARIANTS.find(({ id }) => latest?.[id] != null);
  const restated = entries.filter(({ kind }) => kind === 'restatement');
  const restatementCount = new Set(restated.map(({ at }) => at)).size;
  return (
    <Metrics
      label="Figures of the published log"
      metrics={[
        { term: 'Published through', value: latest?.date ?? '–', note: `the run ends on ${run.end}` },
        {
          term: 'Latest level',
          value: formatDecimal((ownPublication && latest?.[ownPublication.id]) ?? null, 2),
          note: latest && ownPublication && `${returnText(ownPublication.id)}, ${latest.date}`,
        },
        { term: 'Closes', value: formatCount(entries.length - restated.length) },
        {
          term: 'Restatements',
          value: formatCount(restatementCount),
          kind: restatementCount > 0 ? 'down' : '',
          note: restatementCount > 0 ? `${countValues(restated.length, 'close')} restated` : undefined,
        },
        {
          term: 'Last published',
          value: last === undefined ? '–' : createMomentFigure(last.at).value,
          note: last && `${createMomentFigure(last.at).note} by ${last.author}`,
        },
      ]}
    />
  );
}
