import type { OpenApiDocument } from '#contract/openapi.js';
import { type JsonSchema, listOperations, listSuccesses, type Operation } from '#views/documentation/reference.js';
import { formatDocumentation, typeText, type TypeNaming } from './python-types.js';
import { findOneLine, createShape } from './shapes.js';

/**
 * Returns the Python source of the operations of a contract. Each operation is a method with its arguments and return
 * type.
 */
export function formatPythonOperations(document: OpenApiDocument): string {
  const methods = listOperations(document).flatMap((operation) => [
    formatMethod(operation, document.components.schemas),
    ...formatContentMethod(operation),
  ]);
  return `# Written from the OpenAPI document by \`npm run build\`; edit the contract instead.
"""Every operation of the service as a typed method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Literal, Mapping, Optional, Sequence, Union, cast

from .jobs import Job
from .transport import Event, Transport, word

if TYPE_CHECKING:
    from . import contract as c


class Operations:
    """Answers are the dictionaries and lists that JSON makes; work that takes its time answers a \`Job\`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

${methods.join('\n')}`;
}

const NAMING: TypeNaming = {
  prefix: 'c.',
  typing: '',
  date: 'Date',
  formatName: () => {
    throw new Error('an object of an operation has no name: give its schema an id');
  },
};

/** Argument of a method. */
interface Argument {
  readonly name: string;
  readonly type: string;
  readonly place: 'path' | 'query' | 'body' | 'header';
  readonly isRequired: boolean;
  readonly description: string | undefined;
}

/** Reserved words of Python, which cannot be names of arguments. */
const RESERVED = new Set(['from', 'in', 'is', 'class', 'global', 'import', 'lambda']);

const formatArgumentName = (name: string): string => (RESERVED.has(name) ? `${name}_` : name);

/** Python arguments of request headers, by header. */
const HEADER_NAMES: Readonly<Record<string, string>> = { 'If-Match': 'if_match', 'X-Change-Note': 'note' };

function listArguments({ parameters, requestBody }: Operation): Argument[] {
  const parameterArguments = parameters.map(({ name, in: place, required, schema, description }): Argument => {
    if (place === 'header')
      return {
        name: HEADER_NAMES[name]!,
        type: 'str',
        place: 'header',
        isRequired: false,
        description: findOneLine(description),
      };
    const type = typeText(createShape(schema), '', NAMING);
    return { name: formatArgumentName(name), type, place, isRequired: required, description: findOneLine(description) };
  });
  const schema = requestBody?.content['application/json']?.schema;
  const body: Argument[] =
    schema === undefined
      ? []
      : [
          {
            name: 'body',
            type: formatBodyType(schema),
            place: 'body',
            isRequired: requestBody!.required,
            description: undefined,
          },
        ];
  const requiredArguments = [...parameterArguments, ...body].filter(({ isRequired }) => isRequired);
  return [...requiredArguments, ...[...body, ...parameterArguments].filter(({ isRequired }) => !isRequired)];
}

/** Returns the type of a request body. If the schema also allows null, the type excludes it. */
function formatBodyType(schema: JsonSchema): string {
  const shape = createShape(schema);
  const members = shape.kind === 'union' ? shape.members : [shape];
  const body = members.find((each) => !(each.kind === 'plain' && each.type === 'null'))!;
  return body.kind === 'object' && body.fields.length === 0 ? 'Mapping[str, Any]' : typeText(body, '', NAMING);
}

function formatMethod(operation: Operation, schemas: Readonly<Record<string, JsonSchema>>): string {
  const { type, wrap } = createAnswerConversion(operation, schemas);
  return writeMethod(operation, { name: convertToSnakeCase(operation.operationId), extra: [], type, wrap });
}

interface AnswerConversion {
  readonly type: string;
  /** Returns the statement that sends a request and returns its response. */
  readonly wrap: (request: string) => string;
}

