import type { Finding, OverviewView, PublishRequest } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Banner } from '../../../components/banner.js';
import { Button } from '../../../components/button.js';
import { Confirm } from '../../../components/confirm.js';
import { Facts } from '../../../components/facts.js';
import { SchemaForm } from '../../../components/form/schema-form.js';
import { Problem } from '../../../components/problem.js';
import { Section } from '../../../components/page.js';
import { notifyChange } from '../../../state/resource.js';
import { service, createTrouble, type Trouble } from '../../../state/service.js';
import { formatAddress } from '../../../state/location.js';
import { readShownRun } from '../../../state/shown-run.js';
import { showToast } from '../../../state/toasts.js';
import { formatIndexAddress } from '../../../words/addresses.js';
import { formatCount, countValues, formatDecimal } from '../../../words/numbers.js';
import type { JsonObject } from '../../../words/paths.js';
import { listFirstTimes, findThroughProblem } from '../../../words/publication.js';
import { useLevels } from './unpublished.js';

interface PublishProps {
  readonly id: string;
  readonly run: OverviewView;
  /** Last published date; null if there is none. */
  readonly last: string | null;
}

/**
 * Renders the form that appends closes of the run to the log. Published closes that differ are listed. They are
 * restated only if the user gives a reason.
 */
export function Publish({ id, run, last }: PublishProps) {
  const [asked, setAsked] = useState<JsonObject>({});
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const isRestated = trouble?.code === 'RESTATEMENT';
  const isPartial = trouble?.code === 'PARTIAL_CLOSES' || asked['allow_partial'] === true;
  const reason = typeof asked['reason'] === 'string' ? asked['reason'].trim() : '';
  const publish = async (body: JsonObject) => {
    setBusy(true);
    setTrouble(null);
    try {
      const { published, restated, through, stale } = await service.value.call('publishIndex', {
        params: { index_id: id },
        // Publishes the run on this page. The service validates the body.
        body: { ...readShownRun(), ...body } as PublishRequest,
      });
      const againText = restated === 0 ? '' : `, ${restated} again`;
      const staleText = stale === null ? '' : ` The run is stale: ${stale.reasons.join(' ')}`;
      const summary = `${countValues(published, 'close')} published${againText}; through ${through ?? 'no date yet'}.${staleText}`;
      showToast('good', published + restated === 0 ? 'The run equals the published log.' : summary);
      setAsked({});
      notifyChange();
    } catch (thrown) {
      setTrouble(createTrouble(thrown));
    }
    setBusy(false);
  };
  const isDone = last !== null && last >= run.end && !isRestated;
  const through = typeof asked['through'] === 'string' ? asked['through'] : undefined;
  const wrong = findThroughProblem(through, { start: run.start, end: run.end, last, isRestated });
  const first = useFirstTimes(id, { through: wrong === null ? through : '', last });
  // A stale run is not published unless the address names it.
  if (run.stale !== null && readShownRun().run_id === undefined) return <NotCurrent id={id} first={first} />;
  const isDisabled = isBusy || wrong !== null || first === null;
  return (
    <Section title="Publish" aside={isDone ? 'all closes of the run are published' : toCome(first)}>
      {isRestated && <RestatedCloses trouble={trouble} />}
      {trouble !== null && !isRestated && <Problem trouble={trouble} />}
      <Form
        asked={asked}
        end={run.end}
        names={['through', ...(isPartial ? ['allow_partial'] : []), ...(isRestated || isPartial ? ['reason'] : [])]}
        isReasoned={isRestated}
        isDone={isDone && trouble === null}
        findings={[...(trouble?.findings ?? []), ...createThroughFinding(wrong)]}
        onChange={setAsked}
      />
      <div class="form-actions">
        {isRestated ? (
          <Button kind="danger" disabled={isDisabled || reason === ''} onClick={() => setAsking(true)}>
            Restate
          </Button>
        ) : (
          <Button
            kind={isDone ? 'plain' : 'main'}
            disabled={isDisabled}
            onClick={() => (last === null ? setAsking(true) : void publish({ ...asked, restate: false }))}
          >
            {isDone ? 'Compare with the log' : 'Publish'}
          </Button>
        )}
      </div>
      {isAsking && (
        <Asking
          id={id}
          isRestated={isRestated}
          detail={trouble?.detail ?? null}
          reason={reason}
          first={first ?? []}
          onConfirm={() => void publish({ ...asked, restate: isRestated })}
          onClose={() => setAsking(false)}
        />
      )}
    </Section>
  );
}

const COMPARISON = 'A comparison finds published closes that differ from the run, so that they can be restated.';

interface NotCurrentProps {
  readonly id: string;
  readonly first: readonly string[] | null;
}

/** States what an outdated run leaves to publish, and how. */
const NotCurrent = ({ id, first }: NotCurrentProps) => (
  <Section title="Publish" aside="the run is out of date">
    {first !== null &&
      (first.length === 0 ? (
        <p>Every close of this run has a published level. Run again to compare a current run with the log.</p>
      ) : (
        <p>
          {countValues(first.length, 'close')} to publish, <Dated from={first[0]!} to={first.at(-1)!} />. Run again,
          then publish.
        </p>
      ))}
    <p class="quiet">
      To publish an outdated run, open it in the tab{' '}
      <a href={formatAddress(formatIndexAddress(id), { tab: 'runs' })}>Runs</a>.
    </p>
  </Section>
);

