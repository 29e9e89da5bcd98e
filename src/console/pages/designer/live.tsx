import { useState } from 'preact/hooks';
import type { Finding, PreviewResponse, WhatIfResponse } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Bars } from '../../components/bars.js';
import { Choice } from '../../components/choice.js';
import { Earlier } from '../../components/earlier.js';
import { Findings } from '../../components/findings.js';
import { Funnel } from '../../components/funnel.js';
import { Metrics } from '../../components/metrics.js';
import { labelWithName } from '../../components/name-column.js';
import { Problem } from '../../components/problem.js';
import { DateInput } from '../../components/range-bar.js';
import { RiskWindow } from '../../components/risk-window.js';
import { Wait } from '../../components/wait.js';
import { useOneAtATime, type Latest } from '../../state/one-at-a-time.js';
import { useNames } from '../../state/names.js';
import { parameter, setParameters } from '../../state/place.js';
import { service } from '../../state/service.js';
import { isSameFinding } from '../../words/findings.js';
import { change, count, decimal, percent, signClass } from '../../words/numbers.js';
import { rowWords } from '../optimise/measures.js';
import { bodyOf, useWorkshop } from './draft.js';
import { Fold } from './fold.js';
import { JsonEditor } from './json-editor.js';
import { LevelView } from './level-view.js';

const VIEWS = [
  { value: 'preview', text: 'Preview' },
  { value: 'change', text: 'Change' },
  { value: 'level', text: 'Level' },
  { value: 'json', text: 'JSON' },
] as const;

interface LiveProps {
  readonly findings: readonly Finding[];
  readonly isValid: boolean;
  /** First date of the served store; the next field is its last date. */
  readonly start: string | null;
  readonly end: string | null;
}

/** Renders a live preview of the definition. */
export function Live({ findings, isValid, start, end }: LiveProps) {
  const { draft, isStored } = useWorkshop();
  const document = draft.document.value;
  const asOf = parameter('on') ?? end;
  const isOverlay = document['overlay'] !== undefined;
  // An overlay has no selection, so only the level view shows its effect.
  const views = VIEWS.filter(({ value }) =>
    isOverlay ? value === 'level' || value === 'json' : value !== 'change' || isStored,
  );
  // On a telephone the strip would cover the form, so it is folded at first.
  const [isFolded, setFolded] = useState(() => matchMedia('(width < 520px)').matches);
  const [first] = views;
  const view = views.find(({ value }) => value === parameter('view'))?.value ?? first!.value;
  const canPreview = isValid && asOf !== null;
  const urgent = findings.filter(({ severity }) => severity !== 'info');
  const others = findings.filter(({ severity }) => severity === 'info');
  const isCurrent = !findings.some(({ severity }) => severity === 'error');
  // The service has neither accepted nor refused the draft.
  const isUnchecked = !isValid && isCurrent && asOf !== null;
  const text = JSON.stringify(document);
  const preview = useOneAtATime(canPreview && view === 'preview' ? `${asOf} ${text}` : null, () =>
    service.value.call('previewDocument', { body: { document: bodyOf(document), as_of: asOf } }),
  );
  const compared = useOneAtATime(canPreview && view === 'change' && isStored ? `${asOf} ${text}` : null, () =>
    service.value.call('whatIf', {
      body: { index_id: String(document['id']), changed: bodyOf(document), as_of: asOf },
    }),
  );
  return (
    <aside class={isFolded ? 'designer-live is-folded' : 'designer-live'} aria-label="Preview">
      <div class="live-bar">
        <Choice
          label="View"
          options={views}
          value={view}
          onChoose={(chosen) => setParameters({ view: chosen === first?.value ? null : chosen })}
        />
        <Fold isFolded={isFolded} onFold={setFolded} />
        {(view === 'preview' || view === 'change') && <DecisionDate asOf={asOf} start={start} end={end} />}
      </div>
      {urgent.length > 0 && <Findings findings={urgent} shown={4} isOpenForm />}
      {asOf === null && view !== 'json' && <p class="quiet">No data store is served. Serve one to see a preview.</p>}
      {isUnchecked && view === 'preview' && preview.data === undefined && <Wait what="the preview" />}
      {view === 'preview' && (
        <Answer latest={preview} isCurrent={isCurrent}>
          {(data) => <Preview preview={data} shown={findings} />}
        </Answer>
      )}
      {view === 'change' && (
        <Answer latest={compared} isCurrent={isCurrent}>
          {(data) => <WhatIf change={data} />}
        </Answer>
      )}
      {view === 'level' && <LevelView isValid={canPreview} isUnchecked={isUnchecked} />}
      {view === 'json' && <JsonEditor />}
      {others.length > 0 && <Findings findings={others} shown={4} isOpenForm />}
    </aside>
  );
}

