import type { StoredStrategy, IndexSummary, PerformanceView, RebalanceRow } from '#clients/typescript/divisor.js';
import { type EditedDocument, Editor, type OpenedDocument } from '../../components/editor.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { isApplicable } from '../../components/form/field-spec.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Section } from '../../components/layout/page.js';
import { Answered } from '../../components/feedback.js';
import { getParameter, navigate, type PageProps } from '../../state/location.js';
import { service, useAnswer, useList, useResource } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { isObject, type JsonObject, type Json } from '../../words/paths.js';
import '../data/data.css';
import './strategies.css';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import { isWide, type Line } from '../../components/chart/series.js';
import { type LabelledFigure, Metrics } from '../../components/layout/facts.js';
import { findStoreOfDocument, useStores } from '../../state/stores.js';
import {
  formatAtMost,
  formatBps,
  formatChange,
  formatCount,
  MISSING_TEXT,
  formatPercent,
} from '../../words/numbers.js';
import { computeYearlySum } from '../../words/statistics.js';

/** Page of a strategy: a portfolio that follows an index under its own terms. */
export function StrategyPage({ params }: PageProps) {
  const id = params['id'] ?? null;
  const followedIndex = getParameter('index');
  const openedDocument = useResource(
    `strategy ${id} ${followedIndex}`,
    (signal) => (id === null ? createStrategy(followedIndex, signal) : load(id, signal)),
    { follows: false },
  );
  return (
    <Answered resource={openedDocument} what="the strategy">
      {(first) => (
        <Editor
          title={id === null ? 'New strategy' : `Edit ${id}`}
          above={[
            { address: '/', text: 'Indices' },
            ...(id === null ? [] : [{ address: formatIndexAddress(id), text: id }]),
          ]}
          opened={first}
          validate={async (document) =>
            (await service.value.call('validateStrategy', { body: createBody(document) })).findings.filter(
              ({ code }) => id === null || code !== 'DUPLICATE_ID',
            )
          }
          versioned={id === null ? undefined : { kind: 'strategy', id }}
          reread={() => load(id ?? '')}
          save={(document, write) =>
            write.ifMatch === undefined
              ? service.value.callWithEtag('createStrategy', { body: createBody(document), note: write.note })
              : service.value.callWithEtag('putStrategy', {
                  params: { strategy_id: String(document['id']) },
                  body: createBody(document),
                  ...write,
                })
          }
          remove={() => service.value.call('deleteStrategy', { params: { strategy_id: id ?? '' } })}
          onSaved={(document) => navigate(formatIndexAddress(String(document['id'])))}
          onRemoved={() => navigate('/')}
          onReload={openedDocument.reload}
        >
          {(edited) => <Form edited={edited} isStored={id !== null} />}
        </Editor>
      )}
    </Answered>
  );
}

type StrategyDocument = StoredStrategy['strategy'];

/** Casts a draft to a request body. The service validates it. */
const createBody = (document: JsonObject): StrategyDocument => document as unknown as StrategyDocument;

async function load(id: string, signal?: AbortSignal): Promise<OpenedDocument> {
  const { answer, etag } = await service.value.callWithEtag('getStrategy', { params: { strategy_id: id }, signal });
  return { document: answer.strategy as unknown as JsonObject, etag }; // the response is plain JSON
}

async function createStrategy(followed: string | null, signal: AbortSignal): Promise<OpenedDocument> {
  const { indices } = await service.value.call('listIndices', { signal });
  const index = indices.find(({ id }) => id === followed) ?? indices[0];
  const document = {
    id: `${index?.id ?? 'INDEX'}-FUND`,
    name: `${index?.name ?? 'Index'}, followed`,
    index_id: index?.id,
  };
  return { document, etag: null };
}

const BENCHMARKS = { index: 'a stored index', identifier: 'a security or series' };

/** Fields of the optional benchmark. Members that are missing are reported only if one of them is set. */
const BENCHMARK_FIELDS = {
  kind: { label: 'Benchmark', isRequired: false, words: BENCHMARKS, help: 'Compared in addition to the index.' },
  id: { label: 'Name', isRequired: false, help: 'Id of the index, or identifier of the security.' },
  price_column: { help: 'Price column of a security.' },
};

