import { useState } from 'preact/hooks';
import { addNote, listNotes, removeNote } from '../../state/notes.js';
import { isDate } from '../../words/dates.js';
import { Button } from '../button.js';
import { Icon } from '../icon.js';
import { Popover } from '../popover.js';
import type { Range } from './series.js';

interface NoteMenuProps {
  readonly subject: string;
  /** Day of the cursor, or the selected range. */
  readonly range: Range;
}

/** Renders a menu of the user's notes on days and periods. The notes are stored in this browser. */
export function NoteMenu({ subject, range }: NoteMenuProps) {
  const notes = listNotes(subject);
  return (
    <Popover label={`Notes on ${subject}`} title={<Icon name="edit" />} kind="bare">
      {() => (
        <>
          {notes.length > 0 && (
            <ul class="note-list">
              {notes.map(({ id, from, to, text }) => (
                <li key={id}>
                  <span>
                    <span class="quiet number">{to === null ? from : `${from} to ${to}`}</span> {text}
                  </span>
                  <Button kind="bare" aria-label={`Delete the note ${text}`} onClick={() => removeNote(id)}>
                    <Icon name="close" />
                  </Button>
                </li>
              ))}
            </ul>
          )}
          <NoteForm subject={subject} range={range} />
        </>
      )}
    </Popover>
  );
}

const TEXT_MAX = 200;

function NoteForm({ subject, range }: NoteMenuProps) {
  const [text, setText] = useState('');
  const [from, setFrom] = useState(range.from);
  const [to, setTo] = useState(range.to === range.from ? '' : range.to);
  const problem = findPeriodProblem(from, to);
  const isRight = text.trim() !== '' && problem === null;
  return (
    <form
      class="note-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isRight) return;
        addNote({ subject, from, to: to === '' || to === from ? null : to, text: text.trim() });
        setText('');
      }}
    >
      <input
        class="control"
        aria-label="Note"
        placeholder="Note"
        maxLength={TEXT_MAX}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <span class="range-dates">
        <input
          class="control date-input"
          aria-label="First day of the note"
          aria-invalid={!isDate(from)}
          value={from}
          onInput={(event) => setFrom(event.currentTarget.value)}
        />
        <span class="quiet">–</span>
        <input
          class="control date-input"
          aria-label="Last day of the note"
          aria-invalid={isDate(from) && problem !== null}
          placeholder="one day"
          value={to}
          onInput={(event) => setTo(event.currentTarget.value)}
        />
      </span>
      {problem !== null && (
        <p class="down" role="alert">
          {problem}
        </p>
      )}
      <Button type="submit" disabled={!isRight}>
        Add the note
      </Button>
      <p class="quiet">A period is shaded. Notes are kept in this browser.</p>
    </form>
  );
}

/** Returns why a note cannot have these days; null if it can. The last day is empty for a note on one day. */
function findPeriodProblem(from: string, to: string): string | null {
  const wrong = [from, to].find((date) => date !== '' && !isDate(date));
  if (wrong !== undefined) return `“${wrong}” is not a date such as 2024-03-15.`;
  if (from === '') return 'The note has no first day.';
  return to !== '' && to < from ? `The last day ${to} is before the first day ${from}.` : null;
}
