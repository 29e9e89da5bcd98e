import { decodeAddressPart } from '#base/addresses.js';
import { LIMITS } from '../base/limits.js';
import { refuseWithFindings } from '../base/refusals.js';
import { formatDay, parseDay } from '../base/time.js';

/** Number of a Markdown text as it is written, with everything of the text that decides whether it is true. */
export interface TextNumber {
  /** Position of the first character of sign and digits, in UTF-16 units, and the position after the last. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Digits without separators; empty if the separators can be read in several ways. */
  readonly digits: string;
  /** Number of digits after the decimal separator. */
  readonly decimals: number;
  /** Power of ten of exponent and unit: -2 for percent. */
  readonly power: number;
  readonly sign: '' | '+' | '-';
  /** Direction of the words before the number. Directed words also contradict a positive value. */
  readonly direction: 'none' | 'decrease' | 'directed-decrease';
  /** Id of the document that the sentence names for the number; null if it names none. */
  readonly subject: string | null;
  /** Id of the data store that the sentence names as a store; null if it names none. */
  readonly store: string | null;
  readonly periods: readonly NamedPeriod[];
  /** Address of the result and JSON pointer in the footnote; null without a footnote that has an address. */
  readonly citation: { readonly address: string; readonly pointer: string | null } | null;
  /** Reason why the number has no citation. */
  readonly missing: string | null;
}

/** First and last day of something, YYYY-MM-DD. */
export interface Period {
  readonly from: string;
  readonly to: string;
}

/** Date, month or year of a sentence, or a range of them, whose ends must both be in the window of a source. */
interface NamedPeriod {
  readonly first: Period;
  readonly last: Period;
  /** True for the beginning of an open range, such as "since 2019". */
  readonly isOpen: boolean;
  /** True for a range, and after words such as "since": its first close may be that at the end of `first`. */
  readonly isFromClose: boolean;
}

export type NumberStatus = 'proven' | 'different' | 'unsourced' | 'unreadable';

export interface VerifiedNumber {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly stated: number | null;
  readonly status: NumberStatus;
  readonly reason: string | null;
  readonly source: string | null;
  readonly true: number | null;
  readonly rounding: string | null;
}

export interface VerifiedText {
  readonly numbers: readonly VerifiedNumber[];
  readonly proven: number;
  readonly different: number;
  readonly unsourced: number;
  readonly unreadable: number;
}

export function summariseText(numbers: readonly VerifiedNumber[]): VerifiedText {
  const count = (status: NumberStatus): number => numbers.filter((number) => number.status === status).length;
  return {
    numbers,
    proven: count('proven'),
    different: count('different'),
    unsourced: count('unsourced'),
    unreadable: count('unreadable'),
  };
}

/** Scheme of the addresses of results. */
export const SOURCE_SCHEME = 'divisor:';

/** Formats the address of a result. Characters that a person reads stay as they are. */
export function formatSource(path: string, query: URLSearchParams): string {
  const search =
    query.size === 0 ? '' : `?${String(query).replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%40', '@')}`;
  return `${SOURCE_SCHEME}${path}${search}`;
}

/** Returns path and query of an address; undefined if it is no address of this service. */
export function parseSource(address: string): { readonly path: string; readonly query: URLSearchParams } | undefined {
  const rest = /^divisor:(?:\/\/service)?(\/[^/].*)$/.exec(address)?.[1];
  const url = rest === undefined ? null : URL.parse(rest, 'http://localhost');
  return url === null ? undefined : { path: url.pathname, query: url.searchParams };
}

/** Returns an address in one form, whatever the order and the encoding of its members. */
export function normaliseSource(address: string, ...omittedMembers: readonly string[]): string {
  const parsed = parseSource(address);
  if (parsed === undefined) return address;
  const { path, query } = parsed;
  for (const name of omittedMembers) query.delete(name);
  query.sort();
  return formatSource(decodeAddressPart(path) ?? path, query);
}

/**
 * Lists the numbers of a Markdown text with the addresses that their footnotes cite. Dates, years and numbers inside
 * ids, code, headings, addresses and list numbers are none.
 * @param ids ids of the documents that a sentence may name
 * @param stores ids of data stores: many are common words, so a sentence names one by the word `store` next to it
 * @throws Refusal VALIDATION_FAILED for more than LIMITS.MAX_TEXT_NUMBERS numbers
 */
export function readTextNumbers(
  text: string,
  ids: ReadonlySet<string>,
  stores: ReadonlySet<string> = NO_IDS,
): TextNumber[] {
  const { prose, scanned, units, footnotes } = readBlocks(text);
  const numbers: TextNumber[] = [];
  for (const unit of units)
    for (const sentence of splitSentences(text, prose, unit)) {
      numbers.push(...readSentence({ text, prose, scanned, footnotes, ids, stores }, sentence));
      if (numbers.length > LIMITS.MAX_TEXT_NUMBERS) throw refuseManyNumbers();
    }
  return numbers;
}

const NO_IDS: ReadonlySet<string> = new Set();

function refuseManyNumbers() {
  const message = `The text has more than ${LIMITS.MAX_TEXT_NUMBERS} numbers; at most ${LIMITS.MAX_TEXT_NUMBERS} are accepted. Send it in parts.`;
  return refuseWithFindings('body', [{ severity: 'error', code: 'OUT_OF_RANGE', path: 'text', message }]);
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Text whose parts that are no prose are blank, at the same positions. */
interface Blocks {
  /** Without code blocks, headings, addresses and footnotes. */
  readonly prose: string;
  /** In addition without code in a line. */
  readonly scanned: string;
  /** Paragraphs, list items and rows of tables. */
  readonly units: readonly Span[];
  readonly footnotes: ReadonlyMap<string, string>;
}

const FENCE = /^ {0,3}(?:>\s*)*(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(?:>\s*)*#{1,6}(?:\s|$)/;
const UNDERLINE = /^ {0,3}(?:=+|-+)\s*$/;
const FOOTNOTE = /^ {0,3}\[\^([^\]\s]{1,200})\]:[ \t]*(.*)$/;
const LINK_DEFINITION = /^ {0,3}\[[^\]^][^\]]{0,200}\]:/;
const LIST_ITEM = /^\s*(?:>\s*)*(?:[-*+]|\d{1,9}[.)])(?=\s)/;
const INDENTED = /^(?: {4}|\t)/;

/** Blanks a span of a text that is an array of characters. */
type Blank = (start: number, end: number) => void;

