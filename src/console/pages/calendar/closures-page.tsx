import type { ClosureEffect, Finding, Operations } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Select } from '../../components/choice.js';
import { Editor, type OpenedDocument, type WriteTerms } from '../../components/editor.js';
import { listRows } from '../../components/form/row-list.js';
import { Section } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { Answered } from '../../components/wait.js';
import { useExchanges } from '../../state/exchanges.js';
import type { PageProps } from '../../state/page-props.js';
import { navigate } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service, createTrouble, type Trouble } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatClosuresAddress } from '../../words/addresses.js';
import { isDate, formatWeekday } from '../../words/dates.js';
import type { JsonObject } from '../../words/paths.js';
import { Changes } from './changes.js';
import { Effect } from './closure-effect.js';
import { Holidays } from './holidays.js';
import '../data/data.css';

/** Page of the recorded changes of a calendar. They can be saved after their effect was displayed. */
export function ClosuresPage({ params }: PageProps) {
  const code = params['id']!; // the route has this parameter
  const openedDocument = useResource(`closures ${code}`, (signal) => load(code, signal), { follows: false });
  return (
    <Answered resource={openedDocument} what="the recorded closures">
      {(first) => <Closures key={code} code={code} opened={first} onReload={openedDocument.reload} />}
    </Answered>
  );
}

interface ClosuresProps {
  readonly code: string;
  readonly opened: OpenedDocument;
  onReload(): void;
}

/** Result of a dry run of a document. */
interface DryRun {
  readonly text: string;
  readonly effect: ClosureEffect | null;
  readonly trouble: Trouble | null;
}

function Closures({ code, opened, onReload }: ClosuresProps) {
  const exchanges = useExchanges();
  const [dryRun, setDryRun] = useState<DryRun | null>(null);
  const [open, setOpen] = useState<number | null>(null);
  const validate = async (document: JsonObject): Promise<readonly Finding[]> => {
    if (!isComplete(document)) return [];
    const text = JSON.stringify(document);
    try {
      const body = { ...createBody(document), dry_run: true };
      const { effect } = await service.value.call('putClosures', { params: { calendar_code: code }, body });
      setDryRun({ text, effect, trouble: null });
      return [];
    } catch (thrown) {
      const trouble = createTrouble(thrown);
      setDryRun({ text, effect: null, trouble: trouble.findings.length === 0 ? trouble : null });
      return trouble.findings;
    }
  };
  const isReady = (document: JsonObject): boolean => {
    const text = JSON.stringify(document);
    return text !== JSON.stringify(opened.document) && dryRun?.text === text && dryRun.effect !== null;
  };
  return (
    <Editor
      scope="data"
      title={`Closures of ${exchanges.get(code) ?? code}`}
      above={[{ address: '/console/calendar', text: 'Calendar' }]}
      opened={opened}
      {...(may('data') ? { validate } : {})}
      hasNote={false}
      versioned={{ kind: 'calendar', id: code }}
      reread={() => load(code)}
      save={(document, write) => put(code, document, write)}
      isReady={isReady}
      onSaved={() => {
        showToast('good', `The changes of ${code} are saved and apply at once.`);
        setOpen(null);
        onReload();
      }}
      onReload={onReload}
    >
      {(edited) => (
        <>
          <p>
            Unscheduled closures, half days, late openings and additional sessions. They apply at once to runs, previews
            and schedules. Published closes stay as they are.
          </p>
          <Select
            label="Calendar"
            isLabelShown
            options={[...exchanges].map(([value, name]) => ({ value, text: `${name} (${value})` }))}
            value={code}
            onChoose={(chosen) => navigate(formatClosuresAddress(chosen))}
          />
          <Changes edited={edited} open={open} onOpen={setOpen} />
          {edited.isChanged && (
            <Section title="Effect" aside="nothing is stored before you save">
              {dryRun?.trouble != null && <Problem trouble={dryRun.trouble} />}
              {isReady(edited.document) ? (
                <Effect effect={dryRun!.effect!} /> // `isReady` requires a dry run with an effect
              ) : (
                <p class="quiet">
                  {isComplete(edited.document)
                    ? 'The effect is being computed.'
                    : 'The effect is shown once every change has its date and reason.'}
                </p>
              )}
            </Section>
          )}
          <Holidays code={code} />
        </>
      )}
    </Editor>
  );
}

type ClosuresBody = Operations['putClosures']['request']['body'];

/** The service validates the document. */
const createBody = (document: JsonObject): ClosuresBody => document as unknown as ClosuresBody;

async function load(code: string, signal?: AbortSignal): Promise<OpenedDocument> {
  const { answer, etag } = await service.value.callWithEtag('getClosures', {
    params: { calendar_code: code },
    signal,
  });
  return { document: { changes: answer.changes } as unknown as JsonObject, etag }; // the response is plain JSON
}

const put = (code: string, document: JsonObject, write: WriteTerms) =>
  service.value.callWithEtag('putClosures', { params: { calendar_code: code }, body: createBody(document), ...write });

/**
 * Returns true if every change is complete. A change needs a date and a reason, and an open weekday needs an opening or
 * closing time.
 */
function isComplete(document: JsonObject): boolean {
  return listRows(document['changes']).every(({ date, session, reason, opens, closes }) => {
    const day = String(date ?? '');
    if (!isDate(day) || String(reason ?? '').trim() === '') return false;
    const isWeekend = ['Sat', 'Sun'].includes(formatWeekday(day));
    return session === 'closed' || isWeekend || opens !== undefined || closes !== undefined;
  });
}
