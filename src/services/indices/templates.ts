import { callOnce } from '#base/once.js';
import type { TemplateCollection, TemplateDetail, TemplateLevel } from '#contract/indices/definitions.js';
import type { Finding } from '#domain/base/findings.js';
import { assertNoErrors, type ErrorCode, ERRORS, Refusal } from '#domain/base/refusals.js';
import { addMonths, formatDay, parseValidDay } from '#domain/base/time.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import {
  checkOnMarket,
  type DataNeed,
  listDataNeeds,
  listMissingNeeds,
  validateIndex,
} from '#domain/definition/index-validation.js';
import {
  createTemplateDocuments,
  type MethodologyTemplate,
  type TemplateTerms,
} from '#domain/definition/methodology-templates.js';
import { findFirstBaseDate, findIndexDefaults, findMissingRates } from '#domain/definition/required-rates.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Markets } from '#market/serve/served-markets.js';
import type { Context } from '../shared/context.js';
import { SKETCH_DAYS, SKETCH_POINTS } from './questions.js';

/** Template with its documents in the form that is computed, and the data that they read. */
interface PreparedTemplate {
  readonly template: MethodologyTemplate;
  readonly documents: readonly IndexDocument[];
  readonly needs: readonly DataNeed[];
}

/** Template on a market, with the data that it needs and the market does not have. */
interface FittedTemplate {
  /** Currency and calendar of the market, if they replace those of the template. */
  readonly replacements: Replacements;
  readonly needs: readonly DataNeed[];
  readonly findings: readonly Finding[];
}

type Replacements = Pick<TemplateTerms, 'currency' | 'calendar'>;

interface Trial {
  /** First base date of those tried on which every document has a composition, otherwise the first one tried. */
  readonly baseDate: string;
  /** Reason why no base date has a composition; null if one has. */
  readonly problem: Finding | null;
}

/** Market with the handle by which computations read it. */
type ServedMarket = Pick<ReturnType<Markets['require']>, 'handle' | 'market'>;

interface TemplateResults {
  readonly fits: Map<string, FittedTemplate>;
  readonly levels: Map<string, TemplateLevel>;
  readonly trials: Map<string, Promise<Trial>>;
}

/** Meanings of columns that any store may have. */
const STANDARD_COLUMNS: Readonly<Record<string, string>> = {
  SHARES_OUTSTANDING: 'Shares outstanding.',
  FREE_FLOAT: 'Share of the shares outstanding that is in free float, as a fraction.',
  VOLUME: 'Shares traded on the session.',
  SECTOR: 'Sector of the company.',
  INDUSTRY: 'Industry of the company.',
  COUNTRY: 'Country of the company.',
  ISSUER: 'Company that issued the security.',
};

/**
 * Error codes of a template that does not fit a store: its rules select no securities, or its constraints cannot be
 * satisfied.
 */
const UNSUITABLE_CODES: ReadonlySet<ErrorCode> = new Set(['EMPTY_INDEX', 'INFEASIBLE']);

/**
 * Published methodologies that are part of the service. Each lists the data that the served store lacks for it.
 * @param read returns the template files of the service; files are checked when they are read
 */