interface DecisionDateProps extends Pick<LiveProps, 'start' | 'end'> {
  readonly asOf: string | null;
}

function DecisionDate({ asOf, start, end }: DecisionDateProps) {
  if (asOf === null || start === null || end === null) return null;
  return (
    <label class="select">
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
  readonly latest: Latest<T>;
  /** True if the draft is valid. If not, the displayed answer belongs to an earlier draft. */
  readonly isCurrent: boolean;
  readonly children: (data: T) => preact.ComponentChildren;
}

/** Renders the last answer, greyed out while it belongs to an earlier draft. */
function Answer<T>({ latest: { data, trouble, isBehind }, isCurrent, children }: AnswerProps<T>) {
  return (
    <div class={isBehind ? 'live-answer is-behind' : 'live-answer'} aria-busy={isBehind}>
      {isBehind && data === undefined && <Wait what="the preview" />}
      {trouble !== null && <Problem trouble={trouble} />}
      {data !== undefined && <Earlier isEarlier={!isCurrent}>{children(data)}</Earlier>}
    </div>
  );
}

const SHOWN = 15;

/**
 * Formats the distance of the decided weights from the limit that triggers a rebalance; empty if the index has no such
 * limit.
 */
const headroomOf = (limits: PreviewResponse['limits'], before?: PreviewResponse['limits']) =>
  limits === undefined
    ? []
    : [
        {
          term: 'Headroom',
          value: percent(limits.headroom),
          help: 'Distance of the target weights to the nearest bound; negative if a bound is exceeded',
          note: before === undefined ? limits.rule.replaceAll('_', ' ') : `before ${percent(before.headroom)}`,
        },
      ];

const CALLS = {
  schedule: 'the schedule',
  breach: 'a breach',
  replacement: 'a constituent that left',
  fast_entry: 'a new security',
  fast_exit: 'a constituent ranked too low',
} as const;

const callOf = (cause: keyof typeof CALLS | null): string => (cause === null ? 'nothing' : CALLS[cause]);

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
  const held = assets.filter(({ weight }) => weight !== null && weight !== 0);
  const findings = all.filter((finding) => !shown.some((other) => isSameFinding(other, finding)));
  const facts = useNames(
    held.slice(0, SHOWN).map(({ identifier }) => identifier),
    date ?? undefined,
  );
  return (
    <>
      <Metrics
        label="Figures of the preview"
        metrics={[
          { term: 'Constituents', value: count(held.length), note: date === null ? 'no data' : `decided on ${date}` },
          ...(solve === null
            ? [
                { term: 'Sum of weights', value: percent(total) },
                { term: 'Moved by caps', value: percent(moved), help: 'Weight moved away from capped constituents' },
              ]
            : solvedFigures(solve, assets.length)),
          ...headroomOf(limits),
        ]}
      />
      {findings.length > 0 && <Findings findings={findings} shown={3} />}
      {steps !== null && <Funnel steps={steps} assets={assets} />}
      {solve !== null && (
        <p class="quiet">
          Optimised from {solve.source_index_id} on {solve.rebalance_date}. Binding:{' '}
          {bindingWords(solve.binding) || 'nothing'}.
        </p>
      )}
      {solve !== null && <RiskWindow model={draft.at(['derivation', 'risk_model'])} />}
      <h3>Largest weights</h3>
      <Bars
        label="Largest weights"
        bars={held.slice(0, SHOWN).map(({ identifier, weight, capped }) => ({
          label: `${labelWithName(identifier, facts)}${capped ? ' (cap)' : ''}`,
          value: weight ?? 0,
        }))}
        isPlain
        format={(value) => percent(value)}
      />
      {solve !== null && <Moves from={solve.source_index_id} assets={assets} />}
    </>
  );
}

