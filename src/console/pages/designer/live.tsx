import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Finding, LevelSketch, PreviewResponse, WhatIfResponse } from '#clients/typescript/divisor.js';
import { Chart } from '../../components/chart/chart.js';
import type { Line } from '../../components/chart/series.js';
import { Choice } from '../../components/controls/choice.js';
import { DateInput } from '../../components/controls/range.js';
import { Badge, Findings, Problem, Wait } from '../../components/feedback.js';
import { useSchemas } from '../../components/form/schema-form.js';
import { Bars, Funnel } from '../../components/layout/bars.js';
import { Metrics } from '../../components/layout/facts.js';
import { Earlier, Fold, RiskWindow } from '../../components/layout/preview.js';
import { usePhone } from '../../components/layout/viewport.js';
import { MissingData } from '../../components/stores.js';
import { type LatestRequest, useOneAtATime } from '../../state/latest-request.js';
import { getParameter, setParameters } from '../../state/location.js';
import { type NameFacts, NamesStore, useNames } from '../../state/market.js';
import { service, type Trouble, useResource } from '../../state/service.js';
import { findStoreOfDocument, useStores } from '../../state/stores.js';
import { isSameFinding } from '../../words/findings.js';
import { formatRiskWindow } from '../../words/methodology.js';
import {
  countValues,
  formatChange,
  formatCount,
  formatDecimal,
  formatPercent,
  formatPoints,
  getSignClass,
} from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { createExcessNote, formatBindingBounds, listWeightBounds } from '../optimise/bounds.js';
import { createBody, useWorkshop } from './draft.js';