function readBlocks(text: string): Blocks {
  const spans: Span[] = [];
  const blank: Blank = (start, end) => void (end > start && spans.push({ start, end }));
  const units: Span[] = [];
  const footnotes = new Map<string, string>();
  let unit: { start: number; end: number; isParagraph: boolean } | undefined;
  let fence: string | undefined;
  let footnote: string | undefined;
  let isInList = false;
  let wasBlank = true;
  const endUnit = (): void => {
    if (unit !== undefined) units.push(unit);
    unit = undefined;
  };
  for (let start = 0; start <= text.length;) {
    const next = text.indexOf('\n', start);
    const end = next < 0 ? text.length : next;
    const line = text.slice(start, end);
    const isBlank = line.trim() === '';
    const mark = FENCE.exec(line)?.[1];
    const definition = FOOTNOTE.exec(line);
    if (fence !== undefined) {
      blank(start, end);
      if (mark?.startsWith(fence) === true) fence = undefined;
    } else if (mark !== undefined) {
      endUnit();
      fence = mark;
      blank(start, end);
    } else if (isBlank) {
      endUnit();
    } else if (definition !== null) {
      endUnit();
      footnote = definition[1]!;
      if (!footnotes.has(footnote)) footnotes.set(footnote, definition[2]!);
      blank(start, end);
    } else if (footnote !== undefined && /^[ \t]/.test(line)) {
      footnotes.set(footnote, `${footnotes.get(footnote)!} ${line.trim()}`);
      blank(start, end);
    } else if (HEADING.test(line) || LINK_DEFINITION.test(line) || (wasBlank && !isInList && INDENTED.test(line))) {
      endUnit();
      blank(start, end);
      if (INDENTED.test(line)) wasBlank = true;
    } else if (unit?.isParagraph === true && UNDERLINE.test(line)) {
      blank(unit.start, end);
      unit = undefined;
    } else {
      const item = LIST_ITEM.exec(line);
      const isRow = line.includes('|');
      if (item !== null || isRow) endUnit();
      if (item !== null) blank(start, start + item[0].length);
      unit ??= { start, end, isParagraph: item === null && !/^\s*>/.test(line) };
      unit.end = end;
      if (isRow) endUnit();
      isInList = item !== null || (isInList && /^\s/.test(line)) || (isInList && !wasBlank);
    }
    if (!isBlank && definition === null && !/^[ \t]/.test(line)) footnote = undefined;
    if (isBlank || !INDENTED.test(line)) wasBlank = isBlank;
    start = end + 1;
  }
  endUnit();
  const withoutBlocks = blankSpans(text, spans);
  const codeSpans = findCode(withoutBlocks);
  const codeless = blankSpans(withoutBlocks, codeSpans);
  const addresses = findAddresses(codeless);
  return {
    prose: blankSpans(withoutBlocks, addresses),
    scanned: blankSpans(codeless, addresses),
    units,
    footnotes,
  };
}

/** Replaces spans by spaces. The length and the lines stay. */
function blankSpans(text: string, spans: readonly Span[]): string {
  const parts: string[] = [];
  let position = 0;
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    if (end <= position) continue;
    const from = Math.max(start, position);
    parts.push(text.slice(position, from), text.slice(from, end).replaceAll(/[^\n]/g, ' '));
    position = end;
  }
  return parts.join('') + text.slice(position);
}

