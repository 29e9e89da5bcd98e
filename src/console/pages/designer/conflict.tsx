import { Banner } from '../../components/banner.js';
import { Button } from '../../components/button.js';
import { labelOf } from '../../components/form/schema-fields.js';
import {
  differences,
  isObject,
  merged,
  pathText,
  valueAt,
  type Json,
  type JsonObject,
  type Path,
} from '../../words/paths.js';

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
  onKeepBoth(document: JsonObject): void;
}

/** What they changed, what stands in the draft, and the ways on. */
export function Conflict({ clash: { base, theirs }, mine, onTakeTheirs, onKeepMine, onKeepBoth }: ConflictProps) {
  const both = merged(base, mine, theirs);
  const byThem = new Set(differences(base, theirs).map(({ path }) => pathText(path)));
  const rows = differences(theirs, mine);
  return (
    <Banner
      kind="warning"
      title="Another version was saved since you opened this one. Nothing of yours is lost, and nothing is saved yet."
      action={
        <>
          <Button onClick={onTakeTheirs}>Take theirs</Button>
          <Button kind={both === null ? 'main' : 'plain'} onClick={onKeepMine}>
            Save mine over it
          </Button>
          {both !== null && (
            <Button kind="main" onClick={() => onKeepBoth(both)}>
              Keep both
            </Button>
          )}
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
              <th scope="row" title={pathText(path)}>
                {pathWords(path, mine)}
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

/** `Selection, top-n, Count` for `pipeline.selection[1].params.count`. */
function pathWords(path: Path, document: JsonObject): string {
  const steps = path.flatMap((step, at) => {
    if (step === 'pipeline' || step === 'params') return [];
    if (typeof step === 'string') return [labelOf(step)];
    const item = valueAt(document, path.slice(0, at + 1));
    return [isObject(item) ? String(item['id'] ?? item['type'] ?? step + 1) : String(step + 1)];
  });
  return steps.join(', ');
}

const LONGEST = 80;

function shown(value: Json | undefined): string {
  const text = value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
}