type Solve = NonNullable<PreviewResponse['solve']>;

/** Returns the figures of an optimisation. A figure of the parent is added where it differs. */
const solvedFigures = ({ before, after }: Solve, candidates: number) => [
  { term: 'Candidates', value: count(candidates) },
  { term: 'Tracking error', value: percent(after.tracking_error), help: 'Expected, annualised, against the parent' },
  { term: 'Volatility', value: percent(after.volatility), note: `parent ${percent(before.volatility)}` },
  {
    term: 'Active share',
    value: percent(after.turnover),
    help: 'Half the sum of absolute differences of weights from the parent',
  },
];

/** Describes binding constraints; a constraint that binds for several securities has their number. */
function bindingWords(labels: readonly string[]): string {
  const groups = new Map<string, string[]>();
  for (const label of labels) {
    const [, row = label, name] = /^(.*?:(?:upper|lower|eq))(?::(.*))?$/.exec(label) ?? [];
    groups.set(row, [...(groups.get(row) ?? []), ...(name === undefined ? [] : [name])]);
  }
  return [...groups]
    .map(([row, names]) => {
      if (names.length === 0) return rowWords(row);
      return `${rowWords(row)} (${names.length > NAMED_MAX ? `${names.length} securities` : names.join(', ')})`;
    })
    .join('; ');
}

/** Maximum number of securities named in a sentence. */
const NAMED_MAX = 3;

/** Renders the largest differences between the weights and those of the parent. */
function Moves({ from, assets }: { readonly from: string; readonly assets: PreviewResponse['assets'] }) {
  const moved = assets
    .filter(({ weight_delta: by }) => by !== null && by !== 0)
    .toSorted((a, b) => Math.abs(b.weight_delta!) - Math.abs(a.weight_delta!)) // non-null after the filter
    .slice(0, SHOWN);
  if (moved.length === 0) return null;
  return (
    <>
      <h3>Largest differences from {from}</h3>
      <Bars
        label={`Largest differences from ${from}`}
        bars={moved.map(({ identifier, weight, weight_delta: by }) => ({
          label: weight === null ? `${identifier} (not held)` : identifier,
          value: by!, // non-null after the filter
        }))}
        format={(value) => change(value)}
      />
    </>
  );
}

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
          { term: 'Turnover', value: percent(turnover), help: 'One-way, from the stored definition to this one' },
          { term: 'Constituents', value: count(after.constituents), note: `before ${count(before.constituents)}` },
          { term: 'Largest', value: percent(after.largest), note: `before ${percent(before.largest)}` },
          {
            term: 'Effective',
            value: decimal(after.effective_assets, 1),
            note: `before ${decimal(before.effective_assets, 1)}`,
          },
          ...(before.cause === null && after.cause === null
            ? []
            : [
                {
                  term: 'Cause',
                  value: callOf(after.cause),
                  help: 'Cause of a rebalance that is decided on this date',
                  ...(before.cause === after.cause ? {} : { note: `before ${callOf(before.cause)}` }),
                },
              ]),
          ...headroomOf(after.limits, before.limits),
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
                <td>{percent(from)}</td>
                <td>{percent(to)}</td>
                <td class={signClass(by)}>{change(by)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {moves.length > 2 * SHOWN && <p class="quiet">and {count(moves.length - 2 * SHOWN)} smaller changes</p>}
    </>
  );
}