export function createMethodologyTemplates(
  { calendars, markets, jobs }: Context,
  read: () => readonly MethodologyTemplate[],
) {
  const getTemplates = callOnce(
    () => new Map(read().map((template) => [template.id, callOnce(() => prepareTemplate(template, calendars))])),
  );

  const answers = new WeakMap<MarketData, TemplateResults>();
  function getResultsOn(market: MarketData): TemplateResults {
    const cachedResults = answers.get(market) ?? { fits: new Map(), levels: new Map(), trials: new Map() };
    answers.set(market, cachedResults);
    return cachedResults;
  }

  function fitToMarket(preparedTemplate: PreparedTemplate, market: MarketData): FittedTemplate {
    const { template } = preparedTemplate;
    const { fits } = getResultsOn(market);
    const cachedFit = fits.get(template.id);
    if (cachedFit !== undefined) return cachedFit;
    const replacements = findReplacements(preparedTemplate, market, calendars);
    const documents =
      replacements.currency === undefined
        ? preparedTemplate.documents
        : parseDocuments(template, calendars, replacements);
    const fit = {
      replacements,
      needs: listMissingNeeds(documents, market),
      findings: listMissing(documents, market),
    };
    fits.set(template.id, fit);
    return fit;
  }

  /** Returns the reason why documents have no composition on their base date; null if all have one. */
  async function findProblem(
    { handle, market }: ServedMarket,
    documents: readonly IndexDocument[],
  ): Promise<Finding | null> {
    const byId = Object.fromEntries(documents.map((document) => [document.id, document]));
    const until = formatDay(Math.min(parseValidDay(documents[0]!.base_date) + TRIAL_DAYS, market.dates.at(-1)!)); // a template has documents
    try {
      for (const { id } of documents) {
        const question = { market: handle, documents: byId, indexId: id, points: 1, until };
        await jobs.query('sketch-level', question, new AbortController().signal);
      }
      return null;
    } catch (failure) {
      if (!(failure instanceof Refusal) || ERRORS[failure.code].status !== 422) throw failure;
      return { severity: 'error', code: 'NO_WEIGHT_DATA', path: 'base_date', message: failure.message };
    }
  }

  /**
   * Searches for the first base date on which a template has compositions. Each is tried by a run of a few sessions. Data
   * that begins later also lasts to the end of a market, so a template that fails on the first and on the last date is
   * not tried on the dates between them.
   */
  async function searchBaseDate(preparedTemplate: PreparedTemplate, served: ServedMarket): Promise<Trial> {
    const { template } = preparedTemplate;
    const { replacements } = fitToMarket(preparedTemplate, served.market);
    const findProblemOn = (baseDate: string): Promise<Finding | null> =>
      findProblem(served, parseDocuments(template, calendars, { baseDate, ...replacements }));
    const [firstDate, ...laterDates] = listBaseDates(served.market);
    const firstProblem = await findProblemOn(firstDate!); // a market has at least one base date
    if (firstProblem === null) return { baseDate: firstDate!, problem: null };
    const lastDate = laterDates.pop();
    if (lastDate === undefined || (await findProblemOn(lastDate)) !== null)
      return { baseDate: firstDate!, problem: firstProblem };
    for (const baseDate of laterDates) if ((await findProblemOn(baseDate)) === null) return { baseDate, problem: null };
    return { baseDate: lastDate, problem: null };
  }

  /**
   * Returns the base date of a template on the served market; undefined without a market, and if the market lacks data
   * that the template reads. A market is searched once. The search is independent of the request that starts it.
   */
  async function findTrial(preparedTemplate: PreparedTemplate): Promise<Trial | undefined> {
    const served = markets.current();
    if (served === undefined || served.market.dates.length === 0) return undefined;
    const { needs, findings } = fitToMarket(preparedTemplate, served.market);
    if (needs.length > 0 || findings.length > 0) return undefined;
    const { trials } = getResultsOn(served.market);
    const { id } = preparedTemplate.template;
    const trial = trials.get(id) ?? searchBaseDate(preparedTemplate, served);
    trials.set(id, trial);
    try {
      return await trial;
    } catch (failure) {
      trials.delete(id);
      throw failure;
    }
  }

  function requireTemplate(id: string): PreparedTemplate {
    const template = getTemplates().get(id);
    if (template !== undefined) return template();
    throw new Refusal('TEMPLATE_NOT_FOUND', `No published methodology has the id ${id}.`, {
      accepted: [...getTemplates().keys()],
    });
  }

  async function createSketch(
    question: Parameters<typeof jobs.query<'sketch-level'>>[1],
    signal: AbortSignal,
  ): Promise<Omit<TemplateLevel, 'index_id'>> {
    try {
      const { dates, levels: data, constituents } = await jobs.query('sketch-level', question, signal);
      return { level: { index: [...dates], data: [...data], name: question.indexId }, problem: null, constituents };
    } catch (failure) {
      if (!(failure instanceof Refusal) || !UNSUITABLE_CODES.has(failure.code)) throw failure;
      return { level: null, problem: failure.message, constituents: null };
    }
  }

  function createSummary(preparedTemplate: PreparedTemplate, trial: Trial | undefined) {
    const market = markets.current()?.market;
    const fit = market === undefined ? undefined : fitToMarket(preparedTemplate, market);
    const { id, title, kind, style, source, meanings } = preparedTemplate.template;
    return {
      id,
      title,
      kind,
      style,
      source,
      needs: preparedTemplate.needs.map(({ kind, name }) => ({
        kind,
        name,
        meaning: meanings[name] ?? STANDARD_COLUMNS[name] ?? name,
        missing: fit?.needs.some((need) => need.kind === kind && need.name === name) === true,
      })),
      can_run: fit === undefined ? null : trial?.problem === null,
      problem: trial?.problem?.message ?? null,
      missing_rates: listMissingRates(fit?.findings ?? []),
      target_count: findTargetCount(preparedTemplate.documents),
      index_ids: preparedTemplate.documents.map((document) => document.id),
    };
  }

  return {
    async list(): Promise<TemplateCollection> {
      const templates: TemplateCollection['templates'] = [];
      for (const getTemplate of getTemplates().values()) {
        const template = getTemplate();
        templates.push(createSummary(template, await findTrial(template)));
      }
      return { templates };
    },
    /**
     * Returns one check per template. Without these checks, the first request for templates would check all of them at
     * once, which takes 0.1 to 0.2 s. A check throws if its template is invalid.
     */
    listChecks: (): readonly { readonly name: string; run(): void }[] =>
      [...getTemplates()].map(([id, check]) => ({ name: `methodology template ${id}`, run: () => void check() })),
    /** Returns a template with its documents. @throws Refusal TEMPLATE_NOT_FOUND */
    async get(
      id: string,
      {
        index_id: indexId,
        base_date: requestedDate,
      }: { readonly index_id?: string | undefined; readonly base_date?: string | undefined },
    ): Promise<TemplateDetail> {
      const preparedTemplate = requireTemplate(id);
      const { template } = preparedTemplate;
      const trial = await findTrial(preparedTemplate);
      const served = markets.current();
      const fit = served && fitToMarket(preparedTemplate, served.market);
      const baseDate = requestedDate ?? trial?.baseDate ?? (served && findFirstBaseDate(served.market));
      const documents = createTemplateDocuments(template, { indexId, baseDate, ...fit?.replacements });
      const problem =
        served !== undefined && trial?.problem === null && requestedDate !== undefined
          ? await findProblem(served, parseDocuments(template, calendars, { baseDate, ...fit?.replacements }))
          : trial?.problem;
      return {
        ...createSummary(preparedTemplate, trial),
        index_ids: documents.map((document) => String(document['id'])),
        choices: template.choices,
        documents,
        findings: [...(fit?.findings ?? []), ...(problem ? [problem] : [])] as TemplateDetail['findings'], // this type has read-only lists
      };
    },
    /**
     * Computes the level of a template. @throws Refusal TEMPLATE_NOT_FOUND, NO_DATA_SOURCE, OVERLOADED, and the refusals
     * of a run of the documents
     */
    async level(id: string, signal: AbortSignal): Promise<TemplateLevel> {
      const preparedTemplate = requireTemplate(id);
      const { handle, market } = markets.require();
      const { levels } = getResultsOn(market);
      const entry = levels.get(id);
      if (entry !== undefined) return entry;
      const { findings, replacements } = fitToMarket(preparedTemplate, market);
      assertNoErrors('template', findings);
      const latestDate = formatDay((market.dates.at(-1) ?? 0) - SKETCH_DAYS);
      const earliestDate = (await findTrial(preparedTemplate))?.baseDate ?? findFirstBaseDate(market);
      const baseDate = latestDate > earliestDate ? latestDate : earliestDate;
      const documents = Object.fromEntries(
        parseDocuments(preparedTemplate.template, calendars, { baseDate, ...replacements }).map((indexDocument) => [
          indexDocument.id,
          indexDocument,
        ]),
      );
      const indexId = preparedTemplate.documents.at(-1)!.id; // a template has at least one document
      const question = { market: handle, documents, indexId, points: SKETCH_POINTS };
      const answer = { index_id: indexId, ...(await createSketch(question, signal)) };
      levels.set(id, answer);
      return answer;
    },
  };
}