const FIELD_HELP = {
  id: { help: 'Differs from the ids of all indices.' },
  description: { help: null },
  initial_capital: { help: 'Value at the start, in the currency of the index.' },
  exposure: { unit: 'fraction', help: 'Share that is invested at each rebalance; the rest is cash without interest.' },
  transaction_cost_bps: { help: 'Of the value of each trade.' },
  drift_tolerance: {
    unit: 'fraction',
    help: 'Smallest difference between weight and target that is traded, such as 0.005. Empty: every difference.',
  },
};

function Form({ edited, isStored }: { readonly edited: EditedDocument; readonly isStored: boolean }) {
  const { document, findings, set } = edited;
  const indices = useList('indices');
  const sets = useList('constraint sets');
  const createChoices = (ids: readonly string[] | undefined) => ({ kind: 'choice' as const, choices: ids ?? [] });
  const index = indices.data?.indices.find(({ id }) => id === document['index_id']);
  const renderFields = (names: readonly string[]) => (
    <SchemaForm
      schema="StrategyDocument"
      names={names}
      changes={{
        ...FIELD_HELP,
        index_id: createChoices(indices.data?.indices.map(({ id }) => id)),
        constraint_set_id: createChoices(sets.data?.constraint_sets.map(({ id }) => id)),
      }}
      fixed={isStored ? ['id'] : []}
      value={document}
      findings={findings}
      onChange={set}
    />
  );
  const benchmark = isObject(document['benchmark']) ? document['benchmark'] : {};
  return (
    <>
      <StrategySentence document={document} index={index} />
      <div class="stack gap-5 strategy-form">
        <div class="form-card strategy-groups">
          <Section title="Portfolio">{renderFields(['id', 'name', 'index_id'])}</Section>
          <Section title="Capital and costs">
            {renderFields(['initial_capital', 'exposure', 'transaction_cost_bps'])}
          </Section>
          <Section title="Trading">
            <div class="pile field-grid is-joined">
              {renderFields(['drift_tolerance', 'constraint_set_id'])}
              <Dates edited={edited} />
            </div>
          </Section>
          <Section title="Period and benchmark">
            <div class="pile field-grid is-joined">
              {renderFields(['start', 'end'])}
              <SchemaForm
                schema="BenchmarkRef"
                names={'kind' in benchmark ? ['kind', 'id', 'price_column'] : ['kind']}
                changes={BENCHMARK_FIELDS}
                value={benchmark}
                findings={findings}
                path={['benchmark']}
                onChange={(own) =>
                  set({ ...document, benchmark: Object.keys(own).length === 0 || !('kind' in own) ? undefined : own })
                }
              />
            </div>
          </Section>
          <Section title="Notes">{renderFields(['description'])}</Section>
        </div>
        <div class="stack gap-3">
          <StrategyFigures document={document} index={index} isStored={isStored} />
        </div>
      </div>
    </>
  );
}

/** Renders the choice of rebalance dates: those of the index, or separate dates. */
function Dates({ edited: { document, findings, set } }: { readonly edited: EditedDocument }) {
  const { rebalance } = document;
  const isOwn = isObject(rebalance);
  const types = useAnswer('listRuleTypes', isOwn ? {} : null, {
    follows: false,
  });
  const fields = types.data?.fields.rebalance;
  return (
    <>
      <FieldGrid>
        <Field
          spec={{
            name: 'rebalance',
            label: 'Own dates',
            kind: 'boolean',
            otherwise: false,
            help: 'Rebalances on other dates than the index.',
          }}
          value={isOwn ? true : undefined}
          findings={findings.filter(({ path }) => path === 'rebalance')}
          onChange={(value) => set({ ...document, rebalance: value === true ? {} : undefined })}
        />
      </FieldGrid>
      {isOwn && (
        <SchemaForm
          schema="RebalanceSpec"
          {...(fields !== undefined && {
            names: fields.filter((field) => isApplicable(field, fields, rebalance)).map(({ name }) => name),
          })}
          value={rebalance}
          findings={findings}
          path={['rebalance']}
          onChange={(own) => set({ ...document, rebalance: own })}
        />
      )}
    </>
  );
}

