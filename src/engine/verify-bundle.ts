import { createHash } from 'node:crypto';
import { decodeUtf8 } from '#base/bytes.js';
import { compareText } from '#domain/base/findings.js';
import type { DatedMarkets } from '#domain/books/composer.js';
import type { Calendar, Calendars } from '#domain/calendars/calendar.js';
import { loadPluginSandbox } from '#domain/datapoints/plugin-sandbox.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import {
  BUNDLE_FILES,
  BundleCalendar,
  BundledVersions,
  type BundleFile,
  BundleKeys,
  BundleManifest,
  createModelFileName,
  KNOWN_FILE,
  MANIFEST_FILE,
  type PublicationEntry,
  type PublicKey,
} from '#domain/definition/publication.js';
import type { MarketData } from '#domain/market/market-data.js';
import { computeFileBytes } from '#domain/risk/estimation.js';
import { openPackedMatrix, openStoredModel, type StoredModels } from '#domain/risk/stored-models.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { createDatedMarkets, unpackChange } from '#market/content/versions.js';
import { computeStatementHash, createLogCheck } from '#store/history/log-check.js';
import { computeInputDigests, decodeSlice, findDifferingKeys } from '#views/bundle/inputs.js';
import { readTar } from '#views/bundle/tar.js';
import { findDifferingCloses, recomputeCloses } from '#views/closes.js';
import type * as Api from './api.js';
import { readPackageVersion } from './version.js';

type Files = ReadonlyMap<string, Uint8Array>;

/** Inputs of a plan other than the market and its calendars. */
export interface PlanInputs {
  readonly models: StoredModels;
  readonly known: DatedMarkets | undefined;
}

/**
 * Opens the stored risk models and earlier contents of a bundle. Loads the sandbox if the plan has plug-ins.
 * @throws Error if a file is missing or differs from the hash in the plan
 */
async function openPlanInputs(plan: BacktestPlan, market: MarketData, files: Files): Promise<PlanInputs> {
  if (Object.values(plan.documents).some(({ plugins }) => plugins !== undefined)) await loadPluginSandbox();
  return { models: openModels(plan, files), known: selectKnownMarkets(plan, market, files) };
}

function getFile(files: Files, name: string): Uint8Array {
  const bytes = files.get(name);
  if (bytes === undefined) throw new Error(`the file ${name} is missing`);
  return bytes;
}

function openModels({ models: plannedModels = {} }: BacktestPlan, files: Files): StoredModels {
  const ids = Object.keys(plannedModels).toSorted(compareText);
  const models = new Map(
    ids.map((id, place) => {
      const { asset_ids: names, observed_end: observedEnd, covariance, dates } = plannedModels[id]!;
      const bytes = getFile(files, createModelFileName(place)).slice();
      if (!listHashes(bytes, names.length).includes(covariance))
        throw new Error(`${createModelFileName(place)} is not the covariance of the risk model ${id}`);
      const numbers = new Float64Array(bytes.buffer);
      const readMatrix = () => openPackedMatrix(numbers, names.length);
      return [id, openStoredModel(id, { names, observedEnd, dates, matrix: readMatrix, numbers: () => numbers })];
    }),
  );
  return (id) => {
    const model = models.get(id);
    if (model === undefined) throw new Error(`the plan has no risk model ${id}`);
    return model;
  };
}

/**
 * Returns the two valid hashes of a matrix. One applies if the matrix is stored in one file, the other if it is stored
 * in one file per part.
 */
function listHashes(bytes: Uint8Array, assetCount: number): string[] {
  let offset = 0;
  const files = computeFileBytes(assetCount).map((length) => bytes.subarray(offset, (offset += length)));
  return [computeInputsSha256(bytes), computeInputsSha256(files.map(computeInputsSha256).join(''))];
}

const computeInputsSha256 = (content: Uint8Array | string): string =>
  createHash('sha256').update(content).digest('hex');