/**
 * Returns the currency and the calendar of a market if it lacks exchange rates into the currency of a template. A
 * template that states a currency keeps it, because its rules are about that currency.
 */
function findReplacements(
  { template, documents }: PreparedTemplate,
  market: MarketData,
  calendars: Calendars,
): Replacements {
  if (template.documents.some((document) => 'currency' in document)) return {};
  if (documents.every((document) => findMissingRates(market, document).length === 0)) return {};
  const { currency, calendar } = findIndexDefaults(market, calendars);
  return currency === null ? {} : { currency, calendar: calendar ?? undefined };
}

/** Days of a trial from its base date. A base date without a session begins on the next one, after any holidays. */
const TRIAL_DAYS = 14;

/** Months after the first base date of a market at which templates are tried. */
const TRIAL_MONTHS = [0, 1, 2, 3, 6, 9, 12, 18, 24, 36, 48, 72, 96, 120, 180, 240, 300] as const;

/** Returns the base dates that are tried on a market, ascending; at least one. */
function listBaseDates(market: MarketData): readonly string[] {
  const firstDate = findFirstBaseDate(market);
  const lastDate = formatDay(market.dates.at(-1)!);
  const laterDates = TRIAL_MONTHS.map((months) => formatDay(addMonths(parseValidDay(firstDate), months)));
  return laterDates.filter((date, i) => i === 0 || date < lastDate);
}