interface StrategyFiguresProps {
  readonly document: JsonObject;
  /** Summary of the followed index. */
  readonly index: IndexSummary | undefined;
  readonly isStored: boolean;
  /** False if the page already says which run the figures come from. Default: true. */
  readonly hasOrigin?: boolean;
}

export function StrategySentence({ document, index }: Pick<StrategyFiguresProps, 'document' | 'index'>) {
  return index === undefined ? null : <p class="strategy-summary">{formatSentence(document, index)}</p>;
}

/**
 * Renders the figures, the expected costs and the level of the strategy from its newest run. Before its first run, they
 * are those of the index, and costs are not deducted.
 */
export function StrategyFigures({ document, index, isStored, hasOrigin = true }: StrategyFiguresProps) {
  const id = typeof document['id'] === 'string' ? document['id'] : '';
  const strategies = useList('strategies');
  const isKnown = strategies.data !== undefined;
  const hasRun = isStored && strategies.data?.strategies.find(({ strategy }) => strategy.id === id)?.has_run === true;
  const ofIndex = usePerformance(index?.has_run === true ? index.id : null, 'index');
  const ofStrategy = usePerformance(hasRun ? id : null, 'portfolio');
  const shownPerformance = hasRun ? ofStrategy : ofIndex;
  const rebalances = useAnswer(
    'listRebalances',
    shownPerformance === undefined ? null : { params: { index_id: shownPerformance.index_id } },
  );
  if (index === undefined || !isKnown || shownPerformance === undefined) return null;
  return (
    <>
      {hasOrigin && (
        <Origin run={shownPerformance} store={index.store_id} idle={hasRun ? null : isStored ? id : 'The strategy'} />
      )}
      <Metrics
        label={`Figures of ${shownPerformance.index_id}`}
        metrics={[
          {
            term: `Return ${hasRun ? 'after' : 'before'} costs`,
            value: formatChange(shownPerformance.metrics.total_return),
            note: `${formatChange(shownPerformance.metrics.annualised_return)} per year`,
          },
          { term: 'Volatility', value: formatPercent(shownPerformance.metrics.volatility), note: 'per year' },
          ...listTradingFigures(rebalances.data?.rebalances ?? [], readNumber(document['transaction_cost_bps'], 0)),
        ]}
      />
      {ofIndex !== undefined && <Levels ofIndex={ofIndex} ofStrategy={ofStrategy} />}
    </>
  );
}

/** Reads the performance of an index before costs, or of a portfolio after costs. */
const usePerformance = (id: string | null, of: PerformanceView['of']): PerformanceView | undefined =>
  useAnswer('getPerformance', id === null ? null : { params: { index_id: id }, query: { of } }).data;

/**
 * Returns the rebalances, their turnover and what it costs.
 * @param cost of a trade, in basis points
 */
function listTradingFigures(rebalances: readonly RebalanceRow[], cost: number): readonly LabelledFigure[] {
  const last = rebalances.at(-1);
  if (last === undefined) return [];
  const turnover = computeYearlySum(rebalances, (row) => row.turnover);
  return [
    { term: 'Rebalances', value: formatCount(rebalances.length), note: `the last on ${last.date}` },
    { term: 'Turnover', value: formatPercent(turnover), note: 'one way, per year' },
    {
      term: 'Expected costs',
      value: cost === 0 ? 'none' : turnover === null ? MISSING_TEXT : formatBps((2 * turnover * cost) / 1e4),
      note: `per year, at ${formatAtMost(cost, 2)} bp`,
      help: 'Twice the one-way turnover, times the cost of a trade',
    },
  ];
}

interface OriginProps {
  /** Run that the figures are from. */
  readonly run: PerformanceView;
  /** Data store of the index; null for the served store. */
  readonly store: string | null;
  /** Strategy that has no run; null if it has one. */
  readonly idle: string | null;
}

