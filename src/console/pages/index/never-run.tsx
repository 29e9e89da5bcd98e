import type { IndexDocument, LevelSketch, PreviewResponse } from '#clients/typescript/divisor.js';
import { useContext } from 'preact/hooks';
import { ActionButton } from '../../components/controls/action-button.js';
import { Bars, Funnel } from '../../components/layout/bars.js';
import { Chart } from '../../components/chart/chart.js';
import { EmptyState, FiguresSkeleton, Problem } from '../../components/feedback.js';
import { Icon } from '../../components/controls/button.js';
import { Metrics } from '../../components/layout/facts.js';
import { labelWithName } from '../../components/securities.js';
import { MissingData } from '../../components/stores.js';
import { Section } from '../../components/layout/page.js';
import { usePhone } from '../../components/layout/viewport.js';
import { formatDefinitionKey, readDefinition, useFailedRuns } from '../../state/runs.js';
import { liveJobs } from '../../state/live.js';
import { NamesStore, useNames } from '../../state/market.js';
import { may, type Resource, useAnswer, useList, useResource } from '../../state/service.js';
import { formatRunSubject } from '../../state/actions.js';
import { findStoreOfDocument, isUnregistered, useStores } from '../../state/stores.js';
import { countValues, formatChange, formatCount, formatPercent, getSignClass } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { StrategyFigures, StrategySentence } from '../strategies/strategy-page.js';
import { createBody as createDraftBody } from '../designer/draft.js';
import { runAgain } from './run-settings.js';
import './never-run.css';

export interface NeverRunProps {
  readonly id: string;
  /** Index itself; for a strategy, the index that it follows. */
  readonly tracked: string;
}

/**
 * Renders a preview of an index or a strategy that has no run. For an index, it shows the constituents and the level of
 * the last three years. For a strategy, it shows the figures of the index that it follows.
 */
export function NeverRun({ id, tracked }: NeverRunProps) {
  const failedJob = useFailedRuns().get(id);
  const isRunning = liveJobs.value.some(({ job_id: job }) => job === `backtest:${id}`);
  const hasFailed = failedJob !== undefined;
  const failedOn = failedJob?.error?.detail?.['as_of'];
  const isStrategy = id !== tracked;
  const store = useContext(NamesStore);
  const isStoreMissing = isUnregistered(useStores().data?.stores, store);
  const figures = useIndexPreview(isStrategy ? null : id, typeof failedOn === 'string' ? failedOn : null);
  return (
    <div class="stack gap-4 index-part">
      {/* Another component shows the progress of a run, and the cause of a failure with a button that repeats the run. */}
      {!hasFailed && !isRunning && (
        <div class="never-run-state">
          <EmptyState
            title="Not run yet"
            action={
              may('run') &&
              !isStoreMissing && (
                <ActionButton kind="main" about={formatRunSubject(id)} act={(onRefusal) => runAgain(id, onRefusal)}>
                  <Icon name="play" /> Run {id}
                </ActionButton>
              )
            }
          >
            {isStoreMissing ? (
              <MissingData store={store} />
            ) : isStrategy ? (
              `A run computes the value of the portfolio, its trades and its costs for every session. The figures below are of ${tracked}.`
            ) : (
              describePreview(figures)
            )}
          </EmptyState>
        </div>
      )}
      {isStrategy ? (
        <FollowedPreview id={id} tracked={tracked} />
      ) : (
        <IndexPreview id={id} figures={figures} hasFailed={hasFailed} />
      )}
    </div>
  );
}

/** Renders the terms of a strategy in words, and the figures of the index that it follows. */
function FollowedPreview({ id, tracked }: NeverRunProps) {
  const definition = useResource(formatDefinitionKey(id), (signal) => readDefinition(id, signal));
  const indices = useList('indices');
  const strategy = definition.data?.strategy?.strategy;
  if (strategy === undefined) return null;
  const document = strategy as unknown as JsonObject; // a document is plain JSON
  const index = indices.data?.indices.find(({ id: indexId }) => indexId === tracked);
  return (
    <>
      <StrategySentence document={document} index={index} />
      <StrategyFigures document={document} index={index} isStored hasOrigin={false} />
    </>
  );
}

/** Returns the request body of a preview of a stored definition, whose members may be null. */
const createBody = (index: IndexDocument | null) => createDraftBody(index as unknown as JsonObject);

/** Number of securities in the list of the largest weights. The second number is for a phone. */
const SHOWN = 12;
const SHOWN_ON_PHONE = 6;

const TOP = 10;

/** Definition of an index, its constituents on a date, and its level over the last three years. */
interface IndexFigures {
  readonly index: IndexDocument | null;
  /** Date of the constituents; null while it is unknown. */
  readonly end: string | null;
  /** Constituents; an overlay has none. */
  readonly preview: Resource<PreviewResponse>;
  readonly sketch: Resource<LevelSketch>;
}

/**
 * @param id index; null sends no request
 * @param failedOn date on which the last run had no constituents; null: the last date of the data store of the index
 */
function useIndexPreview(id: string | null, failedOn: string | null): IndexFigures {
  const definition = useResource(id === null ? null : formatDefinitionKey(id), (signal) =>
    readDefinition(id ?? '', signal),
  );
  const index = (id === null ? null : definition.data?.index) ?? null;
  const stores = useStores();
  const end = failedOn ?? findStoreOfDocument(stores.data?.stores, useContext(NamesStore))?.end ?? null;
  const isSelected = index !== null && index.overlay === undefined;
  const preview = useAnswer(
    'previewDocument',
    isSelected && end !== null ? { body: { document: createBody(index), as_of: end } } : null,
  );
  const sketch = useAnswer(
    'sketchLevel',
    index === null || end === null ? null : { body: { document: createBody(index) } },
  );
  return { index, end, preview, sketch };
}