const listMissingRates = (findings: readonly Finding[]): string[] => [
  ...new Set(findings.filter(({ code }) => code === 'FX_MISSING').map(({ value }) => String(value))),
];

/**
 * Returns the number of securities that the last selection rule of the last document keeps; null if it has no count, or
 * a count for each group.
 */
function findTargetCount(documents: readonly IndexDocument[]): number | null {
  const params: Readonly<Record<string, unknown>> = documents.at(-1)?.pipeline?.selection.at(-1)?.params ?? {};
  const { count, group_by: groupBy = null } = params;
  return typeof count === 'number' && groupBy === null ? count : null;
}

/**
 * Checks a template and determines the data that it needs. @throws Error if the documents are invalid, or if a column
 * has no meaning
 */
function prepareTemplate(template: MethodologyTemplate, calendars: Calendars): PreparedTemplate {
  const documents = parseDocuments(template, calendars);
  const needs = listDataNeeds(documents);
  const unexplainedNeeds = needs.filter(({ name }) => !(name in template.meanings) && !(name in STANDARD_COLUMNS));
  if (unexplainedNeeds.length > 0)
    throw new Error(
      `data/methodologies/${template.id}.json must describe these columns in meanings: ${unexplainedNeeds.map(({ name }) => name).join(', ')}`,
    );
  return { template, documents, needs };
}

/** Returns the documents of a template in the form that is computed. Terms that are not given are those of the template. */
function parseDocuments(
  template: MethodologyTemplate,
  calendars: Calendars,
  terms: TemplateTerms = {},
): IndexDocument[] {
  const byId = new Map<string, IndexDocument>();
  for (const body of createTemplateDocuments(template, terms)) {
    const { document, findings } = validateIndex(body, { calendars: calendars.list(), indexOf: (id) => byId.get(id) });
    if (document === undefined)
      throw new Error(`data/methodologies/${template.id}.json: ${String(body['id'])}: ${JSON.stringify(findings)}`);
    byId.set(document.id, document);
  }
  return [...byId.values()];
}

/**
 * Returns the errors that a run of the documents on a market would report. A missing exchange rate is an error because
 * templates rank all securities in one currency.
 */
function listMissing(documents: readonly IndexDocument[], market: MarketData): Finding[] {
  const byId = new Map(documents.map((document) => [document.id, document]));
  return documents
    .flatMap((document) => checkOnMarket(document, market, { severity: 'error', indexOf: (id) => byId.get(id) }))
    .map((finding): Finding => (finding.code === 'FX_MISSING' ? { ...finding, severity: 'error' } : finding))
    .filter(({ severity }) => severity === 'error');
}
