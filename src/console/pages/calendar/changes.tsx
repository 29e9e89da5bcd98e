import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import type { EditedDocument } from '../../components/editor.js';
import { listRows } from '../../components/form/row-list.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Icon } from '../../components/icon.js';
import { Section } from '../../components/page.js';
import { may } from '../../state/principal.js';
import { isDate, formatWeekday } from '../../words/dates.js';
import { countValues, MISSING_TEXT } from '../../words/numbers.js';
import { formatPath, type JsonObject } from '../../words/paths.js';
import './calendar.css';

interface ChangesProps {
  readonly edited: EditedDocument;
  /** Position of the change whose form is open. */
  readonly open: number | null;
  onOpen(position: number | null): void;
}

/** Renders the recorded changes of a calendar. Each change opens to its form. */
export function Changes({ edited, open, onOpen }: ChangesProps) {
  const { document, set } = edited;
  const changes = listRows(document['changes']);
  const put = (next: readonly JsonObject[], position: number | null) => {
    set({ ...document, changes: next });
    onOpen(position);
  };
  const add = may('data') && (
    <Button onClick={() => put([...changes, { session: 'closed' }], changes.length)}>
      <Icon name="plus" /> Add a change
    </Button>
  );
  return (
    <Section title="Changes" aside={countValues(changes.length, 'change')}>
      {changes.length === 0 ? (
        <p class="quiet">No change is recorded: only the rules of the exchange apply.</p>
      ) : (
        <table class="closure-changes" aria-label="recorded changes">
          <thead>
            <tr>
              {['Date', 'Session', 'Hours', 'Reason', 'Change'].map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {changes.map((change, position) => (
              <Change
                key={position}
                edited={edited}
                change={change}
                at={position}
                isOpen={open === position}
                onOpen={() => onOpen(open === position ? null : position)}
                onChange={(next) =>
                  put(
                    changes.map((findingPath, i) => (i === position ? removeHours(next) : findingPath)),
                    position,
                  )
                }
                onRemove={() => put(changes.toSpliced(position, 1), null)}
              />
            ))}
          </tbody>
        </table>
      )}
      {add && <div>{add}</div>}
    </Section>
  );
}

/** Removes the hours of a day on which the exchange is closed. */
function removeHours(change: JsonObject): JsonObject {
  if (change['session'] !== 'closed') return change;
  const { opens: _, closes: __, ...kept } = change;
  return kept;
}

const SESSIONS: Readonly<Record<string, string>> = { closed: 'Closed all day', open: 'Open, with other hours' };

const FIELDS = {
  date: { help: null },
  session: { help: null, words: SESSIONS },
  opens: { help: 'Local time, HH:MM. Default: the usual one.' },
  closes: { help: 'Local time, HH:MM. Default: the usual one.' },
  reason: { label: 'Reason', help: 'With its source, such as a notice of the exchange.', isWide: true },
} as const;

const listNames = ({ session }: JsonObject): readonly string[] =>
  session === 'closed' ? ['date', 'session', 'reason'] : ['date', 'session', 'opens', 'closes', 'reason'];

interface ChangeProps {
  readonly edited: EditedDocument;
  readonly change: JsonObject;
  readonly at: number;
  readonly isOpen: boolean;
  onOpen(): void;
  onChange(change: JsonObject): void;
  onRemove(): void;
}

function Change({ edited, change, at, isOpen, onOpen, onChange, onRemove }: ChangeProps) {
  const { date, session, reason } = change;
  const day = String(date ?? '');
  const path = formatPath(['changes', at]);
  const isWrong = edited.findings.some(
    ({ path: findingPath, severity }) => severity === 'error' && findingPath.startsWith(path),
  );
  return (
    <>
      <tr>
        <td class="date">
          {day === '' ? MISSING_TEXT : day} {isDate(day) && <span class="quiet">{formatWeekday(day)}</span>}
        </td>
        <td>
          <Badge kind={session === 'closed' ? 'bad' : 'warning'}>{session === 'closed' ? 'closed' : 'open'}</Badge>
          {isWrong && !isOpen && <Badge kind="bad">error</Badge>}
        </td>
        <td class="number">{formatHours(change)}</td>
        <td>{String(reason ?? '') || MISSING_TEXT}</td>
        <td class="row-acts">
          {may('data') && (
            <>
              <Button
                kind="bare"
                aria-label={`${isOpen ? 'Fold' : 'Edit'} change ${at + 1}`}
                aria-expanded={isOpen}
                onClick={onOpen}
              >
                <Icon name="edit" />
              </Button>
              <Button kind="bare" aria-label={`Remove change ${at + 1}`} onClick={onRemove}>
                <Icon name="close" />
              </Button>
            </>
          )}
        </td>
      </tr>
      {isOpen && (
        <tr class="closure-form">
          <td colSpan={5}>
            <div role="group" aria-label={`Change ${at + 1}`}>
              <SchemaForm
                schema="SessionChange"
                names={listNames(change)}
                changes={FIELDS}
                value={change}
                findings={edited.findings}
                path={['changes', at]}
                onChange={onChange}
              />
            </div>
          </td>
        </tr>
      )}
    </>
  );
}

/** Formats the local trading hours, for example `opens 10:30, closes 13:00`. */
function formatHours({ session, opens, closes }: JsonObject): string {
  const hoursText = [opens && `opens ${String(opens)}`, closes && `closes ${String(closes)}`]
    .filter(Boolean)
    .join(', ');
  return hoursText === '' || session === 'closed' ? MISSING_TEXT : hoursText;
}
