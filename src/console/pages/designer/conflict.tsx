import { Banner } from '../../components/banner.js';
import { Button } from '../../components/button.js';
import { differences, pathText, type Json, type JsonObject } from '../../words/paths.js';

/** Somebody saved another version since this one was opened. */
export interface Clash {
  /** What this draft began with. */
  readonly base: JsonObject;
  readonly theirs: JsonObject;
  readonly etag: string | null;
}

interface ConflictProps {
  readonly clash: Clash;
  readonly mine: JsonObject;
  onTakeTheirs(): void;
  onKeepMine(): void;
}

/** What they changed, what stands in the draft, and two ways on. */
export function Conflict({ clash: { base, theirs }, mine, onTakeTheirs, onKeepMine }: ConflictProps) {
  const byThem = new Set(differences(base, theirs).map(({ path }) => pathText(path)));
  const rows = differences(theirs, mine);
  return (
    <Banner
      kind="warning"
      title="Another version was saved since you opened this one. Nothing of yours is lost, and nothing is saved yet."
      action={
        <>
          <Button onClick={onTakeTheirs}>Take theirs</Button>
          <Button kind="main" onClick={onKeepMine}>
            Save mine over it
          </Button>
        </>
      }
    >
      <table class="moves">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Theirs</th>
            <th scope="col">Yours</th>
            <th scope="col">Changed by</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ path, before, after }) => (
            <tr key={pathText(path)}>
              <th scope="row">
                <code>{pathText(path)}</code>
              </th>
              <td>{shown(before)}</td>
              <td>{shown(after)}</td>
              <td>{byThem.has(pathText(path)) ? 'them' : 'you'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Banner>
  );
}

const LONGEST = 80;

function shown(value: Json | undefined): string {
  const text = value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
}