const Dated = ({ from, to }: { readonly from: string; readonly to: string }) => (
  <>
    <span class="whole-date">{from}</span> to <span class="whole-date">{to}</span>
  </>
);

const createThroughFinding = (message: string | null): readonly Finding[] =>
  message === null ? [] : [{ severity: 'error', code: 'BAD_DATE', message, path: 'through' }];

interface FormProps {
  readonly asked: JsonObject;
  readonly end: string;
  readonly names: readonly string[];
  /** True if the reason is required. */
  readonly isReasoned: boolean;
  /** True if all closes are published. Then there is nothing to enter. */
  readonly isDone: boolean;
  readonly findings: readonly Finding[];
  onChange(request: JsonObject): void;
}

function Form({ asked, end, names, isReasoned, isDone, findings, onChange }: FormProps) {
  if (isDone) return <p class="quiet">{COMPARISON}</p>;
  return (
    <SchemaForm
      schema="PublishRequest"
      names={names}
      changes={{
        through: { label: 'Through', kind: 'date', otherwise: end },
        reason: { label: 'Why', isRequired: isReasoned },
        allow_partial: { label: 'Publish incomplete closes' },
      }}
      value={asked}
      findings={findings}
      onChange={onChange}
    />
  );
}

interface AskingProps {
  readonly id: string;
  readonly isRestated: boolean;
  readonly detail: Trouble['detail'];
  readonly reason: string;
  /** Dates to be published for the first time. */
  readonly first: readonly string[];
  onConfirm(): void;
  onClose(): void;
}

/**
 * Renders the confirmation of a publication. It lists everything that will be signed, because a publication cannot be
 * undone.
 */
function Asking({ id, isRestated, detail, reason, first, onConfirm, onClose }: AskingProps) {
  return (
    <Confirm
      title={isRestated ? `Restate published closes of ${id}?` : `Begin the published log of ${id}?`}
      action={isRestated ? 'Restate' : 'Publish'}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      {isRestated && <Sizes detail={detail} />}
      {isRestated && <p>Why: {reason}</p>}
      <p>{formatFirstPublication(first, isRestated)}</p>
    </Confirm>
  );
}

/** Returns the dates of the run that would be published for the first time. Returns null until they are known. */
function useFirstTimes(
  id: string,
  { through, last }: { readonly through: string | undefined; readonly last: string | null },
) {
  const levels = useLevels(id);
  return levels.data === undefined ? null : listFirstTimes(levels.data.levels.index, through, { last });
}

const formatSpan = (dates: readonly string[]): string =>
  `${countValues(dates.length, 'close')}, ${dates[0]} to ${dates.at(-1)}`;

const toCome = (first: readonly string[] | null) =>
  first !== null && first.length > 0 && `to publish: ${formatSpan(first)}`;

function formatFirstPublication(first: readonly string[], isRestated: boolean): string {
  if (first.length === 0) return 'No other closes are published.';
  const closesText = isRestated ? `Also published for the first time: ${formatSpan(first)}.` : `${formatSpan(first)}.`;
  return `${closesText} They are signed and permanent: a published close can be restated but never removed.`;
}

/** Renders the published closes that differ from the run. */
function RestatedCloses({ trouble: { message, detail } }: { readonly trouble: Trouble }) {
  return (
    <Banner kind="warning" title={message}>
      <p>Nothing was published. A restatement is appended to the log; it removes nothing.</p>
      <Sizes detail={detail} />
      <Dates detail={detail} />
    </Banner>
  );
}

/** Renders how many closes of the run differ from the log, and by how much. */
function Sizes({ detail }: { readonly detail: Trouble['detail'] }) {
  // Detail of the error RESTATEMENT.
  const {
    dates = [],
    total = dates.length,
    levels_changed: levels,
    largest,
  } = (detail ?? {}) as Partial<RefusedPublication>;
  return (
    <Facts
      facts={[
        ['Closes', formatCount(total)],
        ['From', dates[0] ?? null],
        ['Changed levels', levels === undefined ? null : formatCount(levels)],
        [
          'Largest change',
          largest === undefined ? null : largest === null ? 'no level' : <Largest largest={largest} />,
        ],
      ]}
    />
  );
}

function Dates({ detail }: { readonly detail: Trouble['detail'] }) {
  const { dates = [], total = dates.length } = (detail ?? {}) as Partial<RefusedPublication>;
  return (
    <details>
      <summary>Dates</summary>
      {dates.join(', ')}
      {total > dates.length && ` and ${formatCount(total - dates.length)} more`}
    </details>
  );
}

interface RefusedPublication {
  readonly dates: readonly string[];
  readonly total: number;
  readonly levels_changed: number;
  readonly largest: LargestChange | null;
}

interface LargestChange {
  readonly date: string;
  readonly variant: string;
  readonly published: number;
  readonly run: number;
  readonly change: number;
  readonly change_bps: number;
}

function Largest({
  largest: { date, variant, published, run, change, change_bps: bps },
}: {
  readonly largest: LargestChange;
}) {
  return (
    <>
      {formatDecimal(bps)} bp, {formatDecimal(change, 4)} points: {variant} {formatDecimal(published, 4)} →{' '}
      {formatDecimal(run, 4)} on {date}
    </>
  );
}