function selectKnownMarkets({ request }: BacktestPlan, market: MarketData, files: Files): DatedMarkets | undefined {
  if (request.as_known === undefined) return undefined;
  const text = decodeUtf8(getFile(files, KNOWN_FILE));
  const { known_on: knownOn, earlier } = BundledVersions.parse(JSON.parse(text));
  return createDatedMarkets(market, {
    knownOn,
    earlier: earlier.map(({ known_on: on, file }) => ({ knownOn: on, change: unpackChange(getFile(files, file)) })),
  });
}

/** Returns true if a key signed the 32 bytes of a hash. Returns null if this platform cannot verify signatures. */
export type SignatureCheck = (
  signed: Pick<PublicationEntry, 'hash' | 'signature'>,
  key: PublicKey,
) => Promise<boolean | null>;

export interface VerifyTerms extends Api.VerifyOptions {
  readonly isSigned: SignatureCheck;
}

/** Maximum number of listed faults of one kind. */
const LISTED_MAX = 20;

type Fault = Api.BundleFault;

/** Returns all problems of a bundle, after recomputing its closes from its inputs. @cost a backtest and a few hashes */
export async function verifyBundleWith(bytes: Uint8Array, terms: VerifyTerms): Promise<Api.BundleVerdict> {
  const openedBundle = openBundle(bytes);
  if ('fault' in openedBundle) return createRefusedVerdict(openedBundle.fault);
  const { manifest, files } = openedBundle;
  const faults: Fault[] = [];
  const changedFiles = Object.keys(manifest.files).filter(
    (name) => computeSha256(files.get(name)!) !== readStatedHash(manifest, name),
  );
  const { entries, fault } = readLog(files.get('log.ndjson')!, manifest);
  if (fault !== undefined) faults.push(fault);
  const keys = collectKeys(files.get('keys.json')!, terms.keys);
  const signatures = await findSignatureFaults([manifest, ...entries], keys, terms);
  faults.push(...signatures.faults);
  if (computeStatementHash(manifest) !== manifest.hash)
    faults.push({ kind: 'file', message: 'The list of hashes is not the one that its hash states.' });
  if (terms.head !== undefined && terms.head !== manifest.head)
    faults.push({ kind: 'log', message: `The log ends with ${manifest.head}, not with ${terms.head}.` });
  const market = openMarket(files);
  const inputs = changedFiles.some((name) => INPUTS.has(name)) ? findInputFaults(market, manifest) : [];
  faults.push(...inputs, ...findFileFaults(changedFiles, inputs.length > 0));
  if (market !== undefined && faults.every(({ kind }) => kind !== 'log'))
    faults.push(...(await findCloseFaults(market, files, entries)));
  const dates = [...new Set(entries.map(({ date }) => date))].toSorted();
  return {
    ok: faults.length === 0,
    index_id: manifest.index_id,
    engine: readPackageVersion(),
    published_by: manifest.engine,
    closes: dates.length,
    first: dates[0] ?? null,
    last: dates.at(-1) ?? null,
    entries: entries.length,
    head: manifest.head,
    key_ids: [...new Set([manifest, ...entries].map((signed) => signed.key_id))],
    signatures: signatures.state,
    faults,
  };
}

/** Returns the hash of a file in the manifest. */
const readStatedHash = ({ files }: BundleManifest, name: string): string | undefined =>
  (files as Readonly<Record<string, string>>)[name];

const computeSha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Files for which the manifest also lists a digest per security and per date. */
const INPUTS: ReadonlySet<string> = new Set(['market.arrow', 'tables.json'] satisfies BundleFile[]);

