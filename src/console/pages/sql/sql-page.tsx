import type { SqlResult } from '#clients/typescript/divisor.js';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { AddSelect } from '../../components/add-select.js';
import { Button } from '../../components/button.js';
import type { SqlTables } from '../../components/code/sql-editor.js';
import { createLazyComponent } from '../../components/lazy.js';
import { GuideLink } from '../../components/guide-link.js';
import { Page, Section } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { StoreSelect } from '../../components/store-select.js';
import { Wait } from '../../components/wait.js';
import { getParameter, setParameters } from '../../state/location.js';
import { useResource, type Resource } from '../../state/resource.js';
import { service, createTrouble, type Trouble } from '../../state/service.js';
import { getChosenStore } from '../../state/stores.js';
import { Answer } from './answer.js';
import { EXAMPLES } from './examples.js';
import { addQuery } from './history.js';
import { PastQueries } from './past-queries.js';
import { readTables, Views } from './views.js';
import './sql.css';

const SqlEditor = createLazyComponent(
  'the editor',
  async () => (await import('../../components/code/sql-editor.js')).SqlEditor,
);

/** Tables for completion before the views are loaded. */
const NO_TABLES = {};

/** Page for SQL queries over runs, prices and reference data, with a list of the views. */
export function SqlPage() {
  const requestedQuery = getParameter('q');
  const [query, setQuery] = useState(requestedQuery ?? EXAMPLES[0]!.query); // there is at least one example
  const store = getChosenStore();
  const views = useResource(`sql views ${store}`, (signal) => readTables(signal, store));
  const { result, trouble, isRunning, run, stop } = useQuery();
  const [isSent, setSent] = useState(requestedQuery !== null);
  useFirstRun(() => run(query, { isNoted: requestedQuery !== null }), store);
  const send = (text = query) => {
    if (text.trim() === '') return;
    setSent(true);
    setParameters({ q: text });
    void run(text);
  };
  const choose = (text: string) => {
    setQuery(text);
    send(text);
  };
  useRequestedQuery(requestedQuery, query, choose);
  const marks = useMemo(() => (trouble === null ? [] : createMarks(trouble)), [trouble]);
  return (
    <Page
      title="SQL"
      above={[{ address: '/console/data', text: 'Data' }]}
      subtitle={<GuideLink page="sql">Views, formats and limits</GuideLink>}
    >
      <div class="sql">
        <div class="sql-editor" role="group" aria-label="Query">
          <SqlEditor
            label="Query"
            value={query}
            lines={7}
            tables={views.data ?? NO_TABLES}
            marks={marks}
            onChange={setQuery}
            onRun={send}
          />
          <QueryActions {...{ query, isRunning, isSent }} onStop={stop} onSend={send} onChoose={choose} />
        </div>
        <div class="sql-answer">
          {trouble !== null && isSent && <Problem trouble={addSentence(trouble)} />}
          {isRunning && <Wait what="the result" />}
          {result !== null && <Answer {...result} />}
          {!isSent && <Beginnings onChoose={choose} />}
        </div>
        <ViewsSection views={views} onChoose={choose} />
      </div>
    </Page>
  );
}

interface QueryActionsProps {
  readonly query: string;
  readonly isRunning: boolean;
  /** True if the user has sent a query. Until then, the examples are shown below the result. */
  readonly isSent: boolean;
  onStop(): void;
  onSend(): void;
  onChoose(query: string): void;
}

/** Renders the buttons below the editor: run or stop, examples, earlier queries and the data store. */
const QueryActions = ({ query, isRunning, isSent, onStop, onSend, onChoose }: QueryActionsProps) => (
  <div class="sql-acts">
    {isRunning ? (
      <Button kind="main" onClick={onStop}>
        Stop
      </Button>
    ) : (
      <Button kind="main" disabled={query.trim() === ''} title="Ctrl Enter" onClick={() => onSend()}>
        Run
      </Button>
    )}
    {isSent && (
      <AddSelect
        label="Examples"
        prompt="Examples"
        options={EXAMPLES.map(({ title }) => ({ value: title, text: title }))}
        onAdd={(title) => onChoose(EXAMPLES.find((example) => example.title === title)?.query ?? query)}
      />
    )}
    <PastQueries onChoose={onChoose} />
    <StoreSelect />
    <span class="quiet sql-keys">Ctrl Enter runs the query; Ctrl Space completes names.</span>
  </div>
);

