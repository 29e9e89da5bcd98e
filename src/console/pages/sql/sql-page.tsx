import type { SqlResult } from '#clients/typescript/divisor.js';
import { useEffect, useRef, useState } from 'preact/hooks';
import { AddSelect } from '../../components/add-select.js';
import { Button } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { GuideLink } from '../../components/guide-link.js';
import { Page, Section } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { Wait } from '../../components/wait.js';
import { attempt } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { parameter, setParameters } from '../../state/place.js';
import { service, type Trouble } from '../../state/service.js';
import { Answer } from './answer.js';
import { EXAMPLES } from './examples.js';
import { Views } from './views.js';
import '../../components/control.css';
import './sql.css';

/** A query over runs, prices and reference data, with its views and its result. */
export function SqlPage() {
  const asked = parameter('q');
  const [query, setQuery] = useState(asked ?? EXAMPLES[0]!.query); // There are examples.
  const { result, trouble, isRunning, run } = useQuery();
  const editor = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (asked !== null) void run(asked);
  }, []);
  useEffect(() => {
    const place = trouble?.findings[0]?.position;
    if (place !== undefined && place !== null) editor.current?.setSelectionRange(place.start, place.end);
  }, [trouble]);
  const send = () => {
    setParameters({ q: query });
    void run(query);
  };
  return (
    <Page
      title="SQL"
      above={[{ address: '/console/data', text: 'Data' }]}
      subtitle={<GuideLink page="sql">Views, formats and limits</GuideLink>}
    >
      <div class="sql">
        <form
          class="sql-editor"
          aria-label="Query"
          onSubmit={(event) => {
            event.preventDefault();
            send();
          }}
        >
          <textarea
            ref={editor}
            class="control"
            aria-label="Query"
            spellcheck={false}
            rows={12}
            value={query}
            onInput={(event) => setQuery(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send();
            }}
          />
          <div class="sql-acts">
            <Button kind="main" type="submit" disabled={isRunning || query.trim() === ''} title="Ctrl Enter">
              Run
            </Button>
            <Save query={query} />
            <AddSelect
              label="Examples"
              prompt="Examples"
              options={EXAMPLES.map(({ title }) => ({ value: title, text: title }))}
              onAdd={(title) => setQuery(EXAMPLES.find((example) => example.title === title)?.query ?? query)}
            />
            <span class="quiet">One SELECT statement; Ctrl Enter runs it.</span>
          </div>
        </form>
        <Section title="Views">
          <Views onChoose={(view) => setQuery(`SELECT *\nFROM ${view}\nLIMIT 100`)} />
        </Section>
      </div>
      {trouble !== null && <Problem trouble={trouble} />}
      {isRunning && <Wait what="the result" />}
      {result !== null && <Answer result={result} />}
      {result === null && trouble === null && !isRunning && (
        <EmptyState title="No result yet">
          Runs, prices and reference data answer in a separate process that changes nothing. Conditions on index_id
          select the runs that are read.
        </EmptyState>
      )}
    </Page>
  );
}

function useQuery() {
  const [result, setResult] = useState<SqlResult | null>(null);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [isRunning, setRunning] = useState(false);
  const run = async (query: string) => {
    setRunning(true);
    setTrouble(null);
    const answer = await attempt(() => service.value.call('runSql', { body: { query } }), setTrouble);
    setResult(answer ?? null);
    setRunning(false);
  };
  return { result, trouble, isRunning, run };
}

/** Formats of the whole result as a file. */
const FILES = [
  { name: 'CSV', ending: 'csv', media: 'text/csv' },
  { name: 'Parquet', ending: 'parquet', media: 'application/vnd.apache.parquet' },
] as const;

function Save({ query }: { readonly query: string }) {
  return (
    <>
      {FILES.map(({ name, ending, media }) => (
        <Button
          key={ending}
          onClick={() =>
            void attempt(async () =>
              saveFile(`result.${ending}`, await service.value.download('runSql', media, { body: { query } })),
            )
          }
        >
          {name}
        </Button>
      ))}
    </>
  );
}
