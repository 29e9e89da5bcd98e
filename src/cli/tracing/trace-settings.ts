import { z } from 'zod';
import { declareSetting } from '../setting-schemas.js';

const url = z
  .string()
  .refine((text) => text === '' || /^https?:$/.test(URL.parse(text)?.protocol ?? ''), {
    error: 'must be an http or https address, for example http://127.0.0.1:4318',
  })
  .transform((text) => (text === '' ? undefined : text));

const PAIRS_PATTERN = /^(?:[^=,\s]+=[^,]*(?:,[^=,\s]+=[^,]*)*)?$/;
const pairs = z.string().regex(PAIRS_PATTERN, 'must be name=value pairs, separated by commas');

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** Settings of tracing. Their environment variables are those of OpenTelemetry. */
export const TRACE_SETTINGS = {
  otelDisabled: declareSetting({
    variable: 'OTEL_SDK_DISABLED',
    otherwise: () => 'false',
    help: 'True turns tracing off, also with an address of a collector.',
    // OpenTelemetry: only `true`, in any case, means true.
    schema: z.string().transform((text) => text.toLowerCase() === 'true'),
  }),
  otlpEndpoint: declareSetting({
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    otherwise: () => '',
    help: 'Address of the collector that receives traces as OTLP/HTTP with JSON. The service appends /v1/traces. Default: none, which turns tracing off.',
    schema: url,
    mayHoldSecret: true,
  }),
  otlpTracesEndpoint: declareSetting({
    variable: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    otherwise: () => '',
    help: 'Full address of the collector. Nothing is appended to it.',
    schema: url,
    mayHoldSecret: true,
  }),
  otlpHeaders: declareSetting({
    variable: 'OTEL_EXPORTER_OTLP_HEADERS',
    otherwise: () => '',
    help: 'Headers of requests to the collector: name=value pairs, separated by commas, percent-encoded.',
    schema: pairs,
    isSecret: true,
  }),
  otlpServiceName: declareSetting({
    variable: 'OTEL_SERVICE_NAME',
    otherwise: () => 'divisor',
    help: 'Name of this process in traces.',
    schema: z.string().min(1).max(255),
  }),
  otlpResource: declareSetting({
    variable: 'OTEL_RESOURCE_ATTRIBUTES',
    otherwise: () => '',
    help: 'Further attributes of this process: name=value pairs, separated by commas, percent-encoded.',
    schema: pairs,
  }),
  traceSampler: declareSetting({
    variable: 'OTEL_TRACES_SAMPLER',
    otherwise: () => 'parentbased_always_on',
    help: 'Sampler for requests without a trace. For requests with a traceparent, its flag decides.',
    schema: z.enum(SAMPLERS),
  }),
  traceRatio: declareSetting({
    variable: 'OTEL_TRACES_SAMPLER_ARG',
    otherwise: () => '1',
    help: 'Share of requests without a trace that are traced, from 0 to 1, for the samplers by ratio.',
    schema: z.coerce.number().min(0).max(1),
  }),
  traceDelayMs: declareSetting({
    variable: 'OTEL_BSP_SCHEDULE_DELAY',
    otherwise: () => '5000',
    help: 'Delay in milliseconds from the end of a span until it is sent, together with other ended spans.',
    schema: z.coerce.number().int().min(0).max(60_000),
  }),
};

export interface TraceSettings {
  readonly otelDisabled: boolean;
  readonly otlpEndpoint?: string | undefined;
  readonly otlpTracesEndpoint?: string | undefined;
  readonly otlpHeaders: string;
  readonly otlpServiceName: string;
  readonly otlpResource: string;
  readonly traceSampler: (typeof SAMPLERS)[number];
  readonly traceRatio: number;
  readonly traceDelayMs: number;
}

/** Returns the address of the collector; undefined if tracing is off. */
export function findCollector({ otelDisabled, otlpEndpoint, otlpTracesEndpoint }: TraceSettings): string | undefined {
  if (otelDisabled) return undefined;
  return (
    otlpTracesEndpoint ?? (otlpEndpoint === undefined ? undefined : `${otlpEndpoint.replace(/\/$/, '')}/v1/traces`)
  );
}

/** Parses `name=value` pairs. Valid percent-encoding is decoded. */
export const parsePairs = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text
      .split(',')
      .filter((pair) => pair !== '')
      .map((pair) => {
        const separator = pair.indexOf('=');
        return [pair.slice(0, separator).trim(), decodeComponent(pair.slice(separator + 1).trim())];
      }),
  );

function decodeComponent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