function describePreview({ index, preview }: IndexFigures): string {
  const since = index === null ? 'the base date' : `the base date ${index.base_date}`;
  const { data } = preview;
  const addition = `every rebalance and the level of every session since ${since}, with attribution and risk`;
  if (data === undefined) return `A run computes ${addition}. The figures below are a preview of the last three years.`;
  const count = countValues(listHoldings(data).length, 'constituent');
  return `The preview below has the ${count} that the rules select on ${data.resolved_date ?? data.as_of}, and the level of the last three years. A run adds ${addition}.`;
}

interface IndexPreviewProps {
  readonly id: string;
  readonly figures: IndexFigures;
  /** True if the last run failed. The reason is shown elsewhere on the page and is not repeated. */
  readonly hasFailed: boolean;
}

/** Returns true while a request has neither a response nor an error. */
const isPending = ({ data, trouble, isLoading }: Resource<unknown>): boolean =>
  isLoading && data === undefined && trouble === null;

/**
 * Renders the constituents of an index on the last date of the data, and its level over the last three years. If there
 * are no constituents, renders the steps of the selection.
 */
function IndexPreview({ id, figures: { index, end, preview, sketch }, hasFailed }: IndexPreviewProps) {
  const holdings = listHoldings(preview.data);
  if (index === null || end === null) return null;
  const levels = sketch.data?.level;
  const [first = null] = levels?.data ?? [];
  const levelReturn = first === null || levels === undefined ? null : (levels.data.at(-1) ?? first) / first - 1;
  if (isPending(preview) || isPending(sketch)) return <FiguresSkeleton />;
  const trouble = hasFailed ? null : (preview.trouble ?? sketch.trouble);
  const steps = preview.data?.steps ?? null;
  if (preview.data !== undefined && steps !== null && holdings.length === 0)
    return (
      <Section title="Selection of constituents" aside={`no security is left on the decision date ${end}`}>
        <Funnel steps={steps} assets={preview.data.assets} rules={index.pipeline?.selection ?? []} />
      </Section>
    );
  return (
    <>
      {trouble !== null && (
        <Problem trouble={trouble} onRetry={() => [preview, sketch].forEach((one) => one.reload())} />
      )}
      <Metrics
        label={`Preview of ${id}`}
        metrics={[
          ...(preview.data === undefined ? [] : listFigures(holdings, end)),
          ...(levels === undefined
            ? []
            : [
                {
                  term: 'Return',
                  value: formatChange(levelReturn),
                  kind: getSignClass(levelReturn),
                  note: `${levels.index[0]} to ${levels.index.at(-1)}`,
                },
                {
                  term: 'Volatility',
                  value: formatPercent(sketch.data?.volatility.data.findLast((value) => value !== null) ?? null),
                  note: 'of the last 60 sessions, per year',
                },
              ]),
        ]}
      />
      <div class="pile gap-5 never-run">
        {levels !== undefined && <PreviewedLevel id={id} levels={levels} />}
        {holdings.length > 0 && <Largest holdings={holdings} asOf={end} />}
      </div>
    </>
  );
}

type Asset = PreviewResponse['assets'][number];

/** Returns the securities with a weight, the largest weight first. */
const listHoldings = (preview: PreviewResponse | undefined): readonly Asset[] =>
  (preview?.assets ?? [])
    .filter(({ weight }) => weight !== null && weight !== 0)
    .toSorted((a, b) => (b.weight ?? 0) - (a.weight ?? 0));

const listFigures = (holdings: readonly Asset[], asOf: string) => [
  { term: 'Constituents', value: formatCount(holdings.length), note: `decided on ${asOf}` },
  {
    term: `Weight of the ${TOP} largest`,
    value: formatPercent(holdings.slice(0, TOP).reduce((sum, { weight }) => sum + (weight ?? 0), 0)),
    note: `on ${asOf}`,
  },
];

interface PreviewedLevelProps {
  readonly id: string;
  readonly levels: { readonly index: readonly string[]; readonly data: readonly (number | null)[] };
}

function PreviewedLevel({ id, levels: { index: dates, data: values } }: PreviewedLevelProps) {
  return (
    <Section
      title="Level of the last three years"
      aside={`preview from ${dates[0] ?? ''} on; its first review has no previous constituents`}
    >
      <Chart
        label={`Previewed level of ${id}`}
        dates={dates}
        lines={[{ id, label: id, colour: 1, values }]}
        height={300}
      />
    </Section>
  );
}

function Largest({ holdings, asOf }: { readonly holdings: readonly Asset[]; readonly asOf: string }) {
  const shownHoldings = holdings.slice(0, usePhone() ? SHOWN_ON_PHONE : SHOWN);
  const facts = useNames(
    shownHoldings.map(({ identifier }) => identifier),
    asOf,
  );
  return (
    <Section
      title="Largest weights"
      aside={`${formatCount(shownHoldings.length)} of ${formatCount(holdings.length)} on ${asOf}`}
    >
      <Bars
        label="Largest weights"
        bars={shownHoldings.map(({ identifier, weight }) => ({
          label: labelWithName(identifier, facts),
          value: weight ?? 0,
        }))}
        isPlain
        format={(value) => formatPercent(value)}
      />
    </Section>
  );
}