function createAnswerConversion(operation: Operation, schemas: Readonly<Record<string, JsonSchema>>): AnswerConversion {
  const [status, { content = {} }] = listSuccesses(operation).at(-1)!;
  const json = content['application/json'];
  if (json === undefined) return createPlainAnswer(Object.keys(content));
  const type = typeText(createShape(json.schema), '', { ...NAMING, date: 'str' });
  if (status !== '202') return { type, wrap: (request) => `return cast("${type}", self._transport.json(${request}))` };
  const result = createShape((schemas[type.slice('c.'.length)]!['properties'] as Record<string, JsonSchema>)['result']);
  const members = result.kind === 'union' ? result.members : [result];
  const of = typeText(members[0]!, '', { ...NAMING, date: 'str' });
  return { type: `Job[${of}]`, wrap: (request) => `return Job(self._transport, self._transport.json(${request}))` };
}

function createPlainAnswer(types: readonly string[]): AnswerConversion {
  if (types.length === 0) return { type: 'None', wrap: (request) => `self._transport.json(${request})` };
  if (types[0] === 'text/event-stream')
    return { type: 'Iterator[Event]', wrap: (request) => `return self._transport.events(${request})` };
  if (types[0]!.startsWith('text/'))
    return { type: 'str', wrap: (request) => `return self._transport.content(${request}).decode()` };
  return { type: 'bytes', wrap: (request) => `return self._transport.content(${request})` };
}

/** Returns an additional method for an operation that can respond with content types other than JSON. */
function formatContentMethod(operation: Operation): string[] {
  const types = Object.keys(listSuccesses(operation).at(-1)![1].content ?? {});
  const otherTypes = types.filter((type) => type !== 'application/json');
  if (otherTypes.length === types.length || otherTypes.length === 0) return [];
  const media: Argument = {
    name: 'media',
    type: `Literal[${otherTypes.map((type) => JSON.stringify(type)).join(', ')}]`,
    place: 'body',
    isRequired: true,
    description: 'What is wanted instead of JSON.',
  };
  return [
    writeMethod(operation, {
      name: `${convertToSnakeCase(operation.operationId)}_content`,
      extra: [media],
      type: 'bytes',
      wrap: (request) => `return self._transport.content(${request}, accept=media)`,
    }),
  ];
}

interface Method extends AnswerConversion {
  readonly name: string;
  readonly extra: readonly Argument[];
}

function writeMethod(operation: Operation, { name, extra, type, wrap }: Method): string {
  const ownArguments = listArguments(operation);
  const all = [
    ...ownArguments.filter(({ isRequired }) => isRequired),
    ...extra,
    ...ownArguments.filter(({ isRequired }) => !isRequired),
  ];
  const signatureLines = all.map((each, i) => {
    const star = !each.isRequired && each.place !== 'body' && isFirstNamed(all, i) ? '*, ' : '';
    return `${star}${each.name}: ${each.isRequired ? each.type : `Optional[${each.type}] = None`}`;
  });
  const reports = all.flatMap(({ name, description }) =>
    description === undefined ? [] : `        :param ${name}: ${formatDocumentation(description)}\n`,
  );
  const summary = formatDocumentation(findOneLine(operation.summary)!);
  const doc =
    reports.length === 0 ? `        """${summary}"""\n` : `        """${summary}\n\n${reports.join('')}        """\n`;
  return `    def ${name}(${['self', ...signatureLines].join(', ')}) -> ${type}:\n${doc}        ${wrap(requestText(operation, ownArguments))}\n`;
}

const isFirstNamed = (all: readonly Argument[], position: number) =>
  !all.slice(0, position).some(({ isRequired, place }) => !isRequired && place !== 'body');

function requestText({ method, path }: Operation, all: readonly Argument[]): string {
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `{word(${name})}`);
  const query = all.filter(({ place }) => place === 'query').map(({ name }) => `"${name.replace(/_$/, '')}": ${name}`);
  return [
    `"${method}"`,
    `${address === path ? '' : 'f'}"${address}"`,
    ...(all.some(({ place }) => place === 'body') ? ['body=body'] : []),
    ...(query.length === 0 ? [] : [`query={${query.join(', ')}}`]),
    ...all.filter(({ place }) => place === 'header').map(({ name }) => `${name}=${name}`),
  ].join(', ');
}

const convertToSnakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
