import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Logger } from 'pino';
import { type Attributes, type Span, type SpanKind, startTracing } from '#base/tracing/tracing.js';
import { findCollector, parsePairs, type TraceSettings } from '../settings/settings.js';

/** Maximum number of spans in the queue, and per request. The defaults of OTEL_BSP_* are the same. */
const QUEUE_MAX = 2048;
const BATCH_MAX = 512;
/** Time limit of a request to the collector in ms. The default of OTEL_EXPORTER_OTLP_TIMEOUT is the same. */
const TIMEOUT_MS = 10_000;
/** Minimum interval in ms between warnings about a collector that does not answer. */
const WARN_EVERY_MS = 60_000;

export interface ExporterOptions {
  readonly settings: TraceSettings;
  readonly version: string;
  readonly log: Pick<Logger, 'warn'>;
}

/**
 * Records spans and sends them to the collector. If the collector is slow or unavailable, spans are dropped; the
 * service never waits and only needs the memory of the queue.
 * @returns undefined if no collector is configured
 */
export function openTracing({ settings, version, log }: ExporterOptions): { close(): Promise<void> } | undefined {
  const url = findCollector(settings);
  if (url === undefined) return undefined;
  const resource = {
    attributes: convertAttributes({
      'service.name': settings.otlpServiceName,
      'service.version': version,
      'process.pid': process.pid,
      ...parsePairs(settings.otlpResource),
    }),
  };
  const headers = { 'content-type': 'application/json', ...parsePairs(settings.otlpHeaders) };
  let queuedSpans: Span[] = [];
  let droppedCount = 0;
  let lastWarningMs = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  let transmission: Promise<void> = Promise.resolve();

  function enqueueSpan(span: Span): void {
    if (queuedSpans.length >= QUEUE_MAX) return void (droppedCount += 1);
    queuedSpans.push(span);
    if (queuedSpans.length >= BATCH_MAX) flush();
    else timer ??= setTimeout(flush, settings.traceDelayMs).unref();
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    transmission = transmission.then(sendAll);
  }

  async function sendAll(): Promise<void> {
    while (queuedSpans.length > 0) {
      const batch = queuedSpans.slice(0, BATCH_MAX);
      queuedSpans = queuedSpans.slice(BATCH_MAX);
      const fault = await send(url!, headers, formatBody(batch, resource, version));
      if (fault !== undefined) droppedCount += batch.length;
      if (droppedCount > 0 && performance.now() - lastWarningMs > WARN_EVERY_MS) {
        lastWarningMs = performance.now();
        log.warn({ dropped: droppedCount, fault }, 'spans were not accepted by the collector');
        droppedCount = 0;
      }
    }
  }

  const stopTracing = startTracing({ end: enqueueSpan, samples: createSampler(settings) });
  return {
    async close() {
      stopTracing();
      flush();
      await transmission;
    },
  };
}

/** Creates a function that decides by its id whether a new trace is recorded. Every process records the same traces. */
function createSampler({ traceSampler, traceRatio }: TraceSettings): (traceId: string) => boolean {
  const kind = traceSampler.replace('parentbased_', '');
  if (kind === 'always_on') return () => true;
  if (kind === 'always_off') return () => false;
  // The last seven bytes of an id are random, as in the sampler TraceIdRatioBased of OpenTelemetry.
  return (traceId) => Number.parseInt(traceId.slice(-13), 16) < traceRatio * 2 ** 52;
}

/**
 * Sends spans through `node:http`, which needs much less processor time than `fetch`.
 * @returns the reason if the spans were not accepted
 */
function send(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<string | undefined> {
  const requestFunction = url.startsWith('https:') ? httpsRequest : httpRequest;
  const length = { 'content-length': String(Buffer.byteLength(body)) };
  const outcome = new Promise<string | undefined>((resolve, fail) => {
    const options = { method: 'POST', headers: { ...headers, ...length }, signal: AbortSignal.timeout(TIMEOUT_MS) };
    const request = requestFunction(url, options, (response) => {
      const { statusCode = 0 } = response;
      const isAccepted = statusCode >= 200 && statusCode < 300;
      response.on('error', fail);
      response.on('end', () => resolve(isAccepted ? undefined : `status ${statusCode}`));
      response.resume();
    });
    request.on('error', fail);
    request.end(body);
  });
  return outcome.catch((failure: Error) => failure.message);
}

/** Numeric codes of span kinds in the protocol. */
const SPAN_KINDS: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3, consumer: 5 };
const STATUS_ERROR = 2;

/** @source OTLP 1.9, JSON encoding: ids in hexadecimal, 64-bit integers as text */
function formatBody(spans: readonly Span[], resource: object, version: string): string {
  return JSON.stringify({
    resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'divisor', version }, spans: spans.map(toOtlpSpan) }] }],
  });
}

const toOtlpSpan = ({ context, parentId, name, kind, startMs, endMs, attributes, error }: Span): object => ({
  traceId: context.traceId,
  spanId: context.spanId,
  ...(parentId !== null && { parentSpanId: parentId }),
  name,
  kind: SPAN_KINDS[kind],
  startTimeUnixNano: formatNanoseconds(startMs),
  endTimeUnixNano: formatNanoseconds(endMs),
  attributes: convertAttributes(attributes),
  status: error === undefined ? {} : { code: STATUS_ERROR, message: error.slice(0, ERROR_MAX) },
});

/** Maximum length of an error in a span, in characters. */
const ERROR_MAX = 500;

/**
 * Formats milliseconds as nanoseconds. A double is at best exact to a fraction of a microsecond, so the last three
 * digits are zeros.
 */
const formatNanoseconds = (ms: number): string => `${Math.round(ms * 1000)}000`;

function convertAttributes(attributes: Attributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]): object[] => {
    if (value === undefined || value === null) return [];
    if (typeof value === 'string') return [{ key, value: { stringValue: value } }];
    if (typeof value === 'boolean') return [{ key, value: { boolValue: value } }];
    return [{ key, value: Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } }];
  });
}