/** Renders which run the figures come from. If the data store ends on another date, that date is added. */
function Origin({ run, store, idle }: OriginProps) {
  const stores = useStores();
  const dataEnd = findStoreOfDocument(stores.data?.stores, store)?.end ?? null;
  return (
    <p class="quiet">
      {idle !== null && `${idle} has not been run. `}
      Figures and chart of {run.index_id} are from its newest run, <span class="one-line">{run.start}</span> to{' '}
      <span class="one-line">{run.end}</span>
      {dataEnd !== null && dataEnd !== run.end
        ? `; ${store === null ? 'the served data' : `the data store ${store}`} ends on ${dataEnd}.`
        : '.'}
    </p>
  );
}

interface LevelsProps {
  readonly ofIndex: PerformanceView;
  /** Run of the strategy; undefined if there is none. */
  readonly ofStrategy: PerformanceView | undefined;
}

/**
 * Renders the level of the index. If the strategy has a run, its level is added; both are 100 at the first common date.
 */
function Levels({ ofIndex, ofStrategy }: LevelsProps) {
  const [dates, lines] = useMemo(() => {
    const views = ofStrategy === undefined ? [ofIndex] : [ofStrategy, ofIndex];
    const levels = views.map(
      ({ level }) => new Map(level.index.map((date, t) => [String(date), Number(level.data[t])])),
    );
    const commonDates = [...levels[0]!.keys()].filter((date) => levels.every((level) => level.has(date))); // at least one run
    const drawn = views.map(({ index_id: id }, k): Line => {
      const base = levels[k]!.get(commonDates[0] ?? '') ?? 1; // a level per run
      const values = commonDates.map((date) => (100 * levels[k]!.get(date)!) / base);
      const isIndex = id === ofIndex.index_id;
      return {
        id,
        label: isIndex ? id : `${id} after costs`,
        colour: k + 1,
        values,
        ...(isIndex ? { reference: id } : {}),
      };
    });
    return [commonDates, drawn];
  }, [ofIndex, ofStrategy]);
  if (dates.length < 2) return null;
  return (
    <Chart
      label={`Level of ${lines.map(({ id }) => id).join(' and ')}`}
      dates={dates}
      lines={lines}
      height={170}
      isLog={isWide(lines, 0, dates.length - 1)}
      compares={lines.length > 1}
    />
  );
}

const readNumber = (value: Json | undefined, otherwise: number): number =>
  typeof value === 'number' ? value : otherwise;

function formatSentence(document: JsonObject, { id, name, base_date: base, currency }: IndexSummary): string {
  const capitalText = formatCount(readNumber(document['initial_capital'], EXAMPLE_CAPITAL));
  const exposure = readNumber(document['exposure'], 1);
  const cost = readNumber(document['transaction_cost_bps'], 0);
  const tolerance = document['drift_tolerance'];
  const { start, end, rebalance, constraint_set_id: constraints } = document;
  return [
    `A portfolio of ${capitalText} ${currency} follows ${name} (${id}) from ${typeof start === 'string' ? start : base}`,
    typeof end === 'string' ? ` to ${end}` : '',
    exposure === 1 ? ', fully invested' : `, ${formatAtMost(exposure * 100, 2)}% invested`,
    cost === 0 ? ', without trading costs.' : `, and pays ${formatAtMost(cost, 2)} bp for each trade.`,
    rebalance === undefined || rebalance === null
      ? ' It is rebalanced with the index'
      : ` It is rebalanced on its own dates${formatCadence(rebalance)}`,
    typeof tolerance === 'number'
      ? ` and trades differences of weights above ${formatAtMost(tolerance * 100, 3)}%`
      : '',
    typeof constraints === 'string' ? `, within the constraints ${constraints}.` : '.',
  ].join('');
}

/** Formats the frequency of rebalances and the day within each period in brackets; empty for the defaults. */
function formatCadence(rebalance: Json): string {
  const { frequency, anchor } = isObject(rebalance) ? rebalance : {};
  const texts = [frequency, anchor].flatMap((text) => (typeof text === 'string' ? [text.replaceAll('_', ' ')] : []));
  return texts.length === 0 ? '' : ` (${texts.join(', ')})`;
}

/** Default initial capital in the contract. */
const EXAMPLE_CAPITAL = 1_000_000;
