import type { OverviewView, PublishRequest } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Banner } from '../../../components/banner.js';
import { Button } from '../../../components/button.js';
import { Confirm } from '../../../components/confirm.js';
import { Facts } from '../../../components/facts.js';
import { SchemaForm } from '../../../components/form/schema-form.js';
import { Problem } from '../../../components/problem.js';
import { Section } from '../../../components/page.js';
import { changed } from '../../../state/resource.js';
import { service, troubleOf, type Trouble } from '../../../state/service.js';
import { shownRun } from '../../../state/shown-run.js';
import { say } from '../../../state/toasts.js';
import { count, counted, decimal } from '../../../words/numbers.js';
import type { JsonObject } from '../../../words/paths.js';

interface PublishProps {
  readonly id: string;
  readonly run: OverviewView;
  /** Last published date; null where nothing is. */
  readonly last: string | null;
}

/** Appends closes of the run to the log; where published ones differ, they are told, and restated only with a reason. */
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
      const { published, restated, through } = await service.value.call('publishIndex', {
        params: { index_id: id },
        // Of the run that is looked at; the service says what is wrong with it.
        body: { ...shownRun(), ...body } as PublishRequest,
      });
      const again = restated === 0 ? '' : `, ${restated} again`;
      say('good', `${counted(published, 'close')} published${again}; through ${through}.`);
      setAsked({});
      changed();
    } catch (thrown) {
      setTrouble(troubleOf(thrown));
    }
    setBusy(false);
  };
  const isDone = last !== null && last >= run.end && !isRestated;
  return (
    <Section title="Publish" aside={isDone && 'every close of the run is published'}>
      {run.stale !== null && (
        <p class="quiet">The stored run is stale: what is published is the run as it is stored.</p>
      )}
      {isRestated && <Restated trouble={trouble} />}
      {trouble !== null && !isRestated && <Problem trouble={trouble} />}
      <SchemaForm
        schema="PublishRequest"
        names={['through', ...(isPartial ? ['allow_partial'] : []), ...(isRestated || isPartial ? ['reason'] : [])]}
        changes={{
          through: { label: 'Through', kind: 'date', otherwise: run.end },
          reason: { label: 'Why', isRequired: isRestated },
          allow_partial: { label: 'Publish what lacks bars' },
        }}
        value={asked}
        findings={trouble?.findings ?? []}
        onChange={setAsked}
      />
      <div class="form-actions">
        {isRestated ? (
          <Button kind="danger" disabled={isBusy || reason === ''} onClick={() => setAsking(true)}>
            Restate
          </Button>
        ) : (
          <Button
            kind={isDone ? 'plain' : 'main'}
            disabled={isBusy}
            onClick={() => (last === null ? setAsking(true) : void publish({ ...asked, restate: false }))}
          >
            Publish
          </Button>
        )}
      </div>
      {isAsking && (
        <Confirm
          title={isRestated ? `Restate published closes of ${id}?` : `Begin the published log of ${id}?`}
          action={isRestated ? 'Restate' : 'Publish'}
          onConfirm={() => void publish({ ...asked, restate: isRestated })}
          onClose={() => setAsking(false)}
        >
          {isRestated && <Sizes detail={trouble.detail} />}
          <p>{isRestated ? `Why: ${reason}` : firstWords(run.start, String(asked['through'] ?? run.end))}</p>
        </Confirm>
      )}
    </Section>
  );
}

const firstWords = (start: string, through: string): string =>
  `Closes from ${start} through ${through} are signed and stay: a published close is never removed, only restated beside what stands.`;

/** Published closes that the run has otherwise. */
function Restated({ trouble: { message, detail } }: { readonly trouble: Trouble }) {
  return (
    <Banner kind="warning" title={message}>
      <p>Nothing was published. A restatement is appended beside what stands; it removes nothing.</p>
      <Sizes detail={detail} />
      <Dates detail={detail} />
    </Banner>
  );
}

/** How much of the log the run disagrees with. */
function Sizes({ detail }: { readonly detail: Trouble['detail'] }) {
  // What the service says beside RESTATEMENT.
  const { dates = [], total = dates.length, levels_changed: levels, largest } = (detail ?? {}) as Partial<Refused>;
  return (
    <Facts
      facts={[
        ['Closes', count(total)],
        ['From', dates[0] ?? null],
        ['With another level', levels === undefined ? null : count(levels)],
        [
          'Largest change',
          largest === undefined ? null : largest === null ? 'no level' : <Largest largest={largest} />,
        ],
      ]}
    />
  );
}

function Dates({ detail }: { readonly detail: Trouble['detail'] }) {
  const { dates = [], total = dates.length } = (detail ?? {}) as Partial<Refused>;
  return (
    <details>
      <summary>Dates</summary>
      {dates.join(', ')}
      {total > dates.length && ` and ${count(total - dates.length)} more`}
    </details>
  );
}

interface Refused {
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
      {decimal(bps)} bps, {decimal(change, 4)} points: {variant} {decimal(published, 4)} → {decimal(run, 4)} on {date}
    </>
  );
}