/**
 * Runs the query of the address when the page opens and when another data store is chosen. Without a query in the address,
 * this is the first example, which is not added to the history.
 */
function useFirstRun(run: () => Promise<void>, store: string | undefined): void {
  useEffect(() => {
    void run();
  }, [store]);
}

/** Runs the query of the address if it changes while the page is open, for example by the Back button. */
function useRequestedQuery(requested: string | null, query: string, choose: (query: string) => void): void {
  const latest = useRef(requested);
  useEffect(() => {
    if (requested === latest.current) return;
    latest.current = requested;
    if (requested !== null && requested !== query) choose(requested);
  }, [requested]);
}

interface ViewsSectionProps {
  readonly views: Resource<SqlTables>;
  readonly onChoose: (query: string) => void;
}

/** Renders the views. A click on a view queries it. */
const ViewsSection = ({ views, onChoose }: ViewsSectionProps) => (
  <Section title="Views">
    <Views views={views} onChoose={(view) => onChoose(`SELECT *\nFROM ${view}\nLIMIT 100`)} />
  </Section>
);

/** Renders the examples except the first, whose result is shown before the user sends a query. */
const Beginnings = ({ onChoose }: { readonly onChoose: (query: string) => void }) => (
  <Section title="Other examples" aside="or a view: it opens to its columns">
    <ul class="sql-examples">
      {EXAMPLES.slice(1).map(({ title, help, query }) => (
        <li key={title}>
          <button type="button" title={query} onClick={() => onChoose(query)}>
            <span class="unseen">Run: </span>
            <strong>{title}</strong>
            <span class="quiet">{help}</span>
          </button>
        </li>
      ))}
    </ul>
  </Section>
);

/** If an error has only one finding, returns the error with the message of that finding. */
const addSentence = (trouble: Trouble): Trouble =>
  trouble.findings.length === 1 ? { ...trouble, message: trouble.findings[0]!.message } : trouble;

/** Returns the positions and messages of the errors in the query. */
const createMarks = ({ findings }: Trouble) =>
  findings.flatMap(({ position, message }) => (position ? [{ at: position.start, message }] : []));

/** A result with its query, data store and duration. */
export interface AnsweredQuery {
  readonly query: string;
  /** Data store of the query; undefined for the served store. */
  readonly store: string | undefined;
  readonly result: SqlResult;
  readonly seconds: number;
}

function useQuery() {
  const [result, setResult] = useState<AnsweredQuery | null>(null);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const running = useRef<AbortController | null>(null);
  const [isRunning, setRunning] = useState(false);
  const run = async (query: string, { isNoted = true } = {}) => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    setRunning(true);
    setTrouble(null);
    const start = performance.now();
    const store = getChosenStore();
    try {
      const answer = await service.value.call('runSql', {
        query: { store_id: store },
        body: { query },
        signal: controller.signal,
      });
      const seconds = (performance.now() - start) / 1000;
      if (isNoted) addQuery({ query, at: new Date().toISOString(), rows: answer.rows, seconds });
      if (running.current === controller) setResult({ query, store, result: answer, seconds });
    } catch (thrown) {
      if (controller.signal.aborted) return;
      setTrouble(createTrouble(thrown));
      setResult(null);
    } finally {
      if (running.current === controller) setRunning(false);
    }
  };
  const stop = () => {
    running.current?.abort();
    setRunning(false);
  };
  return { result, trouble, isRunning, run, stop };
}