/** Finds code in lines: text between marks of equally many backticks. */
function findCode(text: string): Span[] {
  const marks = [...text.matchAll(/`+/g)].map(({ 0: { length }, index }) => ({ length, index }));
  const spans: Span[] = [];
  const paragraphs = [...text.matchAll(/\n[ \t]*\n/g)].map(({ index }) => index);
  let paragraph = 0;
  for (let i = 0; i < marks.length; i++) {
    const { length, index } = marks[i]!;
    while (paragraph < paragraphs.length && paragraphs[paragraph]! < index) paragraph++;
    const limit = paragraphs[paragraph] ?? text.length;
    let j = i + 1;
    while (j < marks.length && marks[j]!.index < limit && marks[j]!.length !== length && j - i < 100) j++;
    const closing = marks[j];
    if (closing === undefined || closing.index >= limit || closing.length !== length) continue;
    spans.push({ start: index, end: closing.index + length });
    i = j;
  }
  return spans;
}

/** Finds addresses, targets of links, references to footnotes, tags and comments. */
function findAddresses(text: string): Span[] {
  const spans: Span[] = [];
  for (const pattern of [
    /\b(?:https?|divisor|mailto|ftp):[^\s<>|)]+/g,
    /\]\([^)\s]{0,2000}(?:\s"[^"\n]{0,500}")?\)/g,
    /\[\^[^\]\s]{1,200}\]/g,
    /<\/?[a-zA-Z][^<>\n]{0,1000}>/g,
    /&#?\w{1,10};/g,
  ])
    for (const { 0: found, index } of text.matchAll(pattern)) spans.push({ start: index, end: index + found.length });
  for (let start = text.indexOf('<!--'); start >= 0;) {
    const close = text.indexOf('-->', start);
    const end = close < 0 ? text.length : close + 3;
    spans.push({ start, end });
    start = text.indexOf('<!--', end);
  }
  return spans;
}

/** Words after which a full stop does not end a sentence. */
const ABBREVIATIONS: ReadonlySet<string> = new Set(
  'e.g i.e approx ca vs no nos etc resp incl excl cf fig inc corp ltd mr mrs dr st p.a u.s u.k avg max min est'.split(
    ' ',
  ),
);

/** Divides a paragraph at the full stops of its sentences. Footnotes after a full stop belong to its sentence. */
function* splitSentences(text: string, prose: string, { start, end }: Span): Generator<Span> {
  const unit = text.slice(start, end);
  let from = 0;
  for (const { 0: stop, index } of unit.matchAll(/[.!?]["'”’»)*_]{0,8}(?: ?\[\^[^\]\s]{1,200}\])*(?=\s)/g)) {
    if (prose[start + index] === ' ') continue; // part of an address
    const word = /[\p{L}.]{1,20}$/u.exec(unit.slice(Math.max(from, index - 20), index))?.[0].toLowerCase();
    if (unit[index] === '.' && word !== undefined && (ABBREVIATIONS.has(word) || /^\p{L}$/u.test(word))) continue;
    yield { start: start + from, end: start + index + stop.length };
    from = index + stop.length;
  }
  yield { start: start + from, end };
}

interface ReadText extends Pick<Blocks, 'prose' | 'scanned' | 'footnotes'> {
  readonly text: string;
  readonly ids: ReadonlySet<string>;
  readonly stores: ReadonlySet<string>;
}

/** Number and its surroundings, before the words of its sentence are judged. */
interface FoundNumber extends Span, Pick<TextNumber, 'digits' | 'decimals' | 'power' | 'sign'> {
  /** Position after the unit. */
  readonly unitEnd: number;
  readonly labels: readonly string[];
}

function readSentence(source: ReadText, { start, end }: Span): TextNumber[] {
  const { text, prose, scanned, ids, stores, footnotes } = source;
  const raw = text.slice(start, end);
  const line = blankNames(scanned.slice(start, end));
  const dates = findDates(line, raw);
  const withoutDates = blankSpans(line, dates);
  const attached = blankSpans(raw, dates);
  const found = findNumbers(withoutDates, raw, attached);
  if (found.length === 0) return [];
  const words = prose.slice(start, end);
  const names = findNames(words, ids);
  const storeNames = findStores(words, stores);
  const periods = assignPeriods(raw, dates, found);
  return found.map(({ start: from, end: to, labels, digits, decimals, power, sign }, i) => ({
    start: start + from,
    end: start + to,
    text: raw.slice(from, to),
    digits,
    decimals,
    power,
    sign,
    direction:
      findDirectionAfter(raw, found[i]!.unitEnd) ?? findDirection(words.slice(found[i - 1]?.unitEnd ?? 0, from)),
    subject: findSubject(names, found, from),
    store: findNearest(storeNames, from),
    periods: periods[i]!,
    ...readCitation(labels, footnotes),
  }));
}

function readCitation(
  labels: readonly string[],
  footnotes: ReadonlyMap<string, string>,
): Pick<TextNumber, 'citation' | 'missing'> {
  if (labels.length === 0) return { citation: null, missing: 'no footnote' };
  for (const label of labels) {
    const address = /divisor:\/[^\s<>`"]+/.exec(footnotes.get(label) ?? '')?.[0].replace(/[.,;)\]]{1,8}$/, '');
    if (address === undefined) continue;
    const mark = address.indexOf('#');
    if (mark < 0) return { citation: { address, pointer: null }, missing: null };
    const fragment = address.slice(mark + 1);
    const pointer = decodeAddressPart(fragment) ?? fragment;
    return { citation: { address: address.slice(0, mark), pointer }, missing: null };
  }
  const isDefined = labels.some((label) => footnotes.has(label));
  return { citation: null, missing: isDefined ? 'footnote without an address' : 'footnote missing' };
}

/** Word of letters and digits, with the characters that join ids, dates and versions. */
const NAME = /[\p{L}\p{N}_]+(?:[-‐./&+@:#'’][\p{L}\p{N}_]+)*/gu;
/** Numbers that contain letters: with an exponent or with a unit. */
const LETTERED_NUMBER =
  /^(?:[\d.]+[eE][-+]?\d{1,3}|[\d.]+(?:bps?|bn|mn|tn|pp|x)|[\d.]+[-‐](?:per(?:cent)?|basis)(?:[-‐]points?)?)$/i;

/** Blanks words with letters and digits, such as ids and ordinals. Numbers with a unit stay. */
const blankNames = (line: string): string =>
  line
    .replaceAll(/(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, (marks) => ' '.repeat(marks.length))
    .replaceAll(NAME, (name) => {
      const isName = /\p{L}|_/u.test(name) && /\d/.test(name);
      return isName && !LETTERED_NUMBER.test(name) && !DATED_NAME.test(name) ? ' '.repeat(name.length) : name;
    });

const DATED_NAME =
  /^(?:\d{4}-Q[1-4]|[QH][1-4]|(?:FY|CY)\d{4}|(?:19|20)\d0s|\d{4}-\d{2}-\d{2}T[\d:.]+Z?|\d{1,2}(?:st|nd|rd|th)|\d{1,2}-(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*-\d{4})$/i;

interface FoundDate extends Span {
  /** Null for a date without a year, a time of day and an ordinal. */
  readonly period: Period | null;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH =
  '(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?';
const DAY = '(\\d{1,2})(?:st|nd|rd|th)?';
/** A number that continues, or that has a unit, is no date. */
const NO_UNIT =
  '(?![\\d\\p{L}_]|[.,]\\d|[ \\u00a0\\u202f\\u2009]?(?:%|‰)|[- \\u00a0\\u202f](?:per ?cent|pct|percentage|bps?|basis|thousand|million|billion|trillion|bn|mn|tn)\\b)';

/** Forms of dates, longest first. Each returns the first and the last day, or null if the form names no year. */
const DATE_FORMS: readonly (readonly [RegExp, (...groups: string[]) => Period | null])[] = [
  [
    form('((?:19|20)\\d{2})-(\\d{2})-(\\d{2})(?:[T ]\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d+)?)?Z?)?'),
    (y, m, d) => toDay(y!, m!, d!),
  ],
  [form('((?:19|20)\\d{2})/(\\d{2})/(\\d{2})'), (y, m, d) => toDay(y!, m!, d!)],
  [form('((?:19|20)\\d{2})[- ]?Q([1-4])'), (y, q) => toMonths(y!, 3 * Number(q) - 2, 3 * Number(q))],
  [form('Q([1-4])[ -]?(?:of )?((?:19|20)\\d{2})'), (q, y) => toMonths(y!, 3 * Number(q) - 2, 3 * Number(q))],
  [form('H([12])[ -]?(?:of )?((?:19|20)\\d{2})'), (h, y) => toMonths(y!, 6 * Number(h) - 5, 6 * Number(h))],
  [form(`${DAY}[ -](?:of )?${MONTH},?[ -]((?:19|20)\\d{2})`), (d, m, y) => toDay(y!, findMonth(m!), d!)],
  [form(`${MONTH} ${DAY},? ((?:19|20)\\d{2})`), (m, d, y) => toDay(y!, findMonth(m!), d!)],
  [form(`${MONTH},? ((?:19|20)\\d{2})`), (m, y) => toMonths(y!, Number(findMonth(m!)), Number(findMonth(m!)))],
  [form(`${DAY} (?:of )?${MONTH}`), () => null],
  [form(`${MONTH} ${DAY}(?! [\\p{L}])`), () => null],
  [form('\\d{1,2}[./]\\d{1,2}[./]((?:19|20)\\d{2})'), (y) => toMonths(y!, 1, 12)],
  [form('((?:19|20)\\d{2})-(0[1-9]|1[0-2])'), (y, m) => toMonths(y!, Number(m), Number(m))],
  [form('(?:FY|CY) ?((?:19|20)\\d{2})'), (y) => toMonths(y!, 1, 12)],
  [form('((?:19|20)\\d)0s', ''), (y) => ({ from: `${y!}0-01-01`, to: `${y!}9-12-31` })],
  [form('(?:[01]?\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d)?'), () => null],
  [form('(?:[QH][1-4]|\\d{1,2}(?:st|nd|rd|th))', '(?![\\p{L}\\d])'), () => null],
];

function form(pattern: string, after: string = NO_UNIT): RegExp {
  return new RegExp(`(?<![\\p{L}\\d_.,])${pattern}${after}`, 'giu');
}

const YEAR = new RegExp(
  `(?<![\\p{L}\\d_.,$€£¥+\\u2212]|[$€£¥] |[\\p{L}_][-.])((?:19|20)\\d{2})${NO_UNIT}(?![-.][\\p{L}])`,
  'gu',
);

const findMonth = (name: string): string => String(MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1);

function toDay(year: string, month: string, day: string): Period | null {
  const text = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return { from: text, to: text };
}

function toMonths(year: string, first: number, last: number): Period {
  const write = (month: number): string => String(month).padStart(2, '0');
  return { from: `${year}-${write(first)}-01`, to: `${year}-${write(last)}-31` };
}

function findDates(line: string, raw: string): FoundDate[] {
  const dates: FoundDate[] = [];
  let rest = line;
  for (const [pattern, convert] of DATE_FORMS) {
    const found: FoundDate[] = [...rest.matchAll(pattern)].map((match) => ({
      start: match.index,
      end: match.index + match[0].length,
      period: convert(...match.slice(1)),
    }));
    if (found.length === 0) continue;
    dates.push(...found);
    rest = blankSpans(rest, found);
  }
  for (const { 0: year, index } of rest.matchAll(YEAR)) {
    const date = { start: index, end: index + year.length, period: toMonths(year, 1, 12) };
    if (!isCountedYear(raw, date)) dates.push(date);
  }
  return dates.toSorted((a, b) => a.start - b.start);
}

const BEFORE_YEAR =
  /(?:\b(?:in|of|since|until|till|from|to|by|through|during|for|before|after|year|end|and|or|between|early|late|mid|over|calendar|fiscal|full)|[-–—/(|,])[ \u00a0]?$/i;

/** Returns true for a number of four digits that has a footnote, as in `2016 observations[^1]`. */
function isCountedYear(raw: string, { start, end }: Span): boolean {
  const attachment = findFootnotes(raw, end);
  if (attachment === undefined) return false;
  return attachment.hasWord || !BEFORE_YEAR.test(raw.slice(Math.max(0, start - 12), start));
}

const SPACES = '[ \\u00a0\\u202f\\u2009]';
const REFERENCES = '((?:\\[\\^[^\\]\\s]{1,200}\\])+)';
/** The date of a number may be in brackets before its footnote; dates are blank. */
const DIRECT_FOOTNOTES = new RegExp(`(?: ?\\( {4,40}\\))?[*_~"'”’»)\\]}.,;:!?]{0,8}\\s{0,2}${REFERENCES}`, 'y');
const FOOTNOTES_AFTER_WORD = new RegExp(
  `[*_~"'”’»)]{0,8}\\s{1,40}[*_~"'“‘«(]{0,4}[\\p{L}$€£¥][\\p{L}.'’/-]{0,60}?[*_~"'”’»)\\]}.,;:!?]{0,8}\\s{0,40}${REFERENCES}`,
  'uy',
);

/** Finds the footnotes of a number: directly after it, or after one word. */
function findFootnotes(
  raw: string,
  position: number,
): { readonly labels: readonly string[]; readonly hasWord: boolean } | undefined {
  for (const pattern of [DIRECT_FOOTNOTES, FOOTNOTES_AFTER_WORD]) {
    pattern.lastIndex = position;
    const references = pattern.exec(raw)?.[1];
    if (references === undefined) continue;
    const labels = [...references.matchAll(/\[\^([^\]]+)\]/g)].map((match) => match[1]!);
    return { labels, hasWord: pattern === FOOTNOTES_AFTER_WORD };
  }
  return undefined;
}

const GROUP = "[\\u00a0\\u202f\\u2009\\u2007'’]";
/** Forms of numbers; the last has separators that can be read in several ways. */
const NUMBER = new RegExp(
  `(?<![\\p{L}\\p{N}_]|\\d[.,])(?<sign>(?<![\\p{L}\\p{N}_%)\\]])[-+\\u2212\\u2013])?[*]{0,3}(?:[$€£¥]${SPACES}?)?(?:${[
    '(?<comma>[1-9]\\d{0,2}(?:,\\d{3})+(?:\\.\\d+)?)',
    '(?<lakh>[1-9]\\d?(?:,\\d{2})+,\\d{3}(?:\\.\\d+)?)',
    '(?<point>[1-9]\\d{0,2}(?:(?:\\.\\d{3})+,\\d+|(?:\\.\\d{3}){2,}))',
    `(?<space>[1-9]\\d{0,2}(?:${GROUP}\\d{3})+(?:[.,]\\d+)?)`,
    '(?<plain>(?:\\d+(?:[.,]\\d+)?|\\.\\d+)(?:[eE][-+]?\\d{1,3})?)',
    '(?<unclear>\\d+(?:[.,]\\d+){2,})',
  ].join('|')})(?![\\d]|[.,]\\d)`,
  'gu',
);

const UNITS: readonly (readonly [RegExp, number])[] = [
  [/[ \u00a0\u202f\u2009]?\\?%/y, -2],
  [/[ \u00a0\u202f\u2009]?‰/y, -3],
  [/[-‐ \u00a0\u202f\u2009]?(?:percentage[- \u00a0]points?|per ?cent|pct|pp)(?![\p{L}\d])/iuy, -2],
  [/[-‐ \u00a0\u202f\u2009]?(?:bps?|basis[- \u00a0]points?)(?![\p{L}\d])/iuy, -4],
  [/[- \u00a0\u202f\u2009]?thousand(?!\p{L})/iuy, 3],
  [/[- \u00a0\u202f\u2009]?(?:million|mn)(?!\p{L})/iuy, 6],
  [/[- \u00a0\u202f\u2009]?(?:billion|bn)(?!\p{L})/iuy, 9],
  [/[- \u00a0\u202f\u2009]?(?:trillion|tn)(?!\p{L})/iuy, 12],
  [/x(?!\p{L})/iuy, 0],
];

/** @param attached the sentence with its footnotes, without its dates */
function findNumbers(line: string, raw: string, attached: string): FoundNumber[] {
  const numbers: FoundNumber[] = [];
  for (const { 0: match, index, groups } of line.matchAll(NUMBER)) {
    const { sign = '', unclear, ...forms } = groups!;
    if (unclear !== undefined && !unclear.includes(',')) continue; // a version such as 1.2.3
    const end = index + match.length;
    const isDash = sign === '\u2013' && index > 0 && !/[\s(|*_]/.test(raw[index - 1]!); // 2 to 3, not minus 3
    const [unit, unitPower] = findUnit(raw, end);
    const { digits, decimals, exponent } = unclear === undefined ? parseDigits(forms) : NO_DIGITS;
    const start = isDash || sign === '' ? index + match.search(/[\d.]/) : index;
    numbers.push({
      start,
      end,
      unitEnd: end + unit,
      digits,
      decimals,
      power: exponent + unitPower,
      sign: isDash || sign === '' ? '' : sign === '+' ? '+' : '-',
      labels: findFootnotes(attached, end + unit)?.labels ?? [],
    });
    if (numbers.length > LIMITS.MAX_TEXT_NUMBERS) return numbers;
  }
  return numbers;
}

const NO_DIGITS = { digits: '', decimals: 0, exponent: 0 };

/** Finds the unit after a number. Marks of bold and italic text do not matter. */
function findUnit(raw: string, position: number): readonly [length: number, power: number] {
  const marks = /^[*_]{0,3}/.exec(raw.slice(position, position + 3))![0].length;
  for (const [pattern, power] of UNITS) {
    pattern.lastIndex = position + marks;
    const unit = pattern.exec(raw)?.[0];
    if (unit !== undefined) return [marks + unit.length, power];
  }
  return [0, 0];
}

/** Reads digits by the form of their separators. */
function parseDigits({ comma, lakh, point, space, plain }: Readonly<Record<string, string | undefined>>) {
  const decimal =
    (comma ?? lakh)?.replaceAll(',', '') ??
    point?.replaceAll('.', '').replace(',', '.') ??
    space?.replaceAll(new RegExp(GROUP, 'g'), '').replace(',', '.') ??
    plain!.replace(',', '.');
  const [written = '', exponent = '0'] = decimal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = written.split('.');
  return { digits: whole + fraction, decimals: fraction.length, exponent: Number(exponent) };
}

interface Name extends Span {
  readonly id: string;
  /** Nearest id before it to which the sentence compares it, as in "AM against AE"; null if there is none. */
  readonly compared: Name | null;
}

/** Words before an id to which something is compared. */
const COMPARISON =
  /\b(?:against|versus|vs\.?|relative to|compared (?:with|to)|than|beat|outperformed|underperformed|exceeded|trailed|lagged)\s+(?:its |the |their )?(?:benchmark |index )?["'“‘`*_]{0,3}$/i;

function findNames(words: string, ids: ReadonlySet<string>): Name[] {
  const names: Name[] = [];
  for (const { 0: word, index } of words.matchAll(/[A-Za-z0-9_-]+/g)) {
    if (!/[A-Za-z]/.test(word)) continue;
    const id = ids.has(word) ? word : word.replaceAll(/^-{1,64}|-{1,64}$/g, '');
    if (!ids.has(id)) continue;
    const isCompared = COMPARISON.test(words.slice(Math.max(0, index - 40), index));
    const last = names.at(-1);
    names.push({
      start: index,
      end: index + word.length,
      id,
      compared: isCompared ? (last?.compared ?? last ?? null) : null,
    });
  }
  return names;
}

/**
 * Returns the nearest id before a number; the nearest after it if there is none before. The second id of a comparison
 * is not the subject, unless the first has another number before it, as in "AM rose by 5 % versus 3 % of AE".
 */
function findSubject(names: readonly Name[], numbers: readonly Span[], position: number): string | null {
  const nearest = names[countBefore(names, position) - 1] ?? names[0];
  if (nearest === undefined) return null;
  const { compared, start, id } = nearest;
  const isFirst = compared !== null && countBefore(numbers, compared.start) === countBefore(numbers, start);
  return isFirst ? compared.id : id;
}

const STORE_NAME =
  /\bstore[\s"'“‘`*_]{1,4}([A-Za-z0-9][\w-]{0,63})|(?<![\w-])([A-Za-z0-9][\w-]{0,63})["'”’`*_]{0,3}\s(?:data\s)?store\b/g;

/** Finds the data stores of a sentence. */
function findStores(words: string, stores: ReadonlySet<string>): Name[] {
  return [...words.matchAll(STORE_NAME)].flatMap(({ 0: { length }, 1: after, 2: before, index }) => {
    const id = after ?? before!;
    return stores.has(id) ? [{ start: index, end: index + length, id, compared: null }] : [];
  });
}

/** Returns the nearest id before a position; the nearest after it if there is none before. */
function findNearest(names: readonly Name[], position: number): string | null {
  return (names[countBefore(names, position) - 1] ?? names[0])?.id ?? null;
}

function countBefore(spans: readonly Span[], position: number): number {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (spans[middle]!.start < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

const createWords = (words: string): ReadonlySet<string> => new Set(words.split(' '));
const FALLING_VERBS = createWords(
  'fell fall falls fallen falling lost lose loses losing declined declines declining dropped drops dropping decreased decreases decreasing down slipped slips shed sheds sank sunk tumbled tumbles plunged plunges slid slides slumped slumps underperformed underperforms lagged lags trailed trails retreated retreats shrank shrunk contracted contracts detracted detracts subtracted subtracts reduced reduces minus',
);
const FALLING_NOUNS = createWords(
  'decline decrease drop drawdown drawdowns loss losses reduction reductions contraction slump slide plunge shortfall underperformance drag negative',
);
const FALLING_OTHERS = createWords('lower worse weaker lag trail weakened dragged cut cuts below');
const RISING = createWords(
  'rose rise rises risen rising gained gain gains gaining increased increase increases increasing grew grow grows grown growth up added adds climbed climbs advanced advances advance outperformed outperforms outperformance higher jumped surged surges rallied rally improved improves earned earns positive plus better recovered recovers rebounded',
);
/** Words between a word of decrease and its number that keep its direction. */
const FILLERS = createWords(
  'by of about around nearly almost roughly approximately some just only another further a an the more less than as much sharply slightly strongly modestly markedly steeply was is were totalled reached usd eur gbp jpy chf',
);
/** Words before a number that state a level or a length instead of a change. */
const NO_CHANGE = createWords('to from at for over in on during after within since with across between until through');

function findDirection(words: string): TextNumber['direction'] {
  const before = (words.match(/[\p{L}'’-]+/gu) ?? []).slice(-60).map((word) => word.toLowerCase());
  const isFalling = (word: string): boolean =>
    FALLING_VERBS.has(word) || FALLING_NOUNS.has(word) || FALLING_OTHERS.has(word);
  const position = before.findLastIndex((word) => isFalling(word) || RISING.has(word));
  const last = before[position];
  if (last === undefined || RISING.has(last)) return 'none';
  const between = before.slice(position + 1);
  const preposition = between.findLast((word) => !FILLERS.has(word) || word === 'by' || word === 'of');
  if (preposition !== undefined && NO_CHANGE.has(preposition) && NO_CHANGE.has(between.findLast(isNoArticle)!))
    return 'none';
  const isDirect = between.every((word) => FILLERS.has(word));
  const isBy = FALLING_VERBS.has(last) && between.findLast(isNoArticle) === 'by';
  const isOf = FALLING_NOUNS.has(last) && between.length <= 5 && between.findLast(isNoArticle) === 'of';
  if (FALLING_OTHERS.has(last)) return 'decrease';
  return isDirect || isBy || isOf ? 'directed-decrease' : 'decrease';
}

const WORD_AFTER = /[*_]{0,3}(?:\[\^[^\]\s]{1,200}\]){0,8}[ \u00a0]?(\p{L}{2,20})(?: (\p{L}{1,20}))?/uy;
const FALLING_AFTER = createWords('lower less down below worse under');

/** Returns the direction of a word directly after a number, as in "ended 5 % lower"; undefined without such a word. */
function findDirectionAfter(raw: string, position: number): TextNumber['direction'] | undefined {
  WORD_AFTER.lastIndex = position;
  const [, word = '', next = ''] = WORD_AFTER.exec(raw)?.map((part) => part?.toLowerCase()) ?? [];
  if (next === 'from') return undefined; // 5 %, down from 6 %
  if (FALLING_AFTER.has(word) || FALLING_NOUNS.has(word) || word === 'fall') return 'directed-decrease';
  return RISING.has(word) && word !== 'up' ? 'none' : undefined;
}

const ARTICLES = createWords(
  'a an the about around nearly almost roughly approximately some just only usd eur gbp jpy chf',
);
const isNoArticle = (word: string): boolean => !ARTICLES.has(word);

/** Text between the two dates of a range, and the word before a range with `and`. */
const RANGE_JOINT = /^[\s,]*(?:[-–—]|to|until|till|through)\s*(?:(?:the )?end of )?$/i;
const AND = /^\s*and\s*$/i;

/** Words before a period from whose last close a value counts. */
const FROM_CLOSE = /\b(?:since|from|after|end|close)\s+(?:of\s+)?(?:the\s+)?$/i;

interface PlacedPeriod extends Span {
  readonly period: NamedPeriod;
}

/**
 * Assigns the dates of a sentence to its numbers. All dates count for a single number. With several numbers, each has
 * the nearest date before it if the sentence begins with a date, otherwise the nearest after it.
 */
function assignPeriods(raw: string, dates: readonly FoundDate[], numbers: readonly FoundNumber[]): NamedPeriod[][] {
  const placed = joinRanges(raw, dates);
  if (numbers.length === 1) return [omitContext(placed, numbers[0]!.start).map(({ period }) => period)];
  const leading = countBefore(placed, numbers[0]!.start);
  const isTrailing = placed.length > 0 && placed.at(-1)!.start > numbers.at(-1)!.start;
  const isGeneral = isTrailing && leading > 0 && placed.length > leading;
  const general = isGeneral ? placed.slice(0, leading).map(({ period }) => ({ ...period, isOpen: true })) : [];
  const others = isGeneral ? placed.slice(leading) : placed;
  return numbers.map(({ start }) => {
    const count = countBefore(others, start);
    const [before, after] = [others[count - 1], others[count]];
    const nearest = leading > 0 && !isGeneral ? (before ?? after) : (after ?? before);
    return nearest === undefined ? general : [...general, nearest.period];
  });
}

/** Omits a range that a later period before the number narrows, as in "Over 2021 to 2023, the best year was 2022 with". */
function omitContext(placed: readonly PlacedPeriod[], position: number): readonly PlacedPeriod[] {
  const narrowing = placed[countBefore(placed, position) - 1];
  if (narrowing === undefined) return placed;
  const { first, last } = narrowing.period;
  return placed.filter(({ start, period }) => {
    const isRange = period.first !== period.last && start < narrowing.start;
    return !(isRange && period.first.from <= first.from && period.last.to >= last.to);
  });
}

function joinRanges(raw: string, dates: readonly FoundDate[]): PlacedPeriod[] {
  const placed: PlacedPeriod[] = [];
  let previous: FoundDate | undefined;
  for (const date of dates) {
    const { start, end, period } = date;
    if (period === null) continue;
    const joint = previous === undefined ? '' : raw.slice(previous.end, Math.min(start, previous.end + 40));
    const isBetween = (): boolean =>
      /\bbetween\s+$/i.test(raw.slice(Math.max(0, previous!.start - 12), previous!.start));
    if (previous !== undefined && (RANGE_JOINT.test(joint) || (AND.test(joint) && isBetween()))) {
      const range = placed.pop()!;
      placed.push({ start: range.start, end, period: { ...range.period, last: period, isFromClose: true } });
    } else {
      const isFromClose = FROM_CLOSE.test(raw.slice(Math.max(0, start - 24), start));
      placed.push({ start, end, period: { first: period, last: period, isOpen: false, isFromClose } });
    }
    previous = date;
  }
  return placed;
}

export interface CitedResult {
  /** Address with everything pinned, without a pointer. */
  readonly address: string;
  /** JSON of the result. */
  readonly bytes: Uint8Array;
  readonly numbers: readonly TextNumber[];
}

export function verifyNumbers({ address, bytes, numbers }: CitedResult): VerifiedNumber[] {
  let root: unknown;
  try {
    root = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return numbers.map((number) => rejectNumber(number, 'unreadable', 'The source is not JSON.'));
  }
  const about = describeAddress(address, root);
  return numbers.map((number) => verifyNumber(number, root, about));
}

export function rejectNumber(
  number: TextNumber,
  status: NumberStatus,
  reason: string,
  source: string | null = formatCitation(number),
): VerifiedNumber {
  const { start, end, text } = number;
  return { start, end, text, stated: toStated(number), status, reason, source, true: null, rounding: null };
}

const formatCitation = ({ citation }: TextNumber): string | null =>
  citation === null ? null : `${citation.address}${citation.pointer === null ? '' : `#${encodeURI(citation.pointer)}`}`;

function toStated({ digits, decimals, power, sign }: TextNumber): number | null {
  return digits === '' ? null : Number(`${sign === '-' ? '-' : ''}${digits}e${power - decimals}`);
}

function verifyNumber(number: TextNumber, root: unknown, about: SourceSubject): VerifiedNumber {
  const pointer = number.citation?.pointer ?? null;
  if (number.digits === '')
    return rejectNumber(number, 'unreadable', 'The separators of the number can be read in several ways.');
  if (pointer === null) return rejectNumber(number, 'unreadable', 'The address has no pointer to a number.');
  const found = followPointer(root, pointer, about);
  if (found === undefined) return rejectNumber(number, 'unreadable', `The source has nothing at ${pointer}.`);
  const { value } = found;
  if (typeof value !== 'number') return rejectNumber(number, 'unreadable', `The source has no number at ${pointer}.`);
  const difference =
    findDifference(number, value, pointer) ?? findOtherSubject(number, found, about) ?? findOtherPeriod(number, found);
  const { start, end, text } = number;
  return {
    start,
    end,
    text,
    stated: toStated(number),
    status: difference === null ? 'proven' : 'different',
    reason: difference,
    source: formatCitation(number),
    true: value,
    rounding: difference === null ? describeRounding(number, value) : null,
  };
}

/** Decimal number: mantissa times a power of ten. */
interface Decimal {
  readonly mantissa: bigint;
  readonly power: number;
}

/** Returns the decimal that JSON writes for a number. */
function toDecimal(value: number): Decimal {
  const [written = '', exponent = '0'] = String(value).split('e');
  const [whole = '', fraction = ''] = written.split('.');
  return { mantissa: BigInt(whole + fraction), power: Number(exponent) - fraction.length };
}

const absolute = (value: bigint): bigint => (value < 0n ? -value : value);

/** Returns true if a number with the last digit at `power` is the rounded value, half away from zero or half to even. */
function isRounded(shown: bigint, power: number, value: Decimal): boolean {
  const unit = Math.min(power, value.power);
  const scale = 10n ** BigInt(power - unit);
  const exact = absolute(value.mantissa) * 10n ** BigInt(value.power - unit);
  const doubled = 2n * absolute(exact - shown * scale);
  if (doubled !== scale || scale === 1n) return doubled < scale || doubled === 0n;
  return shown * scale > exact || shown % 2n === 0n;
}

/** Powers of ten by which units differ. */
const SCALES = [-2, 2, -4, 4, -3, 3, -6, 6, -9, 9];

function findDifference(number: TextNumber, value: number, pointer: string): string | null {
  const { digits, decimals, power, sign, direction } = number;
  const shown = BigInt(digits);
  const last = power - decimals;
  const decimal = toDecimal(value);
  if (!isRounded(shown, last, decimal)) {
    const isScaled = shown !== 0n && SCALES.some((scale) => isRounded(shown, last + scale, decimal));
    return isScaled ? 'scale' : 'value';
  }
  if (shown === 0n) return null;
  if (value < 0) return sign === '-' || (sign === '' && direction !== 'none') ? null : 'sign';
  const isMagnitude = /drawdown|loss|shortfall|decline|under_?water|fall/i.test(pointer);
  return sign === '-' || (direction === 'directed-decrease' && !isMagnitude) ? 'sign' : null;
}

function describeRounding({ digits, decimals, power }: TextNumber, value: number): string {
  const { mantissa, power: unit } = toDecimal(value);
  const last = power - decimals;
  const common = Math.min(last, unit);
  const isExact = BigInt(digits) * 10n ** BigInt(last - common) === absolute(mantissa) * 10n ** BigInt(unit - common);
  return isExact ? 'exact' : `${decimals} ${decimals === 1 ? 'decimal' : 'decimals'}`;
}

/** Documents and window of a source. */
interface SourceSubject {
  readonly ids: readonly string[];
  readonly benchmark: string | null;
  /** Data store that the result names; null if it names none. */
  readonly store: string | null;
  readonly window: Period | null;
}

/** Members of a result that contain the id of a document. */
const ID_MEMBERS = ['index_id', 'strategy_id', 'constraint_set_id', 'model_id', 'risk_model', 'subject', 'id'];
/** Path words before the id of a document. */
const ID_PATHS = /^\/(?:analytics|indices|strategies|risk-models|derivatives|optimise\/constraint-sets)\/([^/]+)/;
const FIXED_WORDS = createWords(
  'compare summaries backtests backtest sweeps reruns rule-types overlay-types templates calendars validate preview level whatif datapoints',
);

/** Returns the documents and the window of a result from its address and its members. */
function describeAddress(address: string, root: unknown): SourceSubject {
  const { path: pathname, query: searchParams } = parseSource(address)!; // only a result that was read has numbers
  const inPath = ID_PATHS.exec(pathname)?.[1];
  const job = /^\/jobs\/[^/:]+:([^/]+)/.exec(decodeURIComponent(pathname))?.[1];
  const listed = searchParams.getAll('ids').flatMap((text) => text.split(',').map((id) => id.split('@')[0]!));
  const ofAddress =
    inPath !== undefined && !FIXED_WORDS.has(inPath)
      ? [decodeURIComponent(inPath)]
      : [...listed, ...(job === undefined ? [] : [job])];
  const members = isObject(root) ? ID_MEMBERS.flatMap((name) => toText(root[name])) : [];
  const ids = [...new Set([...ofAddress, ...members])];
  const benchmark = searchParams.get('benchmark')?.replace(/^\w+:/, '') ?? null;
  const read = (name: string): string | undefined => searchParams.get(name) ?? undefined;
  const range = toWindow({ start: read('start') ?? read('from'), end: read('end') ?? read('to') });
  const day = [...pathname.split('/'), read('as_of'), read('date')].map(parsePeriod).find((period) => period !== null);
  const store = searchParams.get('store_id') ?? toText(isObject(root) ? root['store_id'] : null)[0] ?? null;
  return { ids, benchmark, store, window: day ?? range };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const toText = (value: unknown): readonly string[] => (typeof value === 'string' ? [value] : []);

/** Value at a pointer, with the window and the document that its surroundings state. */
interface FoundValue {
  readonly value: unknown;
  readonly window: Period | null;
  /** Earliest day that may name the close before a window of returns; null if the result has no such close. */
  readonly base: string | null;
  readonly subject: string | null;
}

/** @source RFC 6901 */
function followPointer(root: unknown, pointer: string, about: SourceSubject): FoundValue | undefined {
  if (pointer !== '' && !pointer.startsWith('/')) return undefined;
  const segments = pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
  const known = about.benchmark === null ? about.ids : [...about.ids, about.benchmark];
  let value = root;
  let window = about.window;
  let base: string | null = null;
  let subject: string | null = null;
  const listedIds = isObject(root) && Array.isArray(root['index_ids']) ? (root['index_ids'] as unknown[]) : [];
  for (const [depth, segment] of segments.entries()) {
    if (isObject(value)) {
      const ownWindow = findWindow(value);
      if (ownWindow !== null) base = findBase(value, ownWindow);
      window = ownWindow ?? window;
      if (depth > 0) subject = findRowSubject(value, known) ?? subject;
      const series = findDatedItem(value, segment, segments[depth + 1]);
      if (!Object.hasOwn(value, segment)) return undefined;
      window = series ?? parsePeriod(segment) ?? window;
      if (known.includes(segment)) subject = segment;
      if (about.benchmark !== null && segment.startsWith('benchmark')) subject = about.benchmark;
      value = value[segment];
    } else if (Array.isArray(value) && /^(?:0|[1-9]\d{0,9})$/.test(segment) && Number(segment) < value.length) {
      if (depth === 1 && listedIds.length === value.length)
        subject = toText(listedIds[Number(segment)])[0]?.split('@')[0] ?? subject;
      value = value[Number(segment)] as unknown;
    } else return undefined;
  }
  return { value, window, base, subject };
}

/** Returns the document of a row: any index, strategy, set or model, or one of the documents of the source. */
function findRowSubject(row: Readonly<Record<string, unknown>>, known: readonly string[]): string | undefined {
  return ID_MEMBERS.flatMap((name) => toText(row[name]).filter((id) => name.endsWith('_id') || known.includes(id)))[0];
}

const DATE_MEMBERS = [
  'date',
  'day',
  'as_of',
  'ex_date',
  'effective_date',
  'effective',
  'session',
  'month',
  'year',
  'on',
];
const RANGE_MEMBERS = [
  ['start', 'end'],
  ['from', 'to'],
  ['observed_start', 'observed_end'],
  ['first', 'last'],
] as const;

function findWindow(row: Readonly<Record<string, unknown>>): Period | null {
  for (const name of DATE_MEMBERS) {
    const period = typeof row[name] === 'string' || name === 'year' ? parsePeriod(row[name]) : null;
    if (period !== null) return period;
  }
  for (const [first, last] of RANGE_MEMBERS) {
    const window = toWindow({ start: row[first], end: row[last] });
    if (window !== null) return window;
  }
  return null;
}

/** Maximum number of days between a close and the next session: a weekend and the longest holidays. */
const CLOSED_DAYS_MAX = 10;

/** Returns the start that was requested, if the window of a result begins with the session after its close. */
function findBase({ requested_start: start }: Readonly<Record<string, unknown>>, { from }: Period): string | null {
  const requested = parsePeriod(start)?.from ?? from;
  const days = (Date.parse(from) - Date.parse(requested)) / 86_400_000;
  return days > 0 && days <= CLOSED_DAYS_MAX ? requested : null;
}

function toWindow({ start, end }: { readonly start: unknown; readonly end: unknown }): Period | null {
  const [first, last] = [parsePeriod(toText(start)[0]), parsePeriod(toText(end)[0])];
  if (first === null && last === null) return null;
  return { from: first?.from ?? '0000-01-01', to: last?.to ?? '9999-12-31' };
}

/** Returns the period of a date, a month or a year; null for anything else. */
function parsePeriod(value: unknown): Period | null {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return null;
  const [, year, month, day] = /^((?:19|20)\d{2})(?:-(\d{2})(?:-(\d{2}))?)?(?:T.*)?$/.exec(text) ?? [];
  if (year === undefined) return null;
  if (month === undefined) return toMonths(year, 1, 12);
  return day === undefined ? toMonths(year, Number(month), Number(month)) : toDay(year, month, day);
}

/** Returns the date of an item of a list that has its dates in another list of the same length. */
function findDatedItem(
  frame: Readonly<Record<string, unknown>>,
  segment: string,
  position: string | undefined,
): Period | null {
  const list = frame[segment];
  if (!Array.isArray(list) || position === undefined) return null;
  for (const name of ['index', 'dates', 'columns']) {
    const dates = frame[name];
    if (name === segment || !Array.isArray(dates) || dates.length !== list.length) continue;
    const period = parsePeriod(dates[Number(position)]);
    if (period !== null) return period;
  }
  return null;
}

/** Returns `subject` if the sentence names another document than the one of the value. */
function findOtherSubject(
  { subject, store: namedStore }: TextNumber,
  found: FoundValue,
  { ids, store }: SourceSubject,
): string | null {
  if (namedStore !== null && store !== null && namedStore !== store) return 'subject';
  if (subject === null || (ids.length === 0 && found.subject === null)) return null;
  const matches = found.subject === null ? ids.includes(subject) : found.subject === subject;
  return matches ? null : 'subject';
}

/**
 * Returns `period` if the sentence names a date outside the window of the value. A month, quarter or year that has only
 * the first day of the window does not contain its returns, which count from the close of that day.
 */
function findOtherPeriod({ periods }: TextNumber, { window, base }: FoundValue): string | null {
  if (window === null) return null;
  const overlaps = ({ from, to }: Period): boolean => {
    const isBase = base !== null && from === to && from >= base;
    return from <= window.to && (to >= window.from || isBase);
  };
  const firstDay = window.from === window.to ? undefined : parseDay(window.from);
  const isBeforeReturns = ({ first: { from, to }, isFromClose }: NamedPeriod): boolean =>
    !isFromClose && from !== to && firstDay !== undefined && to < formatDay(firstDay + 1);
  const isInside = (period: NamedPeriod): boolean => {
    const { first, last, isOpen } = period;
    return isOpen ? first.from <= window.to : overlaps(first) && overlaps(last) && !isBeforeReturns(period);
  };
  return periods.every(isInside) ? null : 'period';
}
