import type { TemplateCollection, TemplateDetail } from '#contract/indices/templates.js';
import { once } from '#base/once.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { marketFindings } from '#domain/checks/index-on-market.js';
import { needsMissing, needsOfDocuments, type DataNeed } from '#domain/checks/template-needs.js';
import { validateIndex } from '#domain/checks/validate-index.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { documentsOfTemplate, type MethodologyTemplate } from '#domain/documents/methodology-template.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Finding } from '#domain/refusals/findings.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { formatDay } from '#domain/time/days.js';
import type { Markets } from '#market/serving/markets.js';

/** Answers which published methodologies ship with the service, and whether the served store can run them. */
export interface MethodologyTemplates {
  list(): TemplateCollection;
  /** @throws Refusal TEMPLATE_NOT_FOUND */
  get(id: string, terms: { readonly index_id?: string | undefined; readonly base_date?: string | undefined }): TemplateDetail;
}

interface Dependencies {
  /** The files that ship with the service, checked. */
  readonly read: () => readonly MethodologyTemplate[];
  readonly calendars: Calendars;
  readonly markets: Markets;
}

/** A template with its documents as they are computed, and all that they read. */
interface Known {
  readonly template: MethodologyTemplate;
  readonly documents: readonly IndexDocument[];
  readonly needs: readonly DataNeed[];
}

/** Meanings of columns that any store may have. */
const USUAL: Readonly<Record<string, string>> = {
  SHARES_OUTSTANDING: 'Shares outstanding.',
  FREE_FLOAT: 'Share of the shares outstanding that is in free float, as a fraction.',
  VOLUME: 'Shares traded on the session.',
  SECTOR: 'Sector of the company.',
  INDUSTRY: 'Industry of the company.',
  COUNTRY: 'Country of the company.',
  ISSUER: 'Company that issued the security.',
};

/** Days from the beginning of a store to a base date: rules then find the history of a year. */
const HISTORY_DAYS = 366;

export function createMethodologyTemplates({ read, calendars, markets }: Dependencies): MethodologyTemplates {
  const templates = once(() => new Map(read().map((template) => [template.id, knownOf(template, calendars)])));

  function summaryOf({ template, documents, needs }: Known) {
    const market = markets.current()?.market;
    const missing = market === undefined ? [] : needsMissing(documents, market);
    const isMissing = (need: DataNeed) => missing.some(({ kind, name }) => kind === need.kind && name === need.name);
    const findings = market === undefined || missing.length > 0 ? [] : lacking(documents, market);
    const { id, title, style, source, meanings } = template;
    const summary = {
      id,
      title,
      style,
      source,
      needs: needs.map((need) => ({
        ...need,
        meaning: meanings[need.name] ?? USUAL[need.name] ?? need.name,
        missing: isMissing(need),
      })),
      can_run: market === undefined ? null : missing.length === 0 && findings.length === 0,
      index_ids: documents.map((document) => document.id),
    };
    return { summary, findings };
  }

  return {
    list: () => ({ templates: [...templates().values()].map((known) => summaryOf(known).summary) }),
    get(id, { index_id: indexId, base_date: asked }) {
      const known = templates().get(id);
      if (known === undefined)
        throw new Refusal('TEMPLATE_NOT_FOUND', `No published methodology has the id ${id}.`, {
          accepted: [...templates().keys()],
        });
      const first = markets.current()?.market.dates[0];
      const baseDate = asked ?? (first === undefined ? undefined : formatDay(first + HISTORY_DAYS));
      const documents = documentsOfTemplate(known.template, { indexId, baseDate });
      const { summary, findings } = summaryOf(known);
      return {
        ...summary,
        index_ids: documents.map((document) => String(document['id'])),
        choices: known.template.choices,
        documents,
        findings: findings as TemplateDetail['findings'], // Read-only lists here.
      };
    },
  };
}

/** @throws Error for a file whose documents are not valid, or that does not say what a column holds */
function knownOf(template: MethodologyTemplate, calendars: Calendars): Known {
  const byId = new Map<string, IndexDocument>();
  for (const body of documentsOfTemplate(template, {})) {
    const { document, findings } = validateIndex(body, { calendars: calendars.list(), indexOf: (id) => byId.get(id) });
    if (document === undefined)
      throw new Error(`data/methodologies/${template.id}.json: ${String(body['id'])}: ${JSON.stringify(findings)}`);
    byId.set(document.id, document);
  }
  const documents = [...byId.values()];
  const needs = needsOfDocuments(documents);
  const unexplained = needs.filter(({ name }) => !(name in template.meanings) && !(name in USUAL));
  if (unexplained.length > 0)
    throw new Error(
      `data/methodologies/${template.id}.json says in meanings nothing of ${unexplained.map(({ name }) => name).join(', ')}`,
    );
  return { template, documents, needs };
}

/** Errors that running the documents on a market would give. */
function lacking(documents: readonly IndexDocument[], market: MarketData): Finding[] {
  const byId = new Map(documents.map((document) => [document.id, document]));
  return documents
    .flatMap((document) => marketFindings(document, market, { severity: 'error', indexOf: (id) => byId.get(id) }))
    .filter(({ severity }) => severity === 'error');
}
