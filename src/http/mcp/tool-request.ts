import { listMediaTypes, JSON_TYPE } from '#contract/media-formats.js';
import { suggestName } from '#base/text/nearest-name.js';
import { keepSmallValue, type Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { Tool, ToolParameter } from './tools.js';

export type Arguments = Readonly<Record<string, unknown>>;

/** Parts of the client's request that the request of a tool also uses. */
export interface OuterRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Start of internal addresses. Only the router reads it. */
const BASE = 'http://localhost';

/** Parts of a request that arguments fill. */
interface RequestParts {
  path: string;
  readonly query: URLSearchParams;
  readonly headers: Record<string, string>;
}

/**
 * Builds the HTTP request of a tool call. The route validates the values.
 * @throws Refusal VALIDATION_FAILED for unknown arguments, and for values that a request cannot contain
 */
export function createToolRequest(tool: Tool, argumentValues: Arguments, outer: OuterRequest): Request {
  const { route, parameters, hasBody } = tool;
  const argumentNames = [...parameters.map(({ argument }) => argument), ...(hasBody ? ['body'] : [])];
  const parts: RequestParts = {
    path: route.path,
    query: new URLSearchParams(),
    headers: { ...outer.headers, accept: chooseMediaType(route) },
  };
  const findings = [
    ...findUnknownArguments(argumentNames, argumentValues),
    ...parameters.flatMap((parameter) => fillRequest(parts, parameter, argumentValues[parameter.argument]) ?? []),
  ];
  if (findings.length > 0) throw refuseWithFindings('arguments', findings);
  const { path, query, headers } = parts;
  const search = query.size === 0 ? '' : `?${query}`;
  if (hasBody) headers['content-type'] = JSON_TYPE;
  return new Request(`${BASE}${path}${search}`, {
    method: route.method,
    headers,
    body: hasBody ? JSON.stringify(argumentValues['body'] ?? {}) : null,
    signal: outer.signal,
  });
}

/** Writes an argument to its part of the request. @returns a finding for an invalid argument */
function fillRequest(
  parts: RequestParts,
  { argument, name, in: location, required }: ToolParameter,
  value: unknown,
): Finding | undefined {
  if (value === undefined || value === null) {
    return required ? createFinding('REQUIRED', argument, `${argument} is required.`) : undefined;
  }
  const argumentWords = (Array.isArray(value) ? value : [value]) as readonly unknown[];
  if (argumentWords.some((word) => typeof word === 'object'))
    return createFinding('WRONG_TYPE', argument, `${argument} must be text, a number, a boolean or a list of them.`);
  const text = String(value);
  switch (location) {
    case 'query':
      for (const word of argumentWords) parts.query.append(name, String(word));
      return undefined;
    case 'header':
      parts.headers[name.toLowerCase()] = encodeHeader(text);
      return undefined;
    case 'path':
      // The address parser would resolve a dot segment.
      if (/^\.{0,2}$/.test(text))
        return createFinding('WRONG_TYPE', argument, `${argument} must be an id, not ${JSON.stringify(text)}.`, text);
      parts.path = parts.path.replace(`{${name}}`, () => encodeURIComponent(text).replaceAll('%3A', ':'));
      return undefined;
  }
}

/** Returns the media type to request: JSON if the route offers it, otherwise Markdown, otherwise any type. */
function chooseMediaType(route: Tool['route']): string {
  const offeredTypes = listMediaTypes(route);
  if (offeredTypes.includes(JSON_TYPE)) return JSON_TYPE;
  return offeredTypes.find((type) => type === 'text/markdown') ?? '*/*';
}

/** Encodes text on one line as a header value whose bytes are UTF-8. */
const encodeHeader = (text: string): string => Buffer.from(text.replaceAll(/[\r\n\0]/g, ' ')).toString('latin1');

function findUnknownArguments(argumentNames: readonly string[], argumentValues: Arguments): Finding[] {
  return Object.keys(argumentValues)
    .filter((name) => !argumentNames.includes(name))
    .map((name) => {
      const shortName = name.slice(0, 80);
      const message = `The tool has no argument ${shortName}; it has ${argumentNames.join(', ') || 'none'}.${suggestName(shortName, argumentNames)}`;
      return { ...createFinding('UNKNOWN_FIELD', shortName, message), accepted: argumentNames };
    });
}

function createFinding(code: Finding['code'], path: string, message: string, value?: unknown): Finding {
  return { severity: 'error', code, path, message, ...(value === undefined ? {} : keepSmallValue(value)) };
}
