import { findCircle } from '../datapoints/expressions/reads.js';
import { readDefinitions } from '../documents/definitions.js';
import type { IndexDocument } from '../documents/index-document.js';
import { checkGivenParameters, resolvePluginCode } from '../documents/plugin-code.js';
import type { NamedPlugins, PluginDocument, PluginKind } from '../documents/plugin-document.js';
import { findSelectionClass, findWeightingClass } from '../rules/catalogue.js';
import type { Finding } from '../refusals/findings.js';

/** Stored plug-in with the hash of its document. */
export interface StoredPluginCode {
  readonly plugin: PluginDocument;
  readonly sha256: string;
}

export interface FilledDocument {
  readonly document: IndexDocument;
  readonly findings: readonly Finding[];
}

/** Returns a definition with the code of its plug-ins, and errors about the plug-ins. */
export function fillPlugins(
  document: IndexDocument,
  pluginOf: (id: string) => StoredPluginCode | undefined,
): FilledDocument {
  const { plugins } = document;
  if (plugins === undefined) return { document, findings: [] };
  const findings: Finding[] = [];
  const filledPlugins: NamedPlugins = {};
  for (const [name, use] of Object.entries(plugins)) {
    const path = `plugins.${name}`;
    const storedPluginCode = pluginOf(use.plugin);
    if (storedPluginCode === undefined) {
      const message = `No readable plug-in is stored under ${use.plugin}.`;
      findings.push({
        severity: 'error',
        code: 'PLUGIN_NOT_FOUND',
        path: `${path}.plugin`,
        message,
        value: use.plugin,
      });
      continue;
    }
    findings.push(...checkGivenParameters(use, storedPluginCode.plugin, path));
    filledPlugins[name] = {
      plugin: use.plugin,
      parameters: use.parameters,
      code: resolvePluginCode(storedPluginCode.plugin, use.parameters, storedPluginCode.sha256),
    };
  }
  const filledDocument = { ...document, plugins: filledPlugins };
  if (findings.length === 0)
    findings.push(...reportKinds(filledDocument, filledPlugins), ...reportCircle(filledDocument));
  return { document: filledDocument, findings };
}

/**
 * Returns a definition as it is stored. Removes the parts that runs add: code of plug-ins and recorded changes of
 * calendars.
 */
export function removeComputedParts({ closures: _closures, ...document }: IndexDocument): IndexDocument {
  const { plugins } = document;
  if (plugins === undefined) return document;
  const pluginEntries = Object.entries(plugins).map(
    ([name, { plugin, parameters }]) => [name, { plugin, parameters }] as const,
  );
  return { ...document, plugins: Object.fromEntries(pluginEntries) };
}

/** Returns the kind of plug-in that a class of rules accepts. Returns undefined if it accepts none. */
function findAcceptedKind(type: string): PluginKind | undefined {
  const entry = findSelectionClass(type) ?? findWeightingClass(type);
  return entry?.takesPlugin === true ? entry.category : undefined;
}

/** Reports rules that refer to a plug-in of another kind, or to no plug-in. */
function reportKinds({ pipeline, reviews = [] }: IndexDocument, plugins: NamedPlugins): Finding[] {
  const rows = [
    ...(pipeline?.selection ?? []).map((row, i) => ({ row, path: `pipeline.selection[${i}]` })),
    ...(pipeline === null ? [] : [{ row: pipeline.weighting, path: 'pipeline.weighting' }]),
    ...reviews.flatMap(({ selection = [], weighting }, k) => [
      ...selection.map((row, i) => ({ row, path: `reviews[${k}].selection[${i}]` })),
      ...(weighting === undefined ? [] : [{ row: weighting, path: `reviews[${k}].weighting` }]),
    ]),
  ];
  return rows.flatMap(({ row, path }): Finding[] => {
    const kind = findAcceptedKind(row.type);
    if (kind === undefined) return [];
    const name = String(row.params['plugin']);
    const pluginKind = Object.hasOwn(plugins, name) ? plugins[name]!.code!.kind : undefined;
    if (pluginKind === kind) return [];
    const acceptedNames = Object.keys(plugins).filter((other) => plugins[other]!.code!.kind === kind);
    const problemPhrase =
      pluginKind === undefined ? `${name} is not a plug-in of the document` : `the plug-in ${name} is a ${pluginKind}`;
    const message = `${path}.params.plugin: ${problemPhrase}; ${row.type} needs a ${kind}.`;
    return [
      {
        severity: 'error',
        code: 'NOT_IN_CHOICES',
        path: `${path}.params.plugin`,
        message,
        accepted: acceptedNames,
        value: name,
      },
    ];
  });
}

function reportCircle(document: IndexDocument): Finding[] {
  const circle = findCircle(readDefinitions(document));
  if (circle.length === 0) return [];
  const message = `The datapoint ${circle[0]} refers to itself: ${circle.join(', ')}.`;
  return [{ severity: 'error', code: 'CIRCULAR_REFERENCE', path: 'plugins', message, value: circle[0] }];
}