function openBundle(
  bytes: Uint8Array,
): { readonly manifest: BundleManifest; readonly files: Files } | { readonly fault: Fault } {
  try {
    const files = readTar(bytes);
    const createMissingFault = (names: readonly string[]): { readonly fault: Fault } | undefined => {
      const name = names.find((one) => !files.has(one));
      return name === undefined ? undefined : { fault: { kind: 'file', message: `The file ${name} is missing.` } };
    };
    const missingFault = createMissingFault([MANIFEST_FILE, ...BUNDLE_FILES]);
    if (missingFault !== undefined) return missingFault;
    const manifest = BundleManifest.safeParse(parseJson(files.get(MANIFEST_FILE)!)).data;
    if (manifest !== undefined) return createMissingFault(Object.keys(manifest.files)) ?? { manifest, files };
    return { fault: { kind: 'file', message: `${MANIFEST_FILE} is not a list of hashes of a bundle.` } };
  } catch (cause) {
    return { fault: { kind: 'file', message: `The file is not a bundle: ${getReason(cause)}.` } };
  }
}

const parseJson = (bytes: Uint8Array): unknown => JSON.parse(decodeUtf8(bytes));
const getReason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

const createRefusedVerdict = (fault: Fault): Api.BundleVerdict => ({
  ok: false,
  index_id: null,
  engine: readPackageVersion(),
  published_by: null,
  closes: 0,
  first: null,
  last: null,
  entries: 0,
  head: null,
  key_ids: [],
  signatures: 'unverified',
  faults: [fault],
});

/** Reads entries up to the first invalid one. */
function readLog(
  bytes: Uint8Array,
  manifest: BundleManifest,
): { readonly entries: readonly PublicationEntry[]; readonly fault?: Fault } {
  const check = createLogCheck(null);
  const entries: PublicationEntry[] = [];
  for (const line of decodeUtf8(bytes).split('\n')) {
    if (line === '') continue;
    const entry = parseText(line);
    const entryFault = check.next(entry);
    if (entryFault !== undefined)
      return {
        entries,
        fault: {
          kind: 'log',
          seq: entryFault.seq,
          message: `Entry ${entryFault.seq} of the log: ${entryFault.reason}.`,
        },
      };
    entries.push(entry as PublicationEntry); // the check has validated the shape of the entry
  }
  const { hash } = check.last();
  const isWhole = hash === manifest.head && entries[0]?.index_id === manifest.index_id;
  const message = `The log ends with ${hash}, the list of hashes states ${manifest.head}.`;
  return isWhole ? { entries } : { entries, fault: { kind: 'log', message } };
}

function parseText(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // the check reports it as an invalid entry
  }
}

/** Returns the keys for the verification of signatures: the given keys, otherwise those of the bundle. */
function collectKeys(bytes: Uint8Array, keysInput: VerifyTerms['keys']): ReadonlyMap<string, PublicKey> {
  const body = keysInput === undefined ? parseText(decodeUtf8(bytes)) : keysInput;
  return new Map((BundleKeys.safeParse(body).data?.keys ?? []).map((key) => [key.key_id, key]));
}

type SignedEntry = Pick<PublicationEntry, 'hash' | 'signature' | 'key_id' | 'at'> & { readonly seq?: number };

async function findSignatureFaults(
  signed: readonly SignedEntry[],
  keys: ReadonlyMap<string, PublicKey>,
  { isSigned }: VerifyTerms,
): Promise<{ readonly faults: readonly Fault[]; readonly state: Api.BundleVerdict['signatures'] }> {
  const faults: Fault[] = [];
  let isKnown = true;
  for (const signedEntry of signed) {
    const signatureSubject =
      signedEntry.seq === undefined ? 'The list of hashes' : `Entry ${signedEntry.seq} of the log`;
    const addFault = (reason: string): void => {
      faults.push({
        kind: 'signature',
        message: `${signatureSubject}: ${reason}.`,
        ...(signedEntry.seq !== undefined && { seq: signedEntry.seq }),
      });
    };
    const key = keys.get(signedEntry.key_id);
    if (key === undefined) addFault(`its key ${signedEntry.key_id} is unknown`);
    else if (signedEntry.at < key.valid_from || (key.valid_until !== null && signedEntry.at > key.valid_until))
      addFault(`its key ${signedEntry.key_id} was not valid at ${signedEntry.at}`);
    else {
      const verdict = await isSigned(signedEntry, key);
      if (verdict === false) addFault(`its signature does not match the key ${signedEntry.key_id}`);
      if (verdict === null) isKnown = false;
    }
    if (faults.length === LISTED_MAX) break;
  }
  return { faults, state: isKnown ? 'verified' : 'unverified' };
}

