import type { IndexDocument, Methodology as View, StoredStrategy } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Button } from '../../components/controls/button.js';
import { JsonDocument } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { listVersions } from '../../components/versions/history.js';
import { Answered } from '../../components/feedback.js';
import { useExchanges, useFields, useIndexStore } from '../../state/market.js';
import { getParameter } from '../../state/location.js';
import { service, useResource } from '../../state/service.js';
import { formatGovernanceAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { createPlainSentence, SECTION_TITLES } from '../../words/methodology.js';
import { readNewestRun } from './run-settings.js';

/** Renders the definition as sentences with a table of contents, and as stored JSON. */
export function Methodology({ index }: { readonly index: IndexDocument }) {
  const { id } = index;
  const store = useIndexStore(index) ?? null;
  const words = useResource(`methodology ${id}`, (signal) =>
    service.value.call('getMethodology', { params: { index_id: id }, signal }),
  );
  return (
    <div class="stack gap-4 index-part">
      {getParameter('run_id') !== null && <p class="quiet">The current definition, independent of the selected run.</p>}
      <DefinitionVersion id={id} />
      <Answered resource={words} what="the methodology">
        {({ sentences }) => <Text sentences={sentences} store={store} />}
      </Answered>
      <details class="stack raised gap-3 designer-part">
        <summary>
          <h2>Definition as JSON</h2>
        </summary>
        <JsonDocument label="Definition as JSON" value={index} />
      </details>
    </div>
  );
}

/** Renders the version of the definition, and that of the latest run if it differs. */
function DefinitionVersion({ id }: { readonly id: string }) {
  const versions = useResource(`versions index ${id}`, (signal) => listVersions({ kind: 'index', id }, signal));
  const run = useResource(`newest run ${id}`, (signal) => readNewestRun(id, signal));
  const newest = versions.data?.versions[0];
  const used = run.data?.index_version ?? null;
  return (
    <div class="flow gap-3 methodology-version">
      <p>
        {newest !== undefined && (
          <>
            <strong>Version {newest.version}</strong>{' '}
            <span class="quiet">
              saved {formatMoment(newest.at)}
              {run.data === null && ', not run yet'}
              {used !== null && used !== newest.version && `, not run yet; the latest run uses version ${used}`}
            </span>
          </>
        )}
      </p>
      <a href={formatGovernanceAddress('statements', id)}>Benchmark statement</a>
      <Button onClick={() => print()}>Print</Button>
    </div>
  );
}

type Sentences = View['sentences'];
type SectionName = keyof typeof SECTION_TITLES;

interface TextProps {
  readonly sentences: Sentences;
  readonly store: string | null;
}

function Text({ sentences, store }: TextProps) {
  // In a narrow window, the contents are above the text and would fill the screen. They are folded.
  const [isOpen] = useState(() => matchMedia('(width >= 900px)').matches);
  const usedSections = (Object.keys(SECTION_TITLES) as SectionName[]).filter((name) =>
    sentences.some(({ section }) => section === name),
  );
  return (
    <div class="pile gap-5 methodology-page">
      <nav class="pile gap-3 methodology-contents" aria-label="Contents">
        <details open={isOpen}>
          <summary>Contents</summary>
          <ol>
            {usedSections.map((name) => (
              <li key={name}>
                <Button kind="bare" onClick={() => showSection(name)}>
                  {SECTION_TITLES[name]}
                </Button>
              </li>
            ))}
          </ol>
        </details>
      </nav>
      <div>
        {usedSections.map((name) => (
          <Part key={name} name={name} sentences={sentences.filter(({ section }) => section === name)} store={store} />
        ))}
      </div>
    </div>
  );
}

/** Scrolls to a section and focuses its heading. */
function showSection(name: SectionName): void {
  const heading = document.getElementById(`methodology-${name}`);
  heading?.scrollIntoView({ block: 'start' });
  heading?.focus({ preventScroll: true });
}

interface PartProps {
  readonly name: SectionName;
  readonly sentences: Sentences;
  readonly store: string | null;
}

function Part({ name, sentences, store }: PartProps) {
  const exchanges = useExchanges();
  const fieldList = useFields(store).data;
  const fields = new Set(fieldList?.fields.map((field) => field.name));
  return (
    <section class="methodology-part">
      <h2 id={`methodology-${name}`} tabIndex={-1}>
        {SECTION_TITLES[name]}
      </h2>
      <ol class="pile gap-2 methodology" start={sentences[0]?.number}>
        {sentences.map(({ number, text }) => {
          const { parts, rule } = createPlainSentence(text, fields, exchanges);
          return (
            <li key={number} value={number} title={rule === null ? undefined : `Rule ${rule}`}>
              {parts.map(({ text: partText, code }, k) =>
                code === undefined ? (
                  partText
                ) : (
                  <span key={k} title={code}>
                    {partText}
                  </span>
                ),
              )}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

/** Renders the stored terms of a strategy. */
export function Terms({ strategy }: { readonly strategy: StoredStrategy['strategy'] }) {
  return (
    <div class="stack gap-4 index-part">
      <Section title="Definition">
        <JsonDocument label="Definition as JSON" value={strategy} />
      </Section>
    </div>
  );
}