function JsonEditor() {
  const { draft } = useWorkshop();
  const documentJson = JSON.stringify(draft.document.value, null, 2);
  const [text, setText] = useState(documentJson);
  const problem = draft.unread.value;
  const setProblem = (trouble: string | null) => {
    draft.unread.value = trouble;
  };
  // If the editor is removed, text that could not be applied to the draft is lost.
  useEffect(() => () => setProblem(null), []);
  useEffect(() => {
    if (readJson(text).json !== documentJson) {
      setText(documentJson);
      setProblem(null);
    }
  }, [documentJson]);
  return (
    <>
      <textarea
        class="control small json-editor"
        aria-label="Definition as JSON"
        aria-invalid={problem !== null}
        spellcheck={false}
        value={text}
        onInput={(event) => {
          const typedText = event.currentTarget.value;
          setText(typedText);
          const { value, trouble } = readJson(typedText);
          setProblem(trouble);
          if (isObject(value)) draft.replace(value);
        }}
      />
      {problem !== null && (
        <p class="down" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

interface ParseResult {
  readonly value?: Json;
  /** Text in the format of the editor. */
  readonly json?: string;
  readonly trouble: string | null;
}

function readJson(text: string): ParseResult {
  try {
    const value = JSON.parse(text) as Json;
    if (!isObject(value)) return { trouble: 'The definition must be an object.' };
    return { value, json: JSON.stringify(value, null, 2), trouble: null };
  } catch (failure) {
    return { trouble: failure instanceof Error ? failure.message : 'This is not valid JSON.' };
  }
}

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
const useLevelSketch = (document: JsonObject | null): LatestRequest<LevelSketch> =>
  useOneAtATime(document === null ? null : JSON.stringify(document), () => sketch(document!)); // called only with a document

/** Renders the main figure of the draft: its realised volatility, or its return if it has no exposure. */
function FoldedLevel({ sketch: sketchedLevel }: { readonly sketch: LevelSketch | undefined }) {
  if (sketchedLevel === undefined) return null;
  if (sketchedLevel.exposure !== null)
    return <span class="quiet">Volatility {formatPercent(listKnownValues(sketchedLevel.volatility).at(-1))}</span>;
  const levels = listKnownValues(sketchedLevel.level);
  const [first, last] = [levels[0], levels.at(-1)];
  if (first === undefined || last === undefined) return null;
  return <span class="quiet">{formatChange(last / first - 1)} in 3 years</span>;
}

/** Renders the levels of the draft, the stored index and the underlying index over the last three years. */
function LevelView({ sketchedLevel, isUnchecked, shown }: LevelViewProps) {
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
    <div
      class={sketchedLevel.isBehind ? 'stack gap-3 live-answer is-behind' : 'stack gap-3 live-answer'}
      aria-busy={sketchedLevel.isBehind}
    >
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
const isListed = ({ findings }: Trouble, shown: readonly Finding[]): boolean =>
  findings.length > 0 && findings.every(({ message }) => shown.some((other) => other.message === message));

interface ExposureProps {
  readonly sketch: LevelSketch;
  /** Target volatility; null if it is not a number yet. */
  readonly target: number | null;
}

const listKnownValues = ({ data }: LevelSketch['level']): readonly number[] =>
  data.filter((value): value is number => typeof value === 'number');

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

/** Number of securities in a list. */
const SHOWN = 15;

/**
 * Returns a figure of how far the decided weights are from the limit that triggers a rebalance. Returns an empty list
 * if the index has no such limit.
 */
const listHeadroom = (limits: PreviewResponse['limits'], before?: PreviewResponse['limits']) =>
  limits === undefined
    ? []
    : [
        {
          term: 'Headroom',
          value: formatPercent(limits.headroom),
          help: 'Distance of the target weights to the nearest bound; negative if a bound is exceeded',
          note: before === undefined ? limits.rule.replaceAll('_', ' ') : `before ${formatPercent(before.headroom)}`,
        },
      ];

const isHeld = ({ weight }: PreviewResponse['assets'][number]): boolean => weight !== null && weight !== 0;

/** Returns the number of securities with a weight. */
const countHeld = ({ assets }: PreviewResponse): number => assets.filter(isHeld).length;

interface PreviewProps {
  readonly preview: PreviewResponse;
  /** Findings that are already listed above the preview. */
  readonly shown: readonly Finding[];
}

function Preview({ preview, shown }: PreviewProps) {
  const { draft } = useWorkshop();
  const {
    assets,
    steps,
    solve,
    total_weight: total,
    cap_redistributed: moved,
    findings: all,
    resolved_date: date,
    limits,
  } = preview;
  const heldAssets = assets.filter(isHeld);
  const decisionText = date === null ? 'no data' : `decided on ${date}`;
  const findings = all.filter((finding) => !shown.some((other) => isSameFinding(other, finding)));
  const movedAssets = listMoved(assets);
  const named = solve === null ? heldAssets.slice(0, SHOWN) : [...heldAssets.slice(0, SHOWN), ...movedAssets];
  const facts = useNames([...new Set(named.map(({ identifier }) => identifier))], date ?? undefined);
  const riskSource = formatRiskWindow(draft.at(['derivation', 'risk_model']), useSchemas().data);
  return (
    <>
      <Metrics
        label="Figures of the preview"
        metrics={[
          {
            term: 'Constituents',
            value: formatCount(heldAssets.length),
            note: solve === null ? decisionText : `of ${countValues(assets.length, 'candidate')}, ${decisionText}`,
          },
          ...(solve === null
            ? [
                { term: 'Sum of weights', value: formatPercent(total) },
                {
                  term: 'Moved by caps',
                  value: formatPercent(moved),
                  help: 'Weight moved away from capped constituents',
                },
              ]
            : listSolvedFigures(solve, riskSource)),
          ...listHeadroom(limits),
        ]}
      />
      {findings.length > 0 && <Findings findings={findings} shown={3} />}
      {steps !== null && steps.length > 1 && <Funnel steps={steps} assets={assets} />}
      {solve !== null && <Moves from={solve.source_index_id} assets={movedAssets} facts={facts} />}
      <LargestWeights assets={heldAssets} facts={facts} bounds={listWeightBounds(solve?.binding ?? [])} />
      {solve !== null && (
        <p class="quiet">
          Optimised from {solve.source_index_id} on {solve.rebalance_date}. Binding:{' '}
          {formatBindingBounds(solve.binding) || 'nothing'}.
        </p>
      )}
      {solve !== null && <RiskWindow model={draft.at(['derivation', 'risk_model'])} />}
    </>
  );
}

interface LargestWeightsProps {
  /** Securities with a weight, largest first. */
  readonly assets: PreviewResponse['assets'];
  readonly facts: ReadonlyMap<string, NameFacts>;
  readonly bounds: ReturnType<typeof listWeightBounds>;
}

/** Renders the largest weights, and the number of weights at their upper limit. */
function LargestWeights({ assets, facts, bounds }: LargestWeightsProps) {
  const isAtLimit = (identifier: string) => bounds.get(identifier) === 'upper';
  const atLimit = assets.filter(({ identifier }) => isAtLimit(identifier)).length;
  return (
    <>
      <h3>Largest weights</h3>
      {atLimit > 0 && (
        <p class="quiet">
          {formatCount(atLimit)} of {countValues(assets.length, 'constituent')} at the upper limit.
        </p>
      )}
      <Bars
        label="Largest weights"
        bars={assets.slice(0, SHOWN).map(({ identifier, weight, capped }) => ({
          label: `${identifier}${capped ? ' (cap)' : ''}${isAtLimit(identifier) ? ' (at limit)' : ''}`,
          name: facts.get(identifier)?.name ?? null,
          value: weight ?? 0,
        }))}
        isPlain
        format={(value) => formatPercent(value)}
      />
    </>
  );
}

type Solve = NonNullable<PreviewResponse['solve']>;

/**
 * Returns the figures of an optimisation. Where the figure of the parent differs, it is added.
 * @param source returns of the risk model; null if they are not known yet
 */
const listSolvedFigures = ({ before, after, exceeded, rebalance_date: date }: Solve, source: string | null) => [
  {
    term: 'Forecast tracking error',
    value: formatPercent(after.tracking_error),
    help: 'Annualised, against the parent',
    ...createExcessNote(exceeded, 'TrackingError'),
  },
  {
    term: 'Forecast volatility',
    value: formatPercent(after.volatility),
    help: `Annualised, forecast for the rebalance of ${date}. Other pages forecast from other returns or another date.`,
    note: [`parent ${formatPercent(before.volatility)}`, source].filter(Boolean).join('; '),
  },
  {
    term: 'Active share',
    value: formatPercent(after.turnover),
    help: 'Half the sum of absolute differences of weights from the parent',
    ...createExcessNote(exceeded, 'Turnover'),
  },
];

/** Returns the securities whose weights differ most from those of the parent. */
const listMoved = (assets: PreviewResponse['assets']) =>
  assets
    .filter(({ weight_delta: by }) => by !== null && by !== 0)
    .toSorted((a, b) => Math.abs(b.weight_delta!) - Math.abs(a.weight_delta!)) // non-null after the filter
    .slice(0, SHOWN);

interface MovesProps extends Pick<LargestWeightsProps, 'facts'> {
  readonly from: string;
  readonly assets: PreviewResponse['assets'];
}

/** Renders the largest differences between the weights and the weights of the parent. */
function Moves({ from, assets, facts }: MovesProps) {
  if (assets.length === 0) return null;
  return (
    <>
      <h3>Largest differences from {from}</h3>
      <Bars
        label={`Largest differences from ${from}`}
        bars={assets.map(({ identifier, weight, weight_delta: by }) => ({
          label: weight === null ? `${identifier} (not held)` : identifier,
          name: facts.get(identifier)?.name ?? null,
          value: by!, // non-null after the filter
        }))}
        format={(value) => formatPoints(value)}
      />
    </>
  );
}

const CALLS = {
  schedule: 'the schedule',
  breach: 'a breach',
  replacement: 'a constituent that left',
  fast_entry: 'a new security',
  fast_exit: 'a constituent ranked too low',
} as const;

const formatCause = (cause: keyof typeof CALLS | null): string => (cause === null ? 'nothing' : CALLS[cause]);

/** Renders how the draft changes the weights of the stored definition. */
function WhatIf({
  change: { before, after, added, removed, changed, turnover, findings },
}: {
  readonly change: WhatIfResponse;
}) {
  const moves = [...added, ...removed, ...changed].toSorted((a, b) => Math.abs(b.change) - Math.abs(a.change));
  return (
    <>
      <Metrics
        label="Effect of the change"
        metrics={[
          { term: 'Turnover', value: formatPercent(turnover), help: 'One-way, from the stored definition to this one' },
          {
            term: 'Constituents',
            value: formatCount(after.constituents),
            note: `before ${formatCount(before.constituents)}`,
          },
          { term: 'Largest', value: formatPercent(after.largest), note: `before ${formatPercent(before.largest)}` },
          {
            term: 'Effective',
            value: formatDecimal(after.effective_assets, 1),
            note: `before ${formatDecimal(before.effective_assets, 1)}`,
          },
          ...(before.cause === null && after.cause === null
            ? []
            : [
                {
                  term: 'Cause',
                  value: formatCause(after.cause),
                  help: 'Cause of a rebalance that is decided on this date',
                  ...(before.cause === after.cause ? {} : { note: `before ${formatCause(before.cause)}` }),
                },
              ]),
          ...listHeadroom(after.limits, before.limits),
        ]}
      />
      {findings.length > 0 && <Findings findings={findings} shown={3} />}
      {moves.length === 0 ? (
        <p class="quiet">No changes on this date.</p>
      ) : (
        <table class="moves">
          <thead>
            <tr>
              <th scope="col">Security</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
              <th scope="col">Change</th>
            </tr>
          </thead>
          <tbody>
            {moves.slice(0, 2 * SHOWN).map(({ identifier, before: from, after: to, change: by }) => (
              <tr key={identifier}>
                <th scope="row">
                  {identifier} {from === 0 && <Badge kind="good">in</Badge>}
                  {to === 0 && <Badge kind="bad">out</Badge>}
                </th>
                <td>{formatPercent(from)}</td>
                <td>{formatPercent(to)}</td>
                <td class={getSignClass(by)}>{formatChange(by)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {moves.length > 2 * SHOWN && <p class="quiet">and {formatCount(moves.length - 2 * SHOWN)} smaller changes</p>}
    </>
  );
}

const VIEWS = [
  { value: 'preview', text: 'Preview' },
  { value: 'change', text: 'Change' },
  { value: 'level', text: 'Level' },
  { value: 'json', text: 'JSON' },
] as const;

interface LiveProps {
  readonly findings: readonly Finding[];
  readonly isValid: boolean;
  /** Data store of the definition; null for the served store, undefined until it is known. */
  readonly store: string | null | undefined;
}

/** Renders a live preview of the definition. Its dates and names are those of its data store. */
export function Live(props: LiveProps) {
  const stores = useStores();
  const { store } = props;
  const { start = null, end = null, name } = findStoreOfDocument(stores.data?.stores, store) ?? {};
  const isOneOfMany = (stores.data?.stores.length ?? 0) > 1;
  return (
    <NamesStore.Provider value={store ?? null}>
      <Views {...props} start={start} end={end} storeName={isOneOfMany ? name : undefined} />
    </NamesStore.Provider>
  );
}

interface ViewsProps extends LiveProps {
  /** First date of the store; the next field is its last date. */
  readonly start: string | null;
  readonly end: string | null;
  /** Name of the store if there are several; otherwise undefined. */
  readonly storeName: string | undefined;
}

function Views({ findings, isValid, store, start, end, storeName }: ViewsProps) {
  const { draft, isStored } = useWorkshop();
  const document = draft.document.value;
  const asOf = getParameter('on') ?? end;
  const isOverlay = document['overlay'] !== undefined;
  // An overlay has no selection. Only the level view shows what it does.
  const views = VIEWS.filter(({ value }) =>
    isOverlay ? value === 'level' || value === 'json' : value !== 'change' || isStored,
  );
  const [isFolded, setFolded] = useFold();
  const [first] = views;
  const view = views.find(({ value }) => value === getParameter('view'))?.value ?? first!.value;
  const canPreview = isValid && asOf !== null;
  const urgent = findings.filter(({ severity }) => severity !== 'info');
  const otherFindings = findings.filter(({ severity }) => severity === 'info');
  const isCurrent = !findings.some(({ severity }) => severity === 'error');
  // The service has neither accepted nor refused the draft.
  const isUnchecked = !isValid && isCurrent && asOf !== null;
  const text = JSON.stringify(document);
  const preview = useOneAtATime(canPreview && view === 'preview' ? `${asOf} ${text}` : null, () =>
    service.value.call('previewDocument', { body: { document: createBody(document), as_of: asOf } }),
  );
  const comparison = useOneAtATime(canPreview && view === 'change' && isStored ? `${asOf} ${text}` : null, () =>
    service.value.call('whatIf', {
      body: { index_id: String(document['id']), changed: createBody(document), as_of: asOf },
    }),
  );
  const level = useLevelSketch(canPreview && view === 'level' ? document : null);
  return (
    <aside
      class={isFolded ? 'stack raised gap-3 designer-live is-folded' : 'stack raised gap-3 designer-live'}
      aria-label="Preview"
    >
      <div class="flow spread gap-2 live-bar">
        <Choice
          label="View"
          options={views}
          value={view}
          onChoose={(chosen) => setParameters({ view: chosen === first?.value ? null : chosen })}
        />
        {isFolded && view === 'preview' && preview.data !== undefined && (
          <span class="quiet">{countValues(countHeld(preview.data), 'constituent')}</span>
        )}
        {isFolded && view === 'level' && <FoldedLevel sketch={level.data} />}
        <Fold isFolded={isFolded} onFold={setFolded} />
        {(view === 'preview' || view === 'change') && <DecisionDate asOf={asOf} start={start} end={end} />}
      </div>
      {storeName !== undefined && view !== 'json' && <p class="quiet">Data store: {storeName}</p>}
      {urgent.length > 0 && <Findings findings={urgent} shown={4} isOpenForm />}
      {asOf === null && view !== 'json' && store !== undefined && <MissingData store={store} />}
      {isUnchecked && view === 'preview' && preview.data === undefined && <Wait what="the preview" />}
      {view === 'preview' && (
        <Answer latest={preview} isCurrent={isCurrent} shown={urgent}>
          {(data) => <Preview preview={data} shown={findings} />}
        </Answer>
      )}
      {view === 'change' && (
        <Answer latest={comparison} isCurrent={isCurrent} shown={urgent}>
          {(data) => <WhatIf change={data} />}
        </Answer>
      )}
      {view === 'level' && <LevelView sketchedLevel={level} isUnchecked={isUnchecked} shown={urgent} />}
      {view === 'json' && <JsonEditor />}
      {otherFindings.length > 0 && <Findings findings={otherFindings} shown={4} isOpenForm />}
    </aside>
  );
}

/** Returns if the strip is folded, and folds it. On a phone, it would cover the form and is folded at first. */
function useFold(): readonly [boolean, (isFolded: boolean) => void] {
  const isPhone = usePhone();
  const [chosenFold, setFolded] = useState<boolean | null>(null);
  return [chosenFold ?? isPhone, setFolded];
}

interface DecisionDateProps extends Pick<ViewsProps, 'start' | 'end'> {
  readonly asOf: string | null;
}

function DecisionDate({ asOf, start, end }: DecisionDateProps) {
  if (asOf === null || start === null || end === null) return null;
  return (
    <label class="inline-line gap-2 select">
      <span class="quiet">On</span>
      <DateInput
        label="Decision date"
        value={asOf}
        least={start}
        most={end}
        onChange={(on) => setParameters({ on: on === end ? null : on })}
      />
    </label>
  );
}

interface AnswerProps<T> {
  readonly latest: LatestRequest<T>;
  /** True if the draft is valid. If not, the displayed response belongs to an earlier draft. */
  readonly isCurrent: boolean;
  /** Findings that are already listed above the response. */
  readonly shown: readonly Finding[];
  readonly children: (data: T) => preact.ComponentChildren;
}

/** Renders the last response. It is marked while it belongs to an earlier draft. */
function Answer<T>({ latest: { data, trouble, isBehind }, isCurrent, shown, children }: AnswerProps<T>) {
  return (
    <div class={isBehind ? 'stack gap-3 live-answer is-behind' : 'stack gap-3 live-answer'} aria-busy={isBehind}>
      {isBehind && data === undefined && <Wait what="the preview" />}
      {trouble !== null &&
        (isListed(trouble, shown) ? (
          <p class="quiet">The findings above prevent a preview.</p>
        ) : (
          <Problem trouble={trouble} />
        ))}
      {data !== undefined && <Earlier isEarlier={!isCurrent}>{children(data)}</Earlier>}
    </div>
  );
}