function openMarket(files: Files): MarketData | undefined {
  try {
    return decodeSlice({
      'market.arrow': files.get('market.arrow')!.slice(),
      'tables.json': files.get('tables.json')!,
    });
  } catch {
    return undefined; // the fault of the changed file is reported separately
  }
}

/**
 * Returns the faults of changed inputs. If only one security or only one day changed, there is one fault per changed
 * input. Otherwise a single fault lists the affected securities and dates.
 */
function findInputFaults(market: MarketData | undefined, manifest: BundleManifest): Fault[] {
  if (market === undefined) return [];
  const result = computeInputDigests(market);
  const names = findDifferingKeys(manifest.securities, result.securities);
  const dates = findDifferingKeys(manifest.dates, result.dates);
  if (names.length === 1 || dates.length === 1)
    return dates
      .flatMap((date) =>
        names.map((identifier): Fault => ({
          kind: 'input',
          date,
          identifier,
          message: findChangedInput(identifier, date),
        })),
      )
      .slice(0, LISTED_MAX);
  if (names.length === 0) return [];
  const formatSome = (list: readonly string[]): string =>
    `${list.slice(0, 5).join(', ')}${list.length > 5 ? ` and ${list.length - 5} more` : ''}`;
  const message = `Inputs of ${names.length} securities (${formatSome(names)}) on ${dates.length} dates (${formatSome(dates)}) are not those that were signed.`;
  return [{ kind: 'input', message, identifier: names[0]!, date: dates[0] ?? 'always' }];
}

const findChangedInput = (identifier: string, date: string): string =>
  `An input of ${identifier} ${date === 'always' ? 'without a date' : `on ${date}`} is not the one that was signed.`;

function findFileFaults(changed: readonly string[], areInputsNamed: boolean): Fault[] {
  return changed
    .filter((name) => !(areInputsNamed && INPUTS.has(name)))
    .map((name) => ({ kind: 'file', message: `The file ${name} is not the one whose hash is in the list.` }));
}

async function findCloseFaults(
  market: MarketData,
  files: Files,
  entries: readonly PublicationEntry[],
): Promise<Fault[]> {
  try {
    const plan = parseJson(files.get('plan.json')!) as BacktestPlan; // its hash was compared; a changed plan fails to run, or its closes differ
    const calendars = createCalendars(files.get('calendars.json')!);
    const inputs = await openPlanInputs(plan, market, files);
    const { closes } = recomputeCloses({ market, calendars, plan, engine: openWasmEngine(), ...inputs });
    return findDifferingCloses(entries, closes)
      .slice(0, LISTED_MAX)
      .map(({ date, member, published, recomputed }) => ({
        kind: 'close',
        date,
        message: `The close of ${date}: ${member} was published as ${String(published)}, recomputed it is ${String(recomputed)}.`,
      }));
  } catch (cause) {
    return [{ kind: 'close', message: `No close could be recomputed: ${getReason(cause)}` }];
  }
}

function createCalendars(bytes: Uint8Array): Calendars {
  const calendars = new Map(
    BundleCalendar.array()
      .parse(parseJson(bytes))
      .map((one) => [one.code, createCalendar(one)]),
  );
  return { list: () => [...calendars.values()], get: (code) => calendars.get(code) };
}

function createCalendar({ sessions, ...option }: BundleCalendar): Calendar {
  const days = new Set(sessions);
  return { ...option, sessions: Int32Array.from(sessions), isSession: (day) => days.has(day) };
}
